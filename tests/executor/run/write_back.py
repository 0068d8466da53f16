#!/usr/bin/env python3
"""What ended runs leave for later plans, on this machine: times of units, and how their predictions fared.
    write_back.py --bin BUILD [-k NAME]"""
import argparse
import json
import math
import os
import signal
import sqlite3
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
sys.dont_write_bytecode = True
from real_run import RealRun  # noqa: E402: its folder is known only here

JOB = """name: again
metric: {name: score, goal: maximize}
parameters: {lr: {min: 0.0, max: 1.0}}
scheduler: {type: sha, num_trials: 3, min_resource: 3, max_resource: 6, eta: 2}
run: %s
checkpoint: {dir: ckpt}
resources: {infra: [local]}
confidence: 0.5
deadline: 10m
"""

TRAIN = """e=$RB_RESOURCE_START
while [ "$e" -lt "$RB_RESOURCE_END" ]; do
    e=$((e + 1)); sleep ${UNIT_S:-0.1}; echo "epoch=$e score=0.$e$RB_TRIAL_ID"
done
echo "$e" >"$RB_CHECKPOINT_DIR/epoch"
"""


class WriteBack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="write-back-")
        self.addCleanup(folder.cleanup)
        self.user = RealRun(self.bin, folder.name, RB_LOCAL_SLOTS="2")
        self.db = os.path.join(folder.name, "store.db")
        self.user.env["RB_DB"] = self.db
        self.user.write("train.sh", TRAIN)
        self.user.write("job.yaml", JOB % "sh train.sh")

    def measure(self):
        self.user.say("rbprofile", "train", "job.yaml", "--configs", "2", "--resource", "3")

    def run_job(self, **kwargs):
        self.user.say("rbplan", "job.yaml", "-o", "plan.json")
        return self.user.say("rbrun", "plan.json", **kwargs)

    def show(self):
        return json.loads(self.user.say("rbprofile", "show", "again", "--json").stdout)

    def test_a_run_makes_the_next_profile_more_exact(self):
        self.measure()
        before = self.show()
        self.assertEqual((before["learned"], before["predictions"]["runs"]), ({"runs": 0, "starts": 0}, 0))
        self.run_job()
        self.run_job()
        after = self.show()
        self.assertEqual(after["learned"]["runs"], 2)
        self.assertGreaterEqual(after["learned"]["starts"], 6)
        self.assertGreater(after["cells"][0]["runs"], before["cells"][0]["runs"] + 5)
        # Of two runs the mean is known less than a single unit is, of eight it is known better, however busy the machine is.
        noise = after["noise"]
        self.assertLess(after["profile"]["training"][0]["relative_error"], math.hypot(noise["between_cv"], noise["within_cv"]))
        self.assertEqual(after["startup_s"]["n"], before["startup_s"]["n"])  # a run cannot tell start-up from first unit
        fared = after["predictions"]
        self.assertEqual((fared["runs"], fared["complete"]), (2, 2))
        self.assertEqual((fared["on_time"]["judged"], fared["on_time"]["kept"]), (2, 2))
        self.assertIsNotNone(fared["time"]["mean_log_error"])
        said = self.user.say("rbprofile", "show", "again").stdout
        self.assertRegex(said, r"(?m)^learned from: 2 ended runs, \d+ starts of trials$")
        self.assertRegex(said, r"(?m)^predictions, of 2 runs that ended$")
        self.assertRegex(said, r"(?m)^  on time        2 of 2, \d\.\d\d was promised$")

    def test_what_has_changed_is_not_added_to_what_was_measured(self):
        self.measure()
        self.user.say("rbplan", "job.yaml", "-o", "plan.json")
        self.user.write("train.sh", "#\n" + TRAIN)
        self.user.say("rbrun", "plan.json")
        fit = self.show()
        self.assertEqual((fit["learned"]["runs"], fit["predictions"]["runs"]), (0, 1))

    def test_runs_that_prove_nothing_leave_nothing(self):
        self.measure()
        self.user.say("rbplan", "job.yaml", "-o", "plan.json")
        self.user.say("rbrun", "plan.json", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="20")
        self.user.say("rbrun", "stop", "again")
        self.user.write("train.sh", "exit 1\n")
        self.user.say("rbrun", "plan.json", expect=9)
        fit = self.show()
        self.assertEqual((fit["predictions"]["runs"], fit["predictions"]["time"]["judged"]), (0, 0))

    def test_a_missed_deadline_counts(self):
        self.measure()
        self.user.say("rbplan", "job.yaml", "--deadline", "4s", "--set", "on_drift=warn", "-o", "plan.json")
        self.user.say("rbrun", "plan.json", expect=4, UNIT_S="5")
        fared = self.show()["predictions"]
        self.assertEqual((fared["runs"], fared["complete"]), (1, 0))
        self.assertEqual((fared["on_time"]["judged"], fared["on_time"]["kept"]), (1, 0))
        self.assertIsNone(fared["time"]["mean_log_error"])

    def test_a_run_does_not_wait_for_a_busy_store(self):
        self.measure()
        self.user.say("rbplan", "job.yaml", "-o", "plan.json")
        with sqlite3.connect(self.db, isolation_level=None) as db:
            db.execute("BEGIN EXCLUSIVE")
            began = time.monotonic()
            said = self.user.say("rbrun", "plan.json").stderr
            self.assertIn("later plans do not learn from it", said)
            self.assertLess(time.monotonic() - began, 30)
            self.assertRegex(said, r"`rbrun report again-\S+ --learn` does it")
            db.execute("ROLLBACK")
        self.assertEqual((self.show()["learned"]["runs"], self.show()["predictions"]["runs"]), (0, 0))
        for _ in range(2):  # a repeated request adds nothing
            self.user.say("rbrun", "report", "again", "--learn")
            self.assertEqual((self.show()["learned"]["runs"], self.show()["predictions"]["runs"]), (1, 1))

    def test_without_a_profile_the_record_is_shown(self):
        self.user.write("job.yaml", JOB % "sh train.sh" + "guess: {unit: 100ms, on: CPU}\n")
        self.run_job()
        said = self.user.say("rbprofile", "show", "again").stdout
        self.assertIn("profile again: none in the store", said)
        self.assertIn("predictions, of 1 run that ended\n", said)
        fit = self.show()
        self.assertEqual((fit["profile"], fit["predictions"]["runs"]), (None, 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    WriteBack.bin = args.bin
    unittest.main(argv=sys.argv[:1] + rest)
