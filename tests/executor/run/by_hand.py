#!/usr/bin/env python3
"""rbrun replan: the limits of a run that is under way are changed by hand, on this machine.
    by_hand.py --bin BUILD [-k NAME]"""
import argparse
import glob
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
sys.dont_write_bytecode = True
from real_run import RealRun, profile  # noqa: E402: its folder is known only here

JOB = """name: hand
metric: {name: score, goal: maximize}
parameters: {lr: {min: 0.0, max: 1.0}}
scheduler: {type: %s, num_trials: 3, min_resource: 1, max_resource: 2, eta: 2}
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [local]}
policy: %s
deadline: 10m
"""

# It trains until its file is there.
TRAIN = """while [ ! -e "$GO" ]; do sleep 0.05; done
e=$RB_RESOURCE_START
while [ "$e" -lt "$RB_RESOURCE_END" ]; do e=$((e + 1)); echo "epoch=$e score=0.$e$RB_TRIAL_ID"; done
echo "$e" >"$RB_CHECKPOINT_DIR/epoch"
"""


class ByHand(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="by-hand-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.check_trials_end, folder.name)
        self.state = os.path.join(folder.name, "state")
        self.go = os.path.join(folder.name, "go")
        self.user = RealRun(self.bin, folder.name, RB_LOCAL_SLOTS="2", GO=self.go)
        self.user.write("train.sh", TRAIN)
        self.user.write("profile.yaml", profile("hand", 0.3, accelerator="CPU")
                        .replace("within: 1.0", "within: {distribution: lognormal, mean: 1.0, cv: 0.2}"))

    def check_trials_end(self, folder):
        """Those of controllers that were killed and not resumed, as soon as the run has no folder any more."""
        shutil.rmtree(folder)
        until = time.monotonic() + 30
        while any(self.is_of(path, folder) for path in glob.glob("/proc/[0-9]*/cwd")):
            self.assertLess(time.monotonic(), until, "a process is left in %s" % folder)
            time.sleep(0.1)

    @staticmethod
    def is_of(path, folder):
        try:
            return os.readlink(path).startswith(folder)
        except OSError:
            return False

    def begin(self, scheduler="sha", policy="elastic", **env):
        """The process of a run that trains until self.go is there."""
        self.user.write("job.yaml", JOB % (scheduler, policy))
        self.user.say("rbplan", "job.yaml", "--profile-file", "profile.yaml", "-o", "plan.json")
        process = subprocess.Popen([os.path.join(self.user.bin, "rbrun"), "plan.json", "--state-dir", self.state],
                                   env=dict(self.user.env, **env), cwd=self.user.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until = time.monotonic() + 30
        while time.monotonic() < until and process.poll() is None and not self.journal("SELECT 1 FROM task"):
            time.sleep(0.05)
        return process

    def journal(self, sql):
        try:
            path = os.path.join(self.state, os.listdir(self.state)[0], "journal.db")
            with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
                return db.execute(sql).fetchall()
        except (OSError, IndexError, sqlite3.OperationalError):  # the run has no folder or no tables yet
            return []

    def replan(self, *argv, **kwargs):
        return self.user.say("rbrun", "replan", "hand", *argv, "--state-dir", self.state, **kwargs)

    def limits(self):
        return self.journal("SELECT deadline_us, budget_uusd FROM meta")

    def test_new_limits_hold_and_are_in_the_journal(self):
        process = self.begin()
        said = json.loads(self.replan("--deadline", "+20m", "--json").stdout)
        self.assertEqual((said["deadline_us"], said["budget_uusd"], said["kept"]), (1800000000, None, True))
        self.assertIn("the nodes stay as they are", said["text"])
        self.assertEqual(self.limits()[0][0], 1800000000)
        self.assertTrue(self.journal("SELECT 1 FROM note WHERE text LIKE 'the limits were changed by hand: deadline 30 m%'"))
        self.assertIn("RB4044", self.replan("--deadline", "10ms", expect=2).stderr)
        self.assertEqual(self.limits()[0][0], 1800000000)
        late = self.replan("--deadline", "%dms" % (1000 * self.elapsed() + 3000), expect=3)
        self.assertIn("RB4046", late.stderr)
        self.assertEqual(process.wait(timeout=60), 4)  # it holds nevertheless
        self.assertIn("RB4043", self.replan("--deadline", "1h", expect=2).stderr)

    def elapsed(self):
        return int(time.time() - self.journal("SELECT started_unix_us FROM meta")[0][0] / 1e6)

    def test_new_limits_survive_a_kill(self):
        """Killed at writes of the journal about the change: what the command has said of it is true."""
        first = self.begin()
        n = self.journal("SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM task) + (SELECT count(*) FROM launch)")[0][0]
        self.replan("--deadline", "20m")
        first.kill()
        first.wait()
        self.assertEqual(self.limits()[0][0], 1200000000)
        with open(self.go, "w", encoding="utf-8"):
            pass
        self.user.say("rbrun", "resume", "--state-dir", self.state)
        self.assertEqual(self.limits()[0][0], 1200000000)
        self.assertIn(" 0 orders differ", self.user.say("rbrun", "replay", "--state-dir", self.state).stdout)
        os.unlink(self.go)
        taken = []
        for write in (n - 3, n - 1, n, n + 1, n + 3):
            self.state = os.path.join(self.user.folder, "state-%d" % write)
            process = self.begin(RB_TEST_DIE_AFTER=str(write))
            done = subprocess.run([os.path.join(self.user.bin, "rbrun"), "replan", "hand", "--deadline", "20m", "--state-dir",
                                   self.state], env=self.user.env, text=True, capture_output=True, check=False, timeout=60)
            process.kill()
            process.wait()
            limit = self.limits()[0][0]
            taken.append((done.returncode, limit))
            if done.returncode == 0:
                self.assertEqual(limit, 1200000000, done)
            elif "no process here" in done.stderr:
                self.assertEqual(limit, 600000000, done)
            else:
                self.assertIn("has deadline %d m 0 s, budget none" % (limit / 60e6), done.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.state, os.listdir(self.state)[0], "limits.request")))
        self.assertEqual({limit for _, limit in taken}, {600000000, 1200000000}, taken)

    def test_a_process_that_does_not_react_changes_nothing(self):
        process = self.begin()
        os.kill(process.pid, signal.SIGSTOP)
        self.assertIn("RB4045", self.replan("--deadline", "20m", expect=1).stderr)
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(1.5)
        self.assertEqual(self.limits()[0][0], 600000000)

    def test_what_works_towards_its_deadline_is_refused(self):
        self.begin("asha", "hypersched")
        self.assertIn("policy hypersched works towards the deadline", self.replan("--deadline", "20m", expect=2).stderr)
        self.assertIn("expected --deadline D or --budget USD", self.replan(expect=2).stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    ByHand.bin = args.bin
    unittest.main(argv=sys.argv[:1] + rest)
