#!/usr/bin/env python3
"""Populations, carried out: on a mock cloud with real sshd nodes a clone begins with its parent's checkpoint of the barrier byte
for byte, wherever the two train; the report has the lineage and the best trial's schedule. On this machine the run is killed
with SIGKILL at writes of its journal, and ends in the same report.
    populations.py --bin BUILD [--all] [-k NAME]"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, ".."), os.path.join(here, "..", "..", "cli")]
sys.dont_write_bytecode = True
from cloud_case import CloudCase  # noqa: E402
from real_run import ONE_GPU, RealRun, profile  # noqa: E402

MEMBERS, EVERY, UNITS = 4, 2, 6
JOB = """name: crash
metric: {name: val_acc, goal: maximize}
parameters:
  opt: {values: [sgd, adam]}
  lr: {distribution: log_uniform, min: 0.001, max: 1.0}
  layers: {min: 1, max: 8}
scheduler: {type: pbt, num_trials: %d, ready_every: %d, max_resource: %d, quantile: 0.25%%s}
trial: {max_restarts: 1}
run: sh population.sh
checkpoint: {dir: ckpt}
resources: {%%s}
confidence: 0.5
""" % (MEMBERS, EVERY, UNITS)

# The state grows by bytes that no other start has. Trial 2 never works.
TRAIN = """epoch=0 state=$RB_CHECKPOINT_DIR/state
[ "$RB_TRIAL_ID" != 2 ] || exit 9
if [ -n "$RB_RESUME_FROM" ]; then
    epoch=$(cat "$RB_RESUME_FROM/epoch")
    cat "$RB_RESUME_FROM/state" >"$state"
    echo "began with $(cat "$RB_RESUME_FROM/epoch" "$RB_RESUME_FROM/state" | sha256sum)"
fi
echo "clone of ${RB_PARENT_TRIAL_ID-no one}"
[ "$epoch" -eq "$RB_RESOURCE_START" ] || { echo "wrong checkpoint: $epoch, expected $RB_RESOURCE_START"; exit 8; }
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep "${EPOCH_S:-0.02}"
    echo "epoch=$epoch val_acc=0.$((1000 + (RB_TRIAL_ID * 2741 + epoch * 13) % 9000))"
done
head -c 5000 /dev/urandom >>"$state"
echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""


def metric(trial, epoch):
    return float("0.%d" % (1000 + (trial * 2741 + epoch * 13) % 9000))


def digest(archive):
    """Of what a checkpoint holds, as the script computes it."""
    parts = [subprocess.run(["tar", "-xOf", archive, "./" + name], check=True, stdout=subprocess.PIPE).stdout
             for name in ("epoch", "state")]
    return subprocess.run(["sha256sum"], input=b"".join(parts), check=True, stdout=subprocess.PIPE).stdout.decode().split()[0]


def log_of(run_dir, trial, stage):
    logs = os.path.join(run_dir, "logs")
    name = sorted(n for n in os.listdir(logs) if n.startswith("trial-%04d.stage-%d." % (trial, stage)))[-1]
    with open(os.path.join(logs, name), encoding="utf-8") as f:
        return f.read()


class Lineage:
    """What must hold of every whole run."""

    def check_clones(self, run_dir, report):
        trials = {t["trial"]: t for t in report["trials"]}
        clones = [t for t in report["trials"] if "parent" in t]
        self.assertEqual(sorted(trials)[:MEMBERS], list(range(MEMBERS)))
        self.assertEqual(len(clones), len(trials) - MEMBERS)
        for t in report["trials"][:MEMBERS]:
            self.assertNotIn("parent", t)
        for t in clones:
            stage = t["cloned_at"] // EVERY
            saved = os.path.join(run_dir, "checkpoints", "trial-%04d" % t["parent"], "stage-%d.tar" % (stage - 1))
            log = log_of(run_dir, t["trial"], stage)
            self.assertIn("began with " + digest(saved), log)
            self.assertIn("clone of %d\n" % t["parent"], log)
            self.assertIn("trial %d" % t["parent"], t["because"])
            self.explored(trials[t["parent"]]["params"], t["params"])
        self.assertEqual(trials[2]["state"], "failed")
        self.assertIn("clone of no one", log_of(run_dir, 0, 0))
        return trials

    def explored(self, parent, child):
        """At least one differs, and those that were not drawn again are 1.2 or 0.8 times what they were."""
        self.assertNotEqual(parent, child)
        self.assertTrue(0.001 <= child["lr"] <= 1 and 1 <= child["layers"] <= 8 and child["opt"] in ("sgd", "adam"))
        self.assertIsInstance(child["layers"], int)

    def check_schedule(self, report, trials):
        best, schedule = report["best"], report["best"]["schedule"]
        self.assertEqual(schedule[-1]["trial"], best["trial"])
        self.assertEqual(schedule[-1]["values"], best["params"])
        self.assertEqual((schedule[0]["from"], schedule[-1]["to"]), (0, UNITS))
        self.assertNotIn("parent", trials[schedule[0]["trial"]])
        for before, after in zip(schedule, schedule[1:]):
            self.assertEqual(trials[after["trial"]]["parent"], before["trial"])
            self.assertEqual(before["to"], after["from"])
            self.assertEqual(after["from"], trials[after["trial"]]["cloned_at"])
        for stretch in schedule:
            self.assertEqual(stretch["values"], trials[stretch["trial"]]["params"])


class OnACloud(CloudCase, Lineage):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.crash.write("work/population.sh", TRAIN)
        cls.crash.write("work/profile.yaml", profile("crash", 0.1, ONE_GPU))

    def carry_out(self, more):
        name = self.id().split(".")[-1]
        cloud = "infra: [mock/us-east-1], instance_types: [two.gpus], max_nodes: 2"
        job = self.crash.write("work/%s.yaml" % name, JOB % (more, cloud) + "deadline: 10m\n")
        plan = self.crash.make_plan(job, name + ".json")
        with open(plan, encoding="utf-8") as f:
            stages = json.load(f)["stages"]
        self.assertEqual([(s["trials"], s["resource_end"]) for s in stages], [(MEMBERS, 2), (MEMBERS, 4), (MEMBERS, 6)])
        report = json.loads(self.rbrun(plan, "--json", EPOCH_S="0.1").stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        self.crash.check_cloud(report)
        replay = json.loads(self.rbrun("replay", "--json").stdout)
        self.assertEqual(replay["orders_differing"], 0)
        return report, os.path.join(self.state, report["run"])

    def test_all_together(self):
        report, run_dir = self.carry_out("")
        trials = self.check_clones(run_dir, report)
        self.check_schedule(report, trials)
        self.assertEqual(len(trials), MEMBERS + 2)  # one at each barrier: at the first it is the failed one's place
        self.assertEqual(sum(t["resource"] == UNITS for t in trials.values()), MEMBERS)
        text = self.rbrun("report").stdout
        self.assertRegex(text, r"trained with +from +to")
        self.assertEqual(len(re.findall(r"^  trial \d+ +\d+ +\d+ ", text, re.M)), len(report["best"]["schedule"]))
        page = os.path.join(self.folder, "page.html")
        self.rbrun("report", "--html", page)
        with open(page, encoding="utf-8") as f:
            page = f.read()
        self.assertIn("What the best checkpoint was trained with", page)
        for t in trials.values():
            self.assertTrue("parent" not in t or "trial %d at %d" % (t["parent"], t["cloned_at"]) in page)

    def test_one_by_one(self):
        report, run_dir = self.carry_out(", asynchronous: true")
        self.check_clones(run_dir, report)
        self.assertGreaterEqual(sum(t["resource"] == UNITS for t in report["trials"]), 1)


class OnThisMachine(unittest.TestCase, Lineage):
    every_write = False

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="populations-")
        cls.addClassCleanup(folder.cleanup)
        cls.run_ = RealRun(cls.bin, folder.name, RB_LOCAL_SLOTS="2", RB_TRACE="journal")
        cls.run_.write("work/job.yaml", JOB % ("", "infra: [local]"))
        cls.run_.write("work/population.sh", TRAIN)
        cls.run_.write("profile.yaml", profile("crash", 0.05, accelerator="CPU"))
        cls.run_.say("rbplan", "work/job.yaml", "--profile-file", "profile.yaml", "-o", "plan.json")

    def end(self, die_after):
        """What must not depend on where the run was killed (0: nowhere), and the number of its writes."""
        state = os.path.join(self.run_.folder, "state-%d" % die_after)
        to = ["--json", "--state-dir", state]
        if die_after:
            self.run_.say("rbrun", "plan.json", *to, expect=-signal.SIGKILL, RB_TEST_DIE_AFTER=str(die_after))
        done = self.run_.say("rbrun", *(["resume"] if die_after else ["plan.json"]), *to)
        report = json.loads(done.stdout.splitlines()[-1])
        trials = self.check_clones(os.path.join(state, report["run"]), report)
        self.check_schedule(report, trials)
        for t in trials.values():
            if t["state"] != "failed":
                self.assertEqual(t["metric"], metric(t["trial"], t["resource"]))
        writes = int(re.search(r"(\d+) journal writes", done.stderr).group(1))
        return {"outcome": report["outcome"], "best": {k: report["best"][k] for k in ("trial", "metric", "schedule")},
                "trials": list(trials.values())}, writes

    def test_killed_it_ends_alike(self):
        expected, writes = self.end(0)
        points = range(1, writes) if self.every_write else (7, 2 * writes // 5, 3 * writes // 5, writes - 12)
        for point in points:
            with self.subTest(write=point):
                self.assertEqual(self.end(point)[0], expected)
        print("%d journal writes; killed at %d of them, ended alike" % (writes, len(points)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--all", action="store_true", help="killed at every write")
    args, rest = parser.parse_known_args()
    OnACloud.bin_dir = OnThisMachine.bin = os.path.abspath(args.bin)
    OnThisMachine.every_write = args.all
    unittest.main(argv=sys.argv[:1] + rest)
