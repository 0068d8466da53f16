#!/usr/bin/env python3
"""One run on many nodes: the real rbrun against the real rbmock, every node an sshd of its own on this machine.

    bench/soak_500.py --bin BUILD [--nodes 500]

Prints a table: control-plane requests, CPU and memory of rbrun, how long it took until all nodes were ready. What nodes and
their ssh connections cost is shared with them: they live on this machine too.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "tests", "cli"), os.path.join(HERE, "..", "tests", "crash")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402

ACTIONS = ("RunInstances", "DescribeInstances", "TerminateInstances")
# Rules that never strike: they count.
COUNTERS = "format: rb-chaos/1\nrules:\n" + "".join(
    "  - {name: %s, where: {front: ec2, action: %s}, when: {probability: 0}, what: throttle}\n" % (a, a) for a in ACTIONS)
TICKS = os.sysconf("SC_CLK_TCK")


class Many(kill9.Crash):
    """A job of as many trials as nodes, one each, planned by hand: what is measured is the controller, not the plan."""

    def __init__(self, bin_dir, folder, cloud, nodes):
        self.nodes = nodes
        super().__init__(bin_dir, folder, cloud)

    def widen_first_stage(self):
        with open(self.plan, encoding="utf-8") as f:
            plan = json.load(f)
        plan["stages"][0]["nodes"][0]["count"] = self.nodes
        plan["stages"][0]["waves"] = 1
        with open(self.plan, "w", encoding="utf-8") as f:
            json.dump(plan, f)


def job_of(nodes):
    job = kill9.JOB.replace("{type: sha, num_trials: 6, min_resource: 1, max_resource: 4, eta: 2}",
                            "{type: random, num_trials: %d, max_resource: 4}" % nodes)
    job = job.replace("trial: {gpus: 1, timeout: 20s}", "trial: {gpus: 2, timeout: 10m}").replace(
        "max_nodes: 2", "max_nodes: %d" % nodes).replace("deadline: 10m", "deadline: 2h")
    return job + "envs: {EPOCH_S: \"15\"}\n"  # long enough that the last node is still needed


def sample(pid):
    """CPU seconds of the process and of its children that have ended, peak memory in MiB."""
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        peak = [line for line in f if line.startswith("VmHWM")][0].split()[1]
    return (int(fields[11]) + int(fields[12])) / TICKS, (int(fields[13]) + int(fields[14])) / TICKS, int(peak) / 1024


def count(cloud):
    return {rule["name"]: rule["seen"] for rule in cloud.ask("chaos")}


def count_ready(state):
    ready, last_us = 0, 0
    for run in os.listdir(state) if os.path.isdir(state) else ():
        path = os.path.join(state, run, "events.jsonl")
        with open(path, encoding="utf-8") as f:
            for line in f:
                if '"node_ready"' in line:
                    ready, last_us = ready + 1, json.loads(line)["time_us"]
    return ready, last_us


def measure(args, folder, cloud):
    state = os.path.join(folder, "state")
    many = Many(args.bin, folder, cloud, args.nodes)
    before = count(cloud)
    start = time.monotonic()
    with open(os.path.join(folder, "talk.log"), "w", encoding="utf-8") as talk:
        process = subprocess.Popen([os.path.join(args.bin, "rbrun"), many.plan, "--state-dir", state], env=many.env,
                                   cwd=folder, stdout=talk, stderr=talk)
        own = children = peak = 0
        while process.poll() is None:
            try:
                own, children, peak = sample(process.pid)
            except (OSError, IndexError):
                break
            time.sleep(0.5)
        code = process.wait()
    seconds = time.monotonic() - start
    after = count(cloud)
    ready, last_us = count_ready(state)
    report = json.loads(many.run(["rbrun", "report", "--json", "--state-dir", state]).stdout)
    ledger = cloud.ledger()
    requests = {a: after[a] - before[a] for a in ACTIONS}
    minutes = seconds / 60
    return [("nodes asked for, launched, ready", "%d, %d, %d" % (args.nodes, len(ledger["instances"]), ready)),
            ("exit code, outcome", "%d, %s" % (code, report["outcome"])),
            ("until the last node was ready", "%.1f s" % (last_us / 1e6)),
            ("whole run", "%.1f s" % seconds),
            ("control-plane requests a minute", "%.0f" % (sum(requests.values()) / minutes)),
            ("RunInstances, DescribeInstances, TerminateInstances", "%d, %d, %d" % tuple(requests[a] for a in ACTIONS)),
            ("CPU of rbrun itself", "%.1f s, %.0f %% of a core" % (own, 100 * own / seconds)),
            ("CPU of its ssh and other children", "%.1f s" % children),
            ("peak memory of rbrun", "%.0f MiB" % peak),
            ("instances left; ledger of rbmock and of rbrun", "%d; %d, %d micro-dollars" % (
                sum(i["state"] not in ("terminated", "shutting-down") for i in ledger["instances"]),
                ledger["total_uusd"], report["cost_uusd"]["actual"]))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--nodes", type=int, default=500)
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    kill9.JOB = job_of(args.nodes)
    kill9.PROFILE = kill9.PROFILE.replace("speedup: 1.0}", "speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.9}")
    with tempfile.TemporaryDirectory(prefix="rb-many-") as folder:
        os.mkdir(os.path.join(folder, "work"))
        counters = os.path.join(folder, "counters.yaml")
        with open(counters, "w", encoding="utf-8") as f:
            f.write(COUNTERS)
        with MockCloud(args.bin, folder, "--chaos", counters) as cloud:
            rows = measure(args, folder, cloud)
    print("| %-52s | %36s |\n|---|---:|" % ("", ""))
    for what, value in rows:
        print("| %-52s | %36s |" % (what, value))


if __name__ == "__main__":
    main()
