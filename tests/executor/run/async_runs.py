"""Asynchronous tuners and policies that watch, carried out: asha (promote, stop, speculate), hyperband (in turn, side by
side) and hypersched with real resizes, on a mock cloud with real sshd nodes and on this machine; and killed with SIGKILL
on the way. A trial is a loop in sh that keeps the contract: it refuses a wrong checkpoint, and gives way when asked."""
import argparse
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
from cloud_case import CloudCase  # noqa: E402: its folder is known only here
from real_run import ONE_GPU, profile  # noqa: E402


JOB = """name: async
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {%s}
policy: %s
trial: {gpus: {min: 1, max: 2}, timeout: 20s}
run: sh async.sh
checkpoint: {dir: ckpt}
resources: {infra: [mock/us-east-1], instance_types: [two.gpus], max_nodes: 2}
confidence: 0.5
"""

TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
[ "$epoch" -eq "$RB_RESOURCE_START" ] || { echo "wrong checkpoint: $epoch, expected $RB_RESOURCE_START"; exit 9; }
echo "rung $RB_RUNG, $RB_RESOURCE_START to $RB_RESOURCE_END, on $CUDA_VISIBLE_DEVICES"
save() { echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"; }
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep "${EPOCH_S:-0.1}"
    echo "epoch=$epoch val_acc=0.$((1000 + RB_TRIAL_ID * 2741 % 4000 + epoch * 4000 / (epoch + 8)))"
    [ ! -e "$RB_PREEMPT_FILE" ] || { save; exit 75; }
done
save
"""

TWO_GPUS = "{gpus: 2, nodes: 1, speedup: 1.9}"

ASHA = "type: asha, rule: %s, num_trials: 8, min_resource: 1, max_resource: %d, eta: 2"
HYPERBAND = "type: hyperband, min_resource: 1, max_resource: 4, eta: 2, brackets_run: %s"
UNTIL_DEADLINE = "type: asha, num_trials: 12, min_resource: 2, max_resource: 500, eta: 2"


def metric(trial, epoch):
    return float("0.%d" % (1000 + trial * 2741 % 4000 + epoch * 4000 // (epoch + 8)))


class AsyncRuns(CloudCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.crash.write("work/async.sh", TRAIN)
        cls.crash.write("work/profile.yaml", profile("crash", 0.06, ONE_GPU, TWO_GPUS))

    # --- tools

    def plan(self, scheduler, policy="elastic", more="deadline: 10m\n", change=lambda text: text):
        name = self.id().split(".")[-1]
        job = self.crash.write("work/%s.yaml" % name, change(JOB % (scheduler, policy) + more))
        return self.crash.make_plan(job, name + ".json")

    def carry_out(self, plan, die_after=0, expected=metric, **env):
        """To the end, killed at that write (0: never) and resumed. Returns the report and the rows of the starts."""
        self.state = os.path.join(self.folder, "%s-%d" % (self.id().split(".")[-1], die_after))
        state = ["--state-dir", self.state]
        if die_after:
            self.crash.run(["rbrun", plan, "--json", *state], expect=-signal.SIGKILL, RB_TEST_DIE_AFTER=str(die_after),
                           **env)
        done = self.crash.run(["rbrun", "resume", "--json", *state] if die_after else ["rbrun", plan, "--json", *state],
                              **env)
        report = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(report["leak_check"]["instances_left"], 0)
        self.assertEqual(report["faults"], [])
        self.writes = int(re.search(r"(\d+) journal writes", done.stderr).group(1))
        tasks = self.check_journal(report, expected)
        self.assertIn("0 orders differ", self.crash.run(["rbrun", "replay", *state]).stdout)
        return report, tasks

    def check_journal(self, report, expected):
        """Every line of every start that left a checkpoint stands in the journal, and no start is left open."""
        db = sqlite3.connect(os.path.join(self.state, report["run"], "journal.db"))
        db.row_factory = sqlite3.Row
        events = [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]
        tasks = [dict(row) for row in db.execute("SELECT * FROM task ORDER BY trial, start")]
        db.close()
        reported = {(e["trial"], e["resource"]): e["metric"] for e in events if e["event"] == "report"}
        for t in tasks:
            self.assertIn(t["state"], ("saved", "killed", "ended"))
            if t["state"] != "saved":
                continue
            midway = re.search(r"\.at-(\d+)\.tar$", t["checkpoint"])
            self.assertEqual(t["exit_code"], 75 if midway else 0)
            t["saved_at"] = int(midway.group(1)) if midway else t["resource_end"]
            for epoch in range(t["resource_start"] + 1, t["saved_at"] + 1):
                self.assertIn((t["trial"], epoch), reported)
                if expected:
                    self.assertEqual(reported[t["trial"], epoch], expected(t["trial"], epoch), (t["trial"], epoch))
        for t in report["trials"]:
            self.assertNotIn(t["state"], ("running", "waiting", "failed"))
        return tasks

    def log(self, report, task):
        path = os.path.join(self.state, report["run"], "logs",
                            "trial-%04d.stage-%d.attempt-%d.log" % (task["trial"], task["stage"], task["start"]))
        with open(path, encoding="utf-8") as f:
            return f.read()

    def check_cloud(self, report):
        self.crash.check_cloud(report)

    # --- tuners

    def test_asha_promotes_from_checkpoints(self):
        report, tasks = self.carry_out(self.plan(ASHA % ("promote", 4)))
        self.check_cloud(report)
        self.assertEqual({t["exit_code"] for t in tasks}, {0})
        promoted = [t for t in tasks if t["stage"] > 0]
        self.assertGreaterEqual(len(promoted), 3)
        for t in promoted:
            self.assertEqual((t["resource_start"], t["resource_end"]), {1: (1, 2), 2: (2, 4)}[t["stage"]])
            self.assertIn("rung %d, %d to %d, on " % (t["stage"], t["resource_start"], t["resource_end"]),
                          self.log(report, t))
        self.assertEqual(len(report["trials"]), 8)
        levels = [s["trials"] for s in report["stages"]]
        self.assertEqual(levels, [8, sum(t["stage"] == 1 for t in tasks), sum(t["stage"] == 2 for t in tasks)])
        status = self.crash.run(["rbrun", "status", "--state-dir", self.state]).stdout
        self.assertIn("level 2 of 0-2  %d stopped, %d completed  val_acc " % (8 - levels[2], levels[2]), status)

    def test_asha_stops_for_good(self):
        report, tasks = self.carry_out(self.plan(ASHA % ("stop", 4)))
        self.check_cloud(report)
        self.assertEqual(len(tasks), 8)  # no one starts twice
        killed = {t["trial"] for t in tasks if t["state"] == "killed"}
        self.assertTrue(killed)
        self.assertEqual(killed, {t["trial"] for t in report["trials"] if t["state"] == "stopped"})
        self.assertEqual({t["stage"] for t in tasks}, {0})  # several rungs without a restart

    def test_asha_speculates(self):
        report, tasks = self.carry_out(self.plan(ASHA % ("speculate", 8)))
        self.check_cloud(report)
        gave_way = [t for t in tasks if t["exit_code"] == 75]
        self.assertTrue(gave_way)
        self.assertEqual({t["state"] for t in gave_way}, {"saved"})
        self.assertEqual(report["warnings"], [])

    def test_hyperband_in_turn(self):
        report, tasks = self.carry_out(self.plan(HYPERBAND % "in_turn"))
        self.check_cloud(report)
        self.assertEqual({t["stage"] for t in tasks}, set(range(6)))

    def test_hyperband_side_by_side(self):
        report, tasks = self.carry_out(self.plan(HYPERBAND % "side_by_side"))
        self.check_cloud(report)
        self.assertEqual({t["stage"] for t in tasks}, {0, 1, 2})
        self.assertEqual({t["resource_end"] for t in tasks}, {1, 2, 4})

    # --- until the deadline

    def until_deadline(self, seconds=12):
        return self.plan(UNTIL_DEADLINE, "hypersched", "deadline: %ds\npolicy_options: {resize_interval: 2}\n" % seconds)

    def test_hypersched_resizes_and_the_best_at_the_deadline_wins(self):
        report, tasks = self.carry_out(self.until_deadline())
        self.check_cloud(report)
        self.assertTrue(report["ended_at_deadline"])
        grown = [t for t in tasks if t["state"] == "saved" and t["resource_start"] > 0 and
                 re.search(r"on \d,\d$", self.log(report, t), re.M)]
        self.assertTrue(grown, "no trial was resized")
        best = report["best"]
        self.assertEqual(best["metric"], max(t["metric"] for t in report["trials"]))
        model = os.path.join(self.folder, "model")
        self.crash.run(["rbrun", "fetch", report["run"], "--best", model, "--state-dir", self.state])
        with open(os.path.join(model, "epoch"), encoding="utf-8") as f:
            epoch = int(f.read())
        self.assertEqual(metric(best["trial"], epoch), best["metric"])  # that of its last report
        left = os.listdir(os.path.join(self.state, report["run"], "checkpoints", "trial-%04d" % best["trial"]))
        self.assertEqual(left, [os.path.basename(best["checkpoint"])])  # earlier ones were dropped

    def test_lookahead_acts_on_forecasts_and_its_replay_needs_none(self):
        plan = self.plan(UNTIL_DEADLINE, "lookahead", "deadline: 10s\n")
        report, _ = self.carry_out(plan)  # replays it too
        self.check_cloud(report)
        self.assertTrue(report["ended_at_deadline"])
        with open(os.path.join(self.state, report["run"], "events.jsonl"), encoding="utf-8") as f:
            self.assertIn('"forecast"', f.read())

    def test_digits_are_learnt(self):
        """The network of examples/digits, on scikit-learn's digits."""
        if subprocess.run(["/usr/bin/python3", "-c", "import numpy, sklearn"], capture_output=True, check=False).returncode:
            self.skipTest("/usr/bin/python3 has no scikit-learn")
        shutil.copy(os.path.join(here, "..", "..", "..", "examples", "digits", "train.py"), os.path.join(self.folder, "work"))
        train = "/usr/bin/python3 train.py --epoch-seconds 0.2 --startup-seconds 0 $RB_ARGS"
        plan = self.plan(UNTIL_DEADLINE, "hypersched", "deadline: 14s\npolicy_options: {resize_interval: 2}\n",
                         lambda text: text.replace("sh async.sh", train).replace(
                             "{lr: {min: 0.1, max: 0.9}}", "{lr: {distribution: log_uniform, min: 0.0001, max: 0.5}}"))
        report, tasks = self.carry_out(plan, expected=None)
        self.check_cloud(report)
        self.assertTrue([t for t in tasks if t["exit_code"] == 75])
        self.assertTrue([t for t in tasks if t["state"] == "saved" and t["resource_start"] > 0])  # went on from there
        self.assertGreater(report["best"]["metric"], 0.8)
        self.assertTrue(report["best"]["checkpoint"])

    # --- killed

    def test_killed_while_trials_give_way(self):
        plan = self.plan(ASHA % ("speculate", 8))
        report, _ = self.carry_out(plan)
        self.check_cloud(report)
        for i in range(4):
            report, _ = self.carry_out(plan, 8 + i * (self.writes - 16) // 4)
            self.check_cloud(report)
        self.assertEqual([i["id"] for i in self.cloud.ledger()["instances"] if i["state"] in ("pending", "running")], [])

    def test_killed_before_the_deadline(self):
        report, _ = self.carry_out(self.until_deadline(10), 60)
        self.check_cloud(report)
        self.assertTrue(report["ended_at_deadline"])

    # --- this machine

    def test_this_machine_as_a_node(self):
        def here_instead(text):
            return text.replace("[mock/us-east-1]", "[local]").replace(", instance_types: [two.gpus], max_nodes: 2", "")
        profile = os.path.join(self.folder, "work", "profile.yaml")
        with open(profile, encoding="utf-8") as f:
            text = f.read()
        self.crash.write("work/profile.yaml", text.replace("accelerator: T4", "accelerator: CPU"))
        self.crash.env["RB_LOCAL_SLOTS"] = "2"
        try:
            plan = self.plan(ASHA % ("speculate", 8), change=here_instead)
        finally:
            self.crash.write("work/profile.yaml", text)
        _, tasks = self.carry_out(plan)
        self.assertTrue([t for t in tasks if t["exit_code"] == 75])
        self.carry_out(plan, 20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    CloudCase.bin_dir = os.path.abspath(options.bin)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
