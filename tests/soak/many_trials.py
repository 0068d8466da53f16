"""Thousands of trials at once, one process each, on rbmock's nodes: real sshd, real followers. What they take of this machine.

    many_trials.py --bin BUILD [--trials 2000] [--per-node 50] [--seconds 60]

A trial is `sleep` in sh with a report before and after it. Prints one line of numbers; fails if a trial was started twice, a node
was lost, or more files were open than rbrun says it needs. Needs some 6 MB of memory and 5 processes a trial: see docs/HACKING.md.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "cli")]
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, edit, own, profile  # noqa: E402

JOB = """name: many
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: %d, min_resource: 2, max_resource: 2, eta: 2}
policy: elastic
trial: {gpus: 1, timeout: 20m}
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [mock/us-east-1], instance_types: [wide], max_nodes: %d}
deadline: 3h
confidence: 0.5
"""
WIDE = "mock/us-east-1,wide,T4,%d,16,4,16,on_demand,0.50,test,2026-07-20T00:00:00Z\n"
TRAIN = """echo "epoch=1 val_acc=0.5"
exec 3>"$RB_CHECKPOINT_DIR/epoch"
sleep %d
echo "epoch=2 val_acc=0.$((1000 + RB_TRIAL_ID))"
"""


def meminfo():
    with open("/proc/meminfo", encoding="utf-8") as f:
        return int(re.search(r"MemAvailable:\s+(\d+)", f.read()).group(1)) / 2**20


def running(work):
    """Trials whose sleep goes on: by the command line that only they have."""
    n = 0
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    n += f.read() == b"sleep\0" + work + b"\0"
            except OSError:
                pass
    return n


class Watch(threading.Thread):
    def __init__(self, pid, seconds):
        super().__init__()
        self.pid, self.seconds = pid, seconds
        self.files = self.at_once = self.rss_mb = 0
        self.before_gb = self.least_gb = meminfo()
        self.over = False

    def run(self):
        while not self.over:
            try:
                self.files = max(self.files, len(os.listdir("/proc/%d/fd" % self.pid)))
                with open("/proc/%d/status" % self.pid, encoding="utf-8") as f:
                    self.rss_mb = max(self.rss_mb, int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) // 1024)
            except (OSError, AttributeError):
                pass
            self.least_gb = min(self.least_gb, meminfo())
            self.at_once = max(self.at_once, running(str(self.seconds).encode()))
            time.sleep(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--per-node", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=61, help="how long each sleeps; an odd number finds them in ps")
    args = parser.parse_args()
    n_nodes = -(-args.trials // args.per_node)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with tempfile.TemporaryDirectory(prefix="rb-many-") as folder, \
            MockCloud(args.bin, folder, prices=WIDE % args.per_node) as cloud:
        run = RealRun(args.bin, folder)
        run.on(cloud)
        for name, text in (("job.yaml", JOB % (args.trials, n_nodes)), ("train.sh", TRAIN % args.seconds),
                           ("profile.yaml", profile("many", args.seconds / 2))):
            run.write("work/" + name, text)
        plan = run.make_plan("work/job.yaml", profile_file="work/profile.yaml")
        edit(plan, lambda p: own(p["stages"][0], n_nodes, args.per_node))
        began, cpu = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen([os.path.join(run.bin, "rbrun"), plan, "--json", "--state-dir", folder + "/state"],
                                   env=run.env, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard)))
        watch = Watch(process.pid, args.seconds)
        watch.start()
        out, said = process.communicate()
        watch.over = True
        watch.join()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode != 0:
            sys.exit("exit code %d\n%s\n%s" % (process.returncode, said[-3000:], out[-500:]))
        report = json.loads(out.splitlines()[-1])
        need = 112 + 4 * args.trials + 2 * n_nodes  # rb_launcher_open_files
        print("%d trials on %d nodes, %d at once: %.0f s, %d open files (%d needed), rbrun %d MB, machine %.1f GB, %.0f CPU s of "
              "rbrun and its ssh" % (
                  args.trials, n_nodes, watch.at_once, time.time() - began, watch.files, need, watch.rss_mb,
                  watch.before_gb - watch.least_gb,
                  used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime))
        assert report["outcome"] == "complete" and report["faults"] == [], report["faults"][:5]
        assert all(t["restarts"] == 0 for t in report["trials"]), "a trial was started twice"
        assert watch.files <= need, "more files than the formula says"


if __name__ == "__main__":
    main()
