"""Limits of open files: what a plan needs is what it is said to need, too low a limit is refused before anything is launched,
and a limit that is reached all the same is waited out; trials and nodes are not blamed for it."""
import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "crash"), os.path.join(here, "..", "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402

N_TRIALS = 24
TIMEOUT_S = 8
JOB = """name: crash
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: %d, min_resource: 2, max_resource: 4, eta: 2}
policy: elastic
trial: {gpus: 1, timeout: %s}
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [mock/us-east-1], instance_types: [wide], max_nodes: 2}
deadline: 20m
confidence: 0.5
"""
WIDE = "mock/us-east-1,wide,T4,12,16,4,16,on_demand,0.50,test,2026-07-20T00:00:00Z\n"
PROGRAMS = ("rbplan", "rbprofile", "rbrun", "rbsim", "rbmock")


def limited(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class OpenFiles(unittest.TestCase):
    bin_dir = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rb-open-files-")
        cls.folder = cls.temporary.name
        cls.cloud = MockCloud(cls.bin_dir, cls.folder, prices=WIDE).__enter__()
        cls.crash = kill9.Crash.__new__(kill9.Crash)
        super(kill9.Crash, cls.crash).__init__(cls.bin_dir, cls.folder)
        cls.crash.cloud = cls.cloud
        cls.crash.on(cls.cloud)
        train = "ulimit -S -n >>\"$RB_TEST_LIMITS\"\n" + kill9.TRAIN.replace("0.05", "0.5")
        for name, text in (("train.sh", train), ("profile.yaml", kill9.PROFILE), ("job.yaml", JOB % (N_TRIALS, "60s")),
                           ("short.yaml", JOB % (N_TRIALS, "%ds" % TIMEOUT_S))):
            text = text.replace("$RB_TEST_LIMITS", os.path.join(cls.folder, "limits"))
            cls.crash.write("work/" + name, text)
        cls.plan = cls.crash.make_plan("work/job.yaml")
        cls.short = cls.crash.make_plan("work/short.yaml", "short.json")
        for plan in (cls.plan, cls.short):
            kill9.edit(plan, lambda p: kill9.own(p["stages"][0], 2, 12))

    @classmethod
    def tearDownClass(cls):
        cls.cloud.__exit__()
        cls.temporary.cleanup()

    def start(self, plan, soft, hard, name=""):
        self.state = os.path.join(self.folder, self.id().split(".")[-1] + name)
        return subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), plan, "--json", "--state-dir", self.state],
                                env=self.crash.env, cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, preexec_fn=limited(soft, hard))

    def needed(self):
        """What the refusal says."""
        run = self.start(self.plan, 70, 70)
        out, said = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1, said + out)
        self.assertIn("this process may have 70", out)
        return int(re.search(r"needs (\d+) open files", out).group(1))

    def test_a_sentence_and_an_exit_code(self):
        for n in (8, 16, 32, 64):
            for program in PROGRAMS:
                done = subprocess.run([os.path.join(self.bin_dir, program), "nosuch.yaml"], capture_output=True, text=True,
                                      timeout=60, preexec_fn=limited(n, n), check=False)
                self.assertIn(done.returncode, (1, 2), "%s at %d: %s" % (program, n, done.stderr))
                self.assertRegex(done.stderr, r"RB\d{4}")
        for n in (8, 16, 32, 64):
            done = subprocess.run([os.path.join(self.bin_dir, "rbrun"), "list"], capture_output=True, text=True, timeout=60,
                                  env=self.crash.env, preexec_fn=limited(n, n), check=False)
            self.assertEqual(done.returncode, 0 if n >= 64 else 1, done.stderr)
            self.assertEqual("RB1035" in done.stderr, n < 64, done.stderr)

    def test_too_few_are_refused_and_enough_suffice(self):
        before = len(self.cloud.ledger()["instances"])
        need = self.needed()
        self.assertEqual(len(self.cloud.ledger()["instances"]), before)
        run = self.start(self.plan, 65, need)  # the soft limit is raised
        most = [0]

        def watch():
            while run.poll() is None:
                try:
                    most[0] = max(most[0], len(os.listdir("/proc/%d/fd" % run.pid)))
                except OSError:
                    pass
                time.sleep(0.02)
        watcher = threading.Thread(target=watch)
        watcher.start()
        out, said = run.communicate(timeout=180)
        watcher.join()
        self.assertEqual(run.returncode, 0, said)
        report = json.loads(out.splitlines()[-1])
        self.assertEqual((report["outcome"], report["faults"]), ("complete", []))
        self.crash.check_cloud(report)
        if os.geteuid() == 0:  # of a process that may not be looked into, only root sees the files
            self.assertLessEqual(most[0], need)
            self.assertGreater(most[0], 3 * N_TRIALS)
        with open(os.path.join(self.folder, "limits"), encoding="utf-8") as f:
            limits = set(f.read().split())
        self.assertNotIn(str(need), limits, "a trial has the limit of rbrun")
        print("%d open files at most, %d needed" % (most[0], need), file=sys.stderr)

    def begin_full(self, event):
        """A run whose machine is full from that event on: nothing more can be opened."""
        run = self.start(self.short, 20000, 20000, event)
        run.said = []
        run.reader = threading.Thread(target=lambda: run.said.extend(run.stderr))
        run.reader.start()
        for line in run.stdout:
            if json.loads(line).get("event") == event:
                break
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, (30, 20000))
        return run

    def end_full(self, run):
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, (20000, 20000))
        out = run.stdout.read()
        run.reader.join(180)
        self.assertEqual(run.wait(60), 0, run.said)
        report = json.loads(out.splitlines()[-1])
        self.assertEqual((report["outcome"], report["faults"]), ("complete", []), run.said)
        self.assertEqual([t["restarts"] for t in report["trials"]], [0] * N_TRIALS)
        self.crash.check_cloud(report)

    @unittest.skipUnless(os.geteuid() == 0, "limits of another process are set by root alone")
    def test_a_limit_reached_is_waited_out(self):
        """Before nodes are prepared, and before trials are saved and started again, for longer than trial.timeout."""
        runs = []
        try:
            for event in ("node_running", "report"):
                runs.append(self.begin_full(event))
            time.sleep(TIMEOUT_S + 2)
            for run in runs:
                self.assertIsNone(run.poll(), run.said)
                self.assertIn("waiting for room", "".join(run.said))
            for run in runs:
                self.end_full(run)
        finally:
            for run in runs:
                if run.poll() is None:
                    run.send_signal(signal.SIGKILL)
                run.reader.join(10)
                run.stdout.close()
                run.stderr.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    OpenFiles.bin_dir = os.path.abspath(options.bin)
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
