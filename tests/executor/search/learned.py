#!/usr/bin/env python3
"""Runs whose configurations come from a sampler, on this machine: every trial trains with the configuration that its event
names, a parameter that does not apply reaches no script, and a run that is killed at a write of its journal and resumed never
changes a configuration or asks for a second one.
    learned.py --bin BUILD [-k NAME]"""
import argparse
import collections
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "cli"))
sys.dont_write_bytecode = True
from real_run import RealRun, profile  # noqa: E402: its folder is known only here

JOB = """name: learned
metric: {name: val_acc, goal: maximize}
parameters:
  opt: {values: [sgd, adam]}
  lr: {min: 0.0, max: 1.0}
  momentum: {min: 0.0, max: 0.9, if: {opt: sgd}}
scheduler: {type: asha, num_trials: 14, min_resource: 1, max_resource: 4, eta: 2, sampler: {type: tpe, start: 4}}
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [local]}
confidence: 0.5
"""

TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
echo "opt=$RB_PARAM_OPT lr=$RB_PARAM_LR momentum=${RB_PARAM_MOMENTUM-none}" >>"$SEEN/$RB_TRIAL_ID"
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    awk "BEGIN {x = $RB_PARAM_LR - 0.3; printf \\"epoch=$epoch val_acc=%.6f\\\\n\\", 0.5 - x * x + $epoch / 100}"
done
echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""


class Learned(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="learned-")
        cls.addClassCleanup(folder.cleanup)
        cls.run_ = RealRun(cls.bin, folder.name, RB_LOCAL_SLOTS="2")
        cls.run_.write("work/job.yaml", JOB)
        cls.run_.write("work/train.sh", TRAIN)
        cls.run_.write("profile.yaml", profile("learned", 0.05, accelerator="CPU"))
        cls.run_.say("rbplan", "work/job.yaml", "--profile-file", "profile.yaml", "-o", "plan.json")

    def begin(self, name):
        self.state = os.path.join(self.run_.folder, "state-" + name)
        self.seen = os.path.join(self.run_.folder, "seen-" + name)
        self.run_.env["RB_DB"] = os.path.join(self.run_.folder, "store-" + name + ".db")  # no search starts from another test's
        os.makedirs(self.seen)

    def say(self, *argv, **kwargs):
        return self.run_.say(*argv, "--state-dir", self.state, SEEN=self.seen, **kwargs)

    def suggestions(self):
        """By trial, in the order of the journal; none may have two."""
        run = os.path.join(self.state, os.listdir(self.state)[0], "journal.db")
        with sqlite3.connect(run) as db:
            events = [json.loads(text) for (text,) in db.execute("SELECT json FROM event ORDER BY seq")]
        found = collections.OrderedDict()
        for e in events:
            if e["event"] == "suggested":
                self.assertNotIn(e["trial"], found, "a second configuration")
                found[e["trial"]] = e
        return found

    def check(self, report):
        suggested = self.suggestions()
        self.assertEqual(len(report["trials"]), 14)
        self.assertEqual(len(suggested), 14)
        for trial in report["trials"]:
            event = suggested[trial["trial"]]
            self.assertEqual(trial["params"], event["values"])
            self.assertEqual(trial["origin"], event["origin"])
            self.assertEqual("momentum" in event["values"], event["values"]["opt"] == "sgd")
            with open(os.path.join(self.seen, str(trial["trial"])), encoding="utf-8") as f:
                lines = set(f.read().splitlines())
            v = event["values"]
            self.assertEqual(lines, {"opt=%s lr=%s momentum=%s" % (v["opt"], json.dumps(v["lr"]), json.dumps(v["momentum"])
                                                                  if "momentum" in v else "none")})
        best = next(t for t in report["trials"] if t["trial"] == report["best"]["trial"])
        self.assertEqual(report["best"]["params"], best["params"])
        replay = json.loads(self.say("rbrun", "replay", "--json").stdout)
        self.assertEqual(replay["orders_differing"], 0)
        return suggested

    def test_trials_train_with_what_was_suggested(self):
        self.begin("whole")
        report = json.loads(self.say("rbrun", "plan.json", "--json").stdout.splitlines()[-1])
        origins = collections.Counter(e["origin"] for e in self.check(report).values())
        self.assertGreaterEqual(origins["start"], 4)
        self.assertGreater(origins["tpe"], 0, origins)

    def test_killed_runs_keep_their_configurations(self):
        for write in (3, 8, 26):
            with self.subTest(write=write):
                self.begin("killed-%d" % write)
                self.say("rbrun", "plan.json", "--json", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER=str(write))
                before = {k: e["values"] for k, e in self.suggestions().items()}
                report = json.loads(self.say("rbrun", "resume", "--json").stdout.splitlines()[-1])
                after = self.check(report)
                self.assertEqual(before, {k: after[k]["values"] for k in before})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    Learned.bin = args.bin
    unittest.main(argv=sys.argv[:1] + rest)
