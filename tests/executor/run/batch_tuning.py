"""examples/goodput on this machine: planned and run; its batch sizes are tuned from what the
trials report. Every start is held against the events before it: the batch keeps the job's limits, the learning-rate
factor is AdaScale's gain from the trial's own last report, and another controller that comes back makes the same choices."""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BIN = None
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PYTHON = "/usr/bin/python3"  # the example's
INITIAL, LARGEST, PER_GPU = 16, 1024, 256  # trial.batch of the example

# Planned with this: on a busy host two reports may arrive at once, which no plan could be made of.
PROFILE = """format: rb-profile/1
name: goodput
training: [{accelerator: CPU, base_s: 0.4, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.6}]}]
noise: {between: 1.0, within: 1.0}
startup_s: 0.3
checkpoint_s: 0.1
provisioning: [{infra: "*", instance_type: "*", market: "*", queue_s: 0, init_s: 0.3, capacity_failure: 0}]
"""

BATCH_LINE = re.compile(r"batch (\d+): (\d+) GPUs, (\d+) samples, (\d+) more gradients a step; learning rate times (\S+)")


class BatchTuning(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="rb-batch-")
        self.folder = self.temporary.name
        self.job = os.path.join(self.folder, "job.yaml")
        for name in ("job.yaml", "train.py"):
            shutil.copy(os.path.join(ROOT, "examples", "goodput", name), self.folder)
        self.profile = os.path.join(self.folder, "profile.yaml")
        with open(self.profile, "w", encoding="utf-8") as f:
            f.write(PROFILE)
        self.env = dict(os.environ, RB_DB=os.path.join(self.folder, "profiles.db"), NO_COLOR="1")

    def tearDown(self):
        self.temporary.cleanup()

    def run_command(self, *words, expect=0, **env):
        done = subprocess.run([os.path.join(BIN, words[0]), *words[1:]], env=dict(self.env, **env), text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def plan(self, *options):
        plan = os.path.join(self.folder, "plan.json")
        done = self.run_command("rbplan", self.job, "--planner", "static", "--seed", "1", "-o", plan, "--profile-file",
                                self.profile, *options)
        return plan, done.stdout + done.stderr

    def state(self):
        return os.path.join(self.folder, "state")

    def check_run(self, state):
        """Of each start, in order: (trial, total batch, learning-rate factor)."""
        (run,) = [d for d in glob.glob(os.path.join(state, "*")) if os.path.isdir(d)]
        with open(os.path.join(run, "events.jsonl"), encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
        reports = [e for e in events if e["event"] == "report"]
        self.assertTrue(reports)
        for e in reports:
            self.assertGreater(e["step_s"], 0)
            self.assertGreater(e["grad_var"], 0)
            self.assertGreaterEqual(e["grad_sqr"], 0)
        starts = []
        for path in sorted(glob.glob(os.path.join(run, "logs", "trial-*.log")), key=self.start_of):
            trial, stage, _ = self.start_of(path)
            with open(path, encoding="utf-8") as f:
                line = BATCH_LINE.search(f.read())
            if line:  # one that was killed may have said nothing yet
                starts.append((trial, stage, *self.check_start(trial, stage, line, reports)))
        return starts, reports

    @staticmethod
    def start_of(path):
        return tuple(int(n) for n in re.search(r"trial-(\d+)\.stage-(\d+)\.attempt-(\d+)\.log$", path).groups())

    def check_start(self, trial, stage, line, reports):
        total, gpus, per_gpu, more = (int(n) for n in line.groups()[:4])
        factor = float(line.group(5))
        self.assertEqual(total, gpus * per_gpu * (more + 1))
        self.assertTrue(INITIAL <= total <= LARGEST and per_gpu <= PER_GPU, line.group(0))
        before = [e for e in reports if e["trial"] == trial and e["resource"] <= (1 << stage) // 2]
        if not before:
            self.assertEqual((total, factor), (INITIAL, 1.0))
            return total, factor
        sqr, var, scale = before[-1]["grad_sqr"], before[-1]["grad_var"], total / INITIAL
        self.assertAlmostEqual(factor / ((var + sqr) / (var / scale + sqr)), 1, delta=1e-4)
        return total, factor

    def test_measuring_times_larger_batches_too(self):
        done = self.run_command("rbprofile", "train", self.job, "--gpus", "1", "--resource", "2", "--configs", "1",
                                "--batches", "2", "--json")
        runs = json.loads(done.stdout)["runs"]
        self.assertEqual([(r["batch"]["per_gpu"], r["batch"]["probe"]) for r in runs],
                         [(INITIAL, False), (4 * INITIAL, True), (16 * INITIAL, True)])
        for r in runs:
            self.assertTrue(r["ok"])
            self.assertGreater(r["batch"]["step_s"], 0)
            self.assertGreater(r["batch"]["grad_var"], 0)
            self.assertIsNone(r["batch"]["sync_s"])  # one GPU has nothing to synchronise

    def test_planned_and_run(self):
        (plan, said), state = self.plan(), self.state()
        self.assertIn("what tuning it (trial.batch) gains", said)
        done = self.run_command("rbrun", plan, "--json", "--state-dir", state)
        report = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((report["outcome"], report["faults"]), ("complete", []))
        starts, _ = self.check_run(state)
        self.assertEqual(len(starts), 8 + 4 + 2 + 1)
        self.assertTrue(all(total == INITIAL for _, stage, total, _ in starts if stage == 0))
        self.assertTrue(any(total > INITIAL for _, stage, total, _ in starts if stage > 0), starts)
        self.assertIn(" 0 orders differ", self.run_command("rbrun", "replay", "--state-dir", state).stdout)

    def test_a_controller_that_comes_back_makes_the_same_choices(self):
        (plan, _), state = self.plan("--set", "scheduler.num_trials=4"), self.state()
        self.run_command("rbrun", plan, "--json", "--state-dir", state, expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="30")
        done = self.run_command("rbrun", "resume", "--json", "--state-dir", state)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["outcome"], "complete")
        starts, _ = self.check_run(state)
        self.assertTrue(any(total > INITIAL for _, _, total, _ in starts))
        self.assertIn(" 0 orders differ", self.run_command("rbrun", "replay", "--state-dir", state).stdout)

    def test_without_a_batch_in_the_job_nothing_is_reported(self):
        with open(self.job, encoding="utf-8") as f:
            text = f.read()
        with open(self.job, "w", encoding="utf-8") as f:
            f.write(re.sub(r"\n  batch: .*", "", text).replace("run: ", "run: env | grep ^RB_ | sort; "))
        (plan, said), state = self.plan("--set", "scheduler.num_trials=2"), self.state()
        self.assertNotIn("trial.batch", said)
        self.run_command("rbrun", plan, "--json", "--state-dir", state)
        logs = glob.glob(os.path.join(state, "*", "logs", "trial-*.log"))
        self.assertEqual(len(logs), 2 + 1 + 1)
        for path in logs:
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.assertIn("RB_TRIAL_ID=", text)
            for name in ("RB_BATCH_SIZE", "RB_BATCH_PER_GPU", "RB_ACCUM_STEPS", "RB_LR_FACTOR"):
                self.assertNotIn(name, text)


def main():
    global BIN
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    args, rest = p.parse_known_args()
    BIN = args.bin
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
        print("skipped: %s has no numpy" % PYTHON)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
