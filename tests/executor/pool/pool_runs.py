"""rbrun --pool: jobs that share the nodes of one run, on a mock cloud with real sshd nodes and on this machine. Who trains
gives way by checkpoint and starts again with what it is lent; killed pools go on; nothing is left, and the bill is the
cloud's."""
import argparse
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
from cloud_case import CloudCase  # noqa: E402: its folder is known only here
from kill9 import control_dir  # noqa: E402

PATIENCE_S = 300  # with a pool that does not end, however busy this machine is

JOB = """name: %s
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: random, num_trials: %d, max_resource: %d}
trial: {gpus: {min: 1, max: 2}, timeout: 20s}
run: sh train.sh
checkpoint: {dir: ckpt}
profile: shared
"""

TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
[ "$epoch" -eq "$RB_RESOURCE_START" ] || { echo "wrong checkpoint: $epoch, expected $RB_RESOURCE_START"; exit 9; }
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    case "$CUDA_VISIBLE_DEVICES" in *,*) sleep 0.12 ;; *) sleep 0.2 ;; esac
    echo "epoch=$epoch val_acc=0.$((1000 + (RB_TRIAL_ID * 2741 + epoch * 13) % 9000))"
    echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch.new" && mv "$RB_CHECKPOINT_DIR/epoch.new" "$RB_CHECKPOINT_DIR/epoch"
    [ ! -e "$RB_PREEMPT_FILE" ] || exit 75
done
"""

PROFILE = """format: rb-profile/1
name: shared
training:
  - accelerator: T4
    base_s: 0.2
    layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.6}]
  - accelerator: CPU
    base_s: 0.2
    layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.6}]
noise: {between: 1.0, within: 1.0}
startup_s: 0.3
checkpoint_s: 0.2
provisioning:
  - {infra: "*", instance_type: "*", market: "*", queue_s: 0.5, init_s: 1.0, capacity_failure: 0}
"""

POOL = """format: rb-pool/1
name: lab
resources: {infra: [%s], instance_types: [%s], max_nodes: %d}
policy: %s
interval: 1s
restart: 500ms
jobs:
  - first.yaml
  - {job: second.yaml, arrives: %s}
"""


class PoolRuns(CloudCase):
    def setUp(self):
        super().setUp()
        self.work = os.path.join(self.folder, "work-" + self.id().split(".")[-1])
        os.mkdir(self.work)
        self.write("train.sh", TRAIN)
        self.write("measured.yaml", PROFILE) # a name that no one would look for

    # --- tools

    def write(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as f:
            f.write(text)

    def make(self, infra="mock/us-east-1", instance_type="two.gpus", nodes=2, policy="goodput", first=(2, 40), second=(2, 8), arrives="5s"):
        self.write("first.yaml", JOB % (("first",) + first))
        self.write("second.yaml", JOB % (("second",) + second))
        self.write("pool.yaml", POOL % (infra, instance_type, nodes, policy, arrives))

    def command(self):
        return ["--pool", os.path.join(self.work, "pool.yaml"), "--prices", self.cloud.prices, "--profile-file",
                os.path.join(self.work, "measured.yaml"), "--json"]

    def started_until(self, *words):
        """A pool at work that has said all of them."""
        process = subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), *self.command(), "--state-dir", self.state], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.crash.env, cwd=self.folder)
        seen = ""
        while not all(word in seen for word in words):
            line = process.stderr.readline()
            self.assertTrue(line, "ended early: " + seen)
            seen += line
        return process

    def mine(self, run):
        return [i for i in self.cloud.ledger()["instances"] if i["tags"].get("rb:run-id") == run]

    def node_where(self, run, instances):
        """One of these instances, whose homes bear their names, where a trial of that run trains: a loss of any other is noticed
        by no one."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as f:
                    environ = f.read().split(b"\0")
                place = os.readlink("/proc/%s/cwd" % pid).split("/")
            except OSError:
                continue  # it has ended, or is somebody else's
            found = set(instances) & set(place)
            if run in place and found and any(v.startswith(b"RB_TRIAL_ID=") for v in environ):
                return found.pop()
        return self.fail("%s trains on none of %s" % (run, instances))

    def events(self, run):
        db = sqlite3.connect(os.path.join(self.state, run, "journal.db"))
        rows = [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]
        db.close()
        return rows

    def check(self, report, cost_is_the_clouds=True):
        self.assertEqual(report["format"], "rb-pool-report/1")
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(report["instances_left"], 0)
        for job in report["jobs"]:
            self.assertEqual(job["outcome"], "complete")
            self.assertGreater(job["gpu_s"], 0)
        self.check_no_sockets(report)
        if not cost_is_the_clouds:
            return
        mine = self.mine(report["run"])
        self.assertEqual([i["id"] for i in mine if i["state"] not in ("terminated", "shutting-down")], [])
        self.assertEqual(sum(i["cost_uusd"] for i in mine), report["cost_uusd"])
        shares = sum(job["share_uusd"] for job in report["jobs"])
        self.assertLessEqual(abs(shares - report["cost_uusd"]), len(report["jobs"]))

    def sockets(self, *runs):
        """Where ssh's control sockets of those runs are, if they are there; None: a job that has not arrived."""
        return [d for d in (control_dir(os.path.join(self.state, run)) for run in runs if run) if os.path.exists(d)]

    def check_no_sockets(self, report):
        self.assertEqual(self.sockets(report["run"], *[job["run"] for job in report["jobs"]]), [])

    def check_every_report_came(self, report, *jobs):
        for job, (n_trials, epochs) in zip(report["jobs"], jobs, strict=True):
            seen = {(e["trial"], e["resource"]) for e in self.events(job["run"]) if e["event"] == "report"}
            self.assertEqual(seen, {(t, r) for t in range(n_trials) for r in range(1, epochs + 1)})

    # --- what it does

    def has_no_room(self, report, n_trials):
        """Do all trials of the first job, on all four GPUs, train when the second arrives?"""
        run = report["jobs"][0]["run"]
        came_us = self.started_unix_us(report["jobs"][1]["run"]) - self.started_unix_us(run)
        lent, training = {}, set()
        for e in self.events(run):
            if e["time_us"] > came_us:
                break
            if e["event"] == "lent":
                lent[e["node"]] = len(e["gpus"])
            elif e["event"] == "report":
                training.add(e["trial"])
            elif "outcome" in e:
                training.discard(e["trial"])
        return sum(lent.values()) == 4 and len(training) == n_trials

    def shared(self, make, n_trials):
        """The report of a pool where somebody had to give way, and arrives_s; make(arrives_s) writes its files. On a machine so
        busy that nodes and trials have not begun by then, the second job comes later, to a first one that is longer."""
        for arrives_s in (5, 15, 45):
            make(arrives_s)
            report = json.loads(self.rbrun(*self.command(), timeout=PATIENCE_S).stdout)
            self.check(report)
            if self.has_no_room(report, n_trials):
                return report, arrives_s
        self.fail("the first job did not train on every GPU, however late the second came")

    def test_jobs_share_the_nodes_and_give_way(self):
        report, arrives_s = self.shared(lambda s: self.make(first=(4, 8 * s), arrives="%ds" % s), 4)
        self.check_every_report_came(report, (4, 8 * arrives_s), (2, 8))
        first = self.events(report["jobs"][0]["run"])
        self.assertIn("yielded", [e.get("outcome") for e in first], "no job gave way")
        self.assertGreater(report["jobs"][0]["times_lent"], 1)
        self.check_no_gpu_is_in_two_hands(report)
        nodes = {i["id"] for i in self.mine(report["run"])}
        self.assertEqual(len(nodes), 2, "the pool's nodes, and no others")
        self.check_status(report)
        owner = json.loads(self.rbrun("report", report["run"], "--json").stdout)
        self.assertEqual(owner["outcome"], "stopped: released", "no one has stopped it")

    def check_status(self, report):
        """rbrun status POOL reports of the jobs what the pool's report does."""
        status = json.loads(self.rbrun("status", report["run"], "--json").stdout)
        self.assertEqual(status["state"], "complete")
        self.assertEqual([(j["job"], j["run"], j["state"], j["spent_uusd"], j["nodes"], j["gpus"]) for j in status["jobs"]],
                         [(j["job"], j["run"], j["outcome"], j["share_uusd"], 0, 0) for j in report["jobs"]])
        said = self.rbrun("status", report["run"]).stdout
        for job in report["jobs"]:
            self.assertRegex(said, r"(?m)^%s +complete .* %s$" % (job["job"], job["run"]))
            self.assertNotIn("jobs", json.loads(self.rbrun("status", job["run"], "--json").stdout))

    def check_no_gpu_is_in_two_hands(self, report):
        begun = {job["run"]: self.started_unix_us(job["run"]) for job in report["jobs"]}
        lent = {}
        steps = []
        for job in report["jobs"]:
            for e in self.events(job["run"]):
                if e["event"] == "lent":
                    steps.append((begun[job["run"]] + e["time_us"], job["run"], e["node"], set(e["gpus"])))
            over_us = begun[job["run"]] + self.events(job["run"])[-1]["time_us"]
            steps += [(over_us, job["run"], node, set()) for node in (0, 1)]
        for _, run, node, gpus in sorted(steps, key=lambda s: s[:3]):
            lent[run, node] = gpus
            self.assertLessEqual(sum(len(g) for g in lent.values()), 4)

    def started_unix_us(self, run):
        return json.loads(self.rbrun("report", run, "--json").stdout)["started_at_us"]

    def test_digits_are_learnt(self):
        """The network of examples/digits, on scikit-learn's digits, by two searches that share the nodes."""
        if subprocess.run(["/usr/bin/python3", "-c", "import numpy, sklearn"], capture_output=True, check=False).returncode:
            self.skipTest("/usr/bin/python3 has no scikit-learn")
        shutil.copy(os.path.join(here, "..", "..", "..", "examples", "digits", "train.py"), self.work)
        train = "/usr/bin/python3 train.py --epoch-seconds 0.2 --startup-seconds 0 $RB_ARGS"

        def make(arrives_s):
            self.make(arrives="%ds" % arrives_s)
            for name, n_trials, epochs in (("first", 2, 12 * arrives_s), ("second", 2, 8)):
                job = (JOB % (name, n_trials, epochs)).replace("sh train.sh", train)
                self.write(name + ".yaml", job.replace("{min: 0.1, max: 0.9}", "{distribution: log_uniform, min: 0.01, max: 0.3}"))

        report, _ = self.shared(make, 2)
        self.assertIn("yielded", [e.get("outcome") for e in self.events(report["jobs"][0]["run"])])
        for job in report["jobs"]:
            self.assertGreater(job["best"]["metric"], 0.8)

    def test_killed_and_resumed(self):
        self.make(policy="pollux")  # what takes the most time of a processor, so the only one here
        process = self.started_until("second: trial 0")
        process.kill()
        process.stdout.close()
        process.stderr.close()
        process.wait()
        pool, jobs = self.runs()
        self.assertEqual(len(self.sockets(pool, *jobs)), 3, "a process that is killed leaves them")
        status = json.loads(self.rbrun("status", pool, "--json").stdout)
        self.assertEqual([job["state"] for job in status["jobs"]], ["interrupted"] * 2)
        report = json.loads(self.rbrun("resume", pool, "--json").stdout)
        self.check(report)
        self.check_every_report_came(report, (2, 40), (2, 8))
        self.assertEqual(len(self.mine(pool)), 2, "a node was launched twice")

    def test_a_lost_node_is_replaced_and_its_trials_go_on(self):
        self.make(first=(4, 20), second=(2, 5))
        process = self.started_until("first: trial 0: epoch 3")
        pool, jobs = self.runs()
        victim = self.node_where(next(job for job in jobs if job.startswith("first-")), [i["id"] for i in self.mine(pool)])
        urllib.request.urlopen(urllib.request.Request(
            "%s/_rbmock/nodes/%s/poweroff" % (self.cloud.url, victim), method="POST"), timeout=10).close()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, err[-3000:])
        report = json.loads(out)
        self.check(report)
        self.assertEqual(len(self.mine(pool)), 3)

    def test_ctrl_c_ends_everything(self):
        self.make()
        process = self.started_until("first: trial 0: epoch 3")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, err[-3000:])
        report = json.loads(out)
        self.assertEqual(report["outcome"], "not complete")
        self.assertEqual(report["instances_left"], 0)
        self.check_no_sockets(report)
        self.assertEqual([i["id"] for i in self.mine(report["run"]) if i["state"] in ("pending", "running")], [])
        again = json.loads(self.rbrun("resume", report["run"], "--json").stdout)
        self.check(again)
        n_nodes = len(self.mine(report["run"]))
        once_more = json.loads(self.rbrun("resume", report["run"], "--json").stdout)
        self.assertEqual((once_more["outcome"], len(self.mine(report["run"]))), ("complete", n_nodes), "rented for nothing")

    def test_on_this_machine(self):
        for policy in ("tiresias", "optimus"):
            with self.subTest(policy=policy):
                self.make(infra="local", instance_type="local", nodes=1, policy=policy, first=(2, 6), second=(1, 3))
                report = json.loads(self.rbrun(*self.command(), RB_LOCAL_SLOTS="4").stdout)
                self.check(report, cost_is_the_clouds=False)

    # --- no room for the journals

    def fill_disk(self):
        """Until not a byte more is taken: whatever is written next fails."""
        with open(os.path.join(self.state, "filler"), "wb", buffering=0) as f, self.assertRaises(OSError):
            while True:
                f.write(b"x" * 1024)

    def runs(self):
        """(pool, jobs), by their ids."""
        found = sorted(n for n in os.listdir(self.state) if n != "filler")
        return next(n for n in found if n.startswith("lab-")), [n for n in found if not n.startswith("lab-")]

    def check_rescued(self, process, nodes):
        """It has ended what the pool had rented, and every error says how to go on. Returns its report."""
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 1, err[-3000:])
        pool, jobs = self.runs()
        self.assertEqual([i["id"] for i in self.mine(pool) if i["state"] in ("pending", "running")], [])
        self.assertEqual(len(self.mine(pool)), nodes, "launched although nothing could be written down")
        lines = (err + json.loads(out.splitlines()[-1])["message"]).splitlines()
        ends = [line for line in lines if "the run cannot continue without its journal" in line]
        self.assertGreaterEqual(len(ends), 1)
        for line in ends:
            self.assertIn("make room, then run `rbrun resume %s`" % pool, line)
        for job in jobs:
            self.assertIn("rbrun resume " + pool, self.rbrun("resume", job, expect=2).stderr)
        return json.loads(out.splitlines()[0])

    def on_a_full_disk(self, nodes=2, **where):
        os.mkdir(self.state)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.state], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("a small disk of its own cannot be mounted here; that needs root")
        try:
            self.make(first=(2, 20), second=(2, 4), nodes=nodes, arrives="1s", **where)
            process = self.started_until("second: trial 0")
            self.fill_disk()
            report = self.check_rescued(process, 0 if where else nodes)
            outcomes = [job["outcome"] for job in report["jobs"]]
            self.assertIn("interrupted", outcomes) # one journal is enough; the other may have room for its last word
            self.assertLessEqual(set(outcomes), {"interrupted", "stopped: user", "stopped: capacity"})
            os.remove(os.path.join(self.state, "filler"))
            pool, jobs = self.runs()
            before = {run: [e for e in self.events(run) if e["event"] == "report"] for run in jobs}
            self.check(json.loads(self.rbrun("resume", pool, "--json").stdout), cost_is_the_clouds=not where)
            if not where: # here trials train on meanwhile, and what they print finds no room either
                self.check_every_report_came(report, (2, 20), (2, 4))
            for run in jobs: # what was written is still there
                after = [e for e in self.events(run) if e["event"] == "report"]
                self.assertEqual(after[:len(before[run])], before[run])
            self.assertEqual(self.runs(), (pool, jobs))
        finally:
            self.unmount()

    def unmount(self):
        for _ in range(100):  # the keeper of this machine's trials ends within a second of them
            if subprocess.run(["umount", self.state], capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.1)
        self.fail("%s is busy" % self.state)

    def test_a_full_disk(self):
        self.on_a_full_disk()

    def test_a_full_disk_of_this_machine(self):
        self.crash.env["RB_LOCAL_SLOTS"] = "4"
        self.addCleanup(self.crash.env.pop, "RB_LOCAL_SLOTS")
        self.on_a_full_disk(nodes=1, infra="local", instance_type="local")

    def test_one_journal_that_may_not_grow_ends_the_pool(self):
        """What that job trains is heard by no one, so its GPUs are not lent on; nor does anybody wait for who is to arrive."""
        self.make(first=(2, 60), arrives="1s")
        self.write("second.yaml", (JOB % ("second", 1, 8)).replace("sh train.sh", "sleep 60")) # its journal hardly grows
        with open(os.path.join(self.work, "pool.yaml"), "a", encoding="utf-8") as f:
            f.write("  - {job: first.yaml, arrives: 1h, deadline: 2h}\n")
        process = self.started_until("second: node ", "first: trial 0: epoch 12")
        first, _, third = json.loads(self.rbrun("status", self.runs()[0], "--json").stdout)["jobs"]
        self.assertEqual((first["job"], first["state"], first["deadline_us"]), ("first", "running", None))
        self.assertGreater(first["nodes"], 0)
        self.assertEqual([third[key] for key in ("run", "state", "arrives_us", "deadline_us", "nodes", "spent_uusd")],
                         [None, "to come", 3600000000, 7200000000, 0, 0])
        first = next(job for job in self.runs()[1] if job.startswith("first-"))
        size = max(os.path.getsize(os.path.join(self.state, first, f))
                   for f in os.listdir(os.path.join(self.state, first)) if f.startswith("journal.db"))
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
        report = self.check_rescued(process, 2)
        self.assertEqual([job["outcome"] for job in report["jobs"]], ["interrupted", "stopped: user", "did not arrive"])

    # --- what is said of mistakes

    def refused(self, words, *more):
        done = self.rbrun("--pool", os.path.join(self.work, "pool.yaml"), "--prices", self.cloud.prices, "--profile-file",
                          os.path.join(self.work, "measured.yaml"), *more, expect=2)
        self.assertIn(words, done.stderr)
        self.assertFalse([n for n in os.listdir(self.state) if n.startswith("first")] if os.path.isdir(self.state) else [])

    def test_mistakes_are_named(self):
        self.make(policy="first_come")
        self.refused("first_come does not divide GPUs among jobs; expected")
        self.refused("[RB1215]")
        self.make()
        self.write("pool.yaml", "format: rb-pool/1\nname: lab\npolicy: pollux\njobs: [nowhere.yaml]\n")
        self.refused("nowhere.yaml: no such job file [RB1217]")
        self.write("pool.yaml", "format: rb-pool/1\nname: lab\nnodes: 3\n")
        self.refused("pool.yaml:3:1: nodes: unknown key")
        self.write("pool.yaml", "format: rb-pool/1\nname: lab\npolicy: pollux\n")
        self.refused("lists no jobs")
        self.make()
        self.write("second.yaml", (JOB % ("second", 2, 8)).replace("scheduler", "sheduler"))
        self.refused("second.yaml")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    known, rest = parser.parse_known_args()
    CloudCase.bin_dir = os.path.abspath(known.bin)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
