#!/usr/bin/env python3
"""Training scripts that fail, on this machine: who takes the place of a promoted trial, how the run ends, what it says, with
which exit code, and what report, status, list, page and pool say of it. Usage: failing_scripts.py --bin BUILD_DIR [TEST]..."""
import argparse
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from real_run import RealRun, profile  # noqa: E402

BIN = None

JOB = """name: failing
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {%s, min_resource: 1, max_resource: 9, eta: 3, unit: epoch}
trial: {gpus: 1, timeout: 1m, max_restarts: %d}
profile: fast
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [local]}
"""

# The last trials are the best. FAIL is run before each epoch, with its number in $e.
TRAIN = """e=$RB_RESOURCE_START
while [ $e -lt $RB_RESOURCE_END ]; do
    e=$((e + 1))
    %s
    echo "epoch=$e val_acc=0.$((10 + RB_TRIAL_ID * 5 + e))"
done
echo weights > "$RB_CHECKPOINT_DIR/model"
"""

SHA = "type: sha, num_trials: 9"
EVIL = r"""printf 'pid %s at %s\n\033[31mModuleNotFoundError: <b>torch</b>\n' $$ "$(date)" >&2; exit 3"""


class Failing(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="rb-failing-")
        self.here = RealRun(BIN, self.top, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="4")
        self.here.write("profile.yaml", profile("fast", 0.05, accelerator="CPU", startup_s=0.05, checkpoint_s=0.05,
                                                queue_s=0, init_s=0))
        self.say("rbprofile", "import", "profile.yaml")

    def tearDown(self):
        shutil.rmtree(self.top)

    def say(self, *argv, **more):
        return self.here.say(*argv, **more)

    def run_with(self, fail, scheduler=SHA, restarts=1, expect=0):
        """Plans and runs a script; its report, and what it said on stderr."""
        self.here.write("train.sh", TRAIN % fail)
        self.here.write("job.yaml", JOB % (scheduler, restarts))
        self.say("rbplan", "-o", "plan.json", "job.yaml", "--time-limit", "2s")
        done = self.say("rbrun", "plan.json", "--json", expect=expect)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        report = [d for d in lines if d.get("format") == "rb-report/1"]
        errors = [d for d in lines if d.get("format") == "rb-error/1"]
        self.assertEqual(len(report), 1)
        self.assertEqual(len(errors), 1 if expect else 0)
        self.assertEqual(report[0]["leak_check"]["instances_left"], 0)
        self.assertIn("0 orders differ", self.say("rbrun", "replay").stdout)
        return report[0], errors[0] if errors else None, done.stderr

    def trained_to(self, report, resource):
        return sorted(t["trial"] for t in report["trials"] if t["resource"] >= resource and t["state"] != "failed")

    def test_the_next_best_takes_the_place(self):
        report, _, _ = self.run_with('[ $RB_TRIAL_ID != 8 ] || [ $e -lt 5 ] || { echo "CUDA error $$"; exit 1; }')
        self.assertEqual((report["outcome"], report["best"]["trial"]), ("complete", 7))
        self.assertEqual(report["best"]["remark"], None)
        states = {t["trial"]: t["state"] for t in report["trials"]}
        self.assertEqual((states[8], states[7], states[6]), ("failed", "completed", "stopped"))
        # Twice in the same way: not a third time.
        self.assertEqual([t["restarts"] for t in report["trials"] if t["trial"] == 8], [2])
        self.assertTrue(any("CUDA error" in f["text"] for f in report["faults"]))

    def test_the_third_takes_a_place_in_the_middle(self):
        report, _, _ = self.run_with("[ $RB_TRIAL_ID -lt 7 ] || [ $RB_RUNG != 1 ] || exit 1", restarts=0)
        self.assertEqual((report["outcome"], report["best"]["trial"]), ("complete", 6))
        self.assertEqual(self.trained_to(report, 3), [4, 5, 6]) # 6 was promoted, 5 and 4 took the places of 8 and 7

    def test_without_any_left_it_is_incomplete(self):
        report, error, _ = self.run_with("[ $RB_RUNG != 2 ] || [ $e -lt 6 ] || { echo odd; exit 1; }", expect=8)
        self.assertEqual((report["outcome"], error["code"], error["number"]), ("incomplete", "incomplete", "RB4030"))
        self.assertIn("no trial reached epoch 9", error["message"])
        self.assertEqual((report["best"]["trial"], report["best"]["remark"]), (5, None)) # 6, 7 and 8 have failed
        self.assertTrue(os.path.exists(os.path.join(self.run_dir(), report["best"]["checkpoint"])))
        self.assertEqual(json.loads(self.say("rbrun", "status", "--json").stdout)["state"], "incomplete")
        self.assertIn("incomplete, no trial was trained to the end", self.say("rbrun", "status").stdout)
        self.assertNotIn("can be resumed", self.say("rbrun", "status").stdout)
        self.assertEqual([r["outcome"] for r in json.loads(self.say("rbrun", "list", "--json").stdout)["runs"]], ["incomplete"])
        self.say("rbrun", "report", "--html", "report.html")
        with open(os.path.join(self.top, "report.html"), encoding="utf-8") as f:
            self.assertIn('<p class="summary failed" id="summary">Incomplete, no trial was trained to the end', f.read())

    def run_dir(self):
        (run,) = [d for d in os.walk(self.top) if "journal.db" in d[2]]
        return run[0]

    def test_only_failed_trials_have_a_result(self):
        report, error, _ = self.run_with("[ $e -lt 6 ] || exit 1", scheduler="type: random, num_trials: 2", expect=8)
        self.assertEqual((report["outcome"], error["code"]), ("incomplete", "incomplete"))
        self.assertEqual(report["best"]["remark"], "it reported this and then failed; it saved no checkpoint")
        self.assertIn("it reported this and then failed; it saved no checkpoint", self.say("rbrun", "report").stdout)

    def test_a_broken_script_ends_the_run(self):
        report, error, stderr = self.run_with(EVIL, restarts=3, expect=9)
        self.assertEqual((report["outcome"], report["best"]), ("stopped: broken_script", None))
        self.assertEqual((error["code"], error["number"]), ("broken_script", "RB4210"))
        self.assertIn("3 trials failed in the same way before any trial reported: ended with exit code 3", error["message"])
        self.assertIn("ModuleNotFoundError: <b>torch</b>", error["message"])
        self.assertIn("$0.00 was spent", error["message"])
        self.assertNotIn("\x1b", error["message"] + stderr)
        self.assertLessEqual(sum(t["restarts"] for t in report["trials"]), 6)
        self.assertIn("stopped, its script is broken", self.say("rbrun", "status").stdout)

    def test_a_script_that_says_nothing_is_broken_too(self):
        report, error, _ = self.run_with("true; e=$RB_RESOURCE_END; break", scheduler="type: asha, num_trials: 30", expect=9)
        self.assertEqual(report["outcome"], "stopped: broken_script")
        self.assertIn("ended with 0 but never reported epoch=", error["message"])

    def test_resumed_it_counts_again(self):
        mended = os.path.join(self.top, "mended")
        self.run_with("[ -e %s ] || exit 4" % mended, expect=9, scheduler="type: random, num_trials: 4")
        self.assertIn("start a new run", self.say("rbrun", "status").stdout)
        self.say("rbrun", "resume", "failing", expect=9)
        self.here.write("mended", "") # what the script had missed was not in its folder
        done = self.say("rbrun", "resume", "failing", "--json")
        report = [json.loads(line) for line in done.stdout.splitlines()][-1]
        self.assertEqual(report["outcome"], "complete")

    def test_luck_that_is_merely_bad_does_not_end_it(self):
        # Two fail once each, in the same way.
        report, _, _ = self.run_with('[ $RB_ATTEMPT != 0 ] || [ $RB_RUNG != 0 ] || [ $RB_TRIAL_ID -gt 1 ] || exit 1', restarts=3)
        self.assertEqual((report["outcome"], report["best"]["trial"]), ("complete", 8))

    def test_processes_that_are_killed_are_not_its_fault(self):
        report, error, _ = self.run_with("kill -9 $$", restarts=1, expect=8, scheduler="type: random, num_trials: 3")
        self.assertEqual((report["outcome"], report["best"], error["number"]), ("incomplete", None, "RB4030"))

    def test_older_journals_replay_by_their_rules(self):
        self.run_with("[ $RB_RUNG != 2 ] || exit 1", restarts=0, expect=8)
        with sqlite3.connect(os.path.join(self.run_dir(), "journal.db")) as db:
            ((first,),) = db.execute("SELECT json FROM event WHERE seq = 1").fetchall()
            self.assertEqual(json.loads(first)["rules"], 1)
            # As an older version would have written it: without the replacements and their ends.
            db.execute("UPDATE event SET json = ? WHERE seq = 1", (first.replace(',"rules":1', ""),))
            ends = [seq for seq, text in db.execute("SELECT seq, json FROM event ORDER BY seq") if '"failed"' in text]
            db.execute("DELETE FROM event WHERE seq > ?", (ends[0],))
        done = self.say("rbrun", "replay").stdout
        self.assertIn("0 orders differ", done)
        self.assertIn("complete", done)
        self.assertNotIn("incomplete", done)

    def test_measuring_stops_at_once(self):
        self.here.write("train.sh", TRAIN % EVIL)
        self.here.write("job.yaml", (JOB % (SHA, 1)).replace("gpus: 1,", "gpus: {sizes: [1, 2, 4]},"))
        done = self.say("rbprofile", "train", "job.yaml", "--infra", "local", "--resource", "3", expect=9)
        self.assertEqual(len(re.findall("the script printed: .*ModuleNotFoundError", done.stderr)), 1)
        self.assertIn("[RB4210]", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        self.assertLessEqual(done.stderr.count(" failed: exit code 3"), 4)

    def test_a_job_of_a_pool_ends_alone(self):
        for name, fail in (("good", "true"), ("bad", EVIL)):
            self.here.write(name + "/train.sh", TRAIN % fail)
            self.here.write(name + "/job.yaml", (JOB % (SHA, 2)).replace("name: failing", "name: " + name))
        self.here.write("pool.yaml", "format: rb-pool/1\nname: pool\nresources: {infra: [local], max_nodes: 1}\n"
                                     "policy: goodput\ninterval: 1s\nrestart: 1s\njobs: [bad/job.yaml, good/job.yaml]\n")
        done = self.say("rbrun", "--pool", "pool.yaml", "--json", expect=9)
        pool = [d for d in map(json.loads, done.stdout.splitlines()) if d.get("format") == "rb-pool-report/1"][0]
        self.assertEqual({j["job"]: j["outcome"] for j in pool["jobs"]}, {"good": "complete", "bad": "stopped: broken_script"})
        self.assertEqual(pool["outcome"], "not complete")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    BIN = args.bin
    unittest.main(argv=[sys.argv[0], *args.tests])
