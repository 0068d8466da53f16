#!/usr/bin/env python3
"""Runs from Python: on a mock cloud end to end, on this machine with rubberband_trial in the training script, stopped and resumed,
left behind by a Python that ends, refused. Usage: runs.py --bin BUILD --root SOURCE [TEST]..."""
import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from unittest import mock

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "cli"), os.path.join(here, "..", "mcp")]
from mock_cloud import MockCloud  # noqa: E402
from person import type_at  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

BIN = ROOT = rubberband = None

JOB = """name: python
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {%s, unit: epoch}
trial: {gpus: 1, timeout: 1m, max_restarts: 0}
run: %s
resources: {%s, max_nodes: 1}
deadline: 10m
confidence: 0.5
"""
HALVING = "type: sha, num_trials: 4, min_resource: 1, max_resource: 4, eta: 2"
PAUSING = "type: asha, rule: speculate, num_trials: 8, min_resource: 1, max_resource: 8, eta: 2"
SHELL = "for e in $(seq $((RB_RESOURCE_START + 1)) $RB_RESOURCE_END); do sleep 0.05; echo epoch=$e val_acc=0.$e; done"

# It continues from the checkpoint, or ends with 9 where that is another than the one it should have.
TRAIN = """import json, os, time
import rubberband_trial as trial
lr, resume, folder = trial.params()["lr"], trial.resume_dir(), trial.checkpoint_dir()
state = json.load(open(resume + "/state.json")) if resume else {"epoch": 0, "starts": 0}
assert state["epoch"] == trial.start, state
for epoch in range(trial.start + 1, trial.end + 1):
    time.sleep(0.05)
    trial.report(epoch, val_acc=epoch * lr / 10)
    json.dump({"epoch": epoch, "starts": state["starts"] + 1}, open(folder + "/state.json", "w"))
    if trial.should_stop():
        trial.give_way()
"""

# The stand-in for Hugging Face's Trainer, with the callback; a step takes a while, so that it gives way in the middle of an epoch.
TRAINER = """import glob, time
import rubberband_trial as trial
from transformers import Trainer, TrainerCallback

class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.03)

saved = glob.glob(trial.resume_dir() + "/checkpoint-*") if trial.resume_dir() else []
trainer = Trainer(trial.checkpoint_dir() or "out", 3, 8, [Slow(), trial.hf_callback()], learning_rate=trial.params()["lr"])
trainer.train(max(saved, key=lambda path: int(path.split("-")[-1])) if saved else None)
"""


class Case(unittest.TestCase):
    """A folder with a profile, an environment for rbrun."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rb-python-")
        self.here = RealRun(BIN, self.folder, RB_LOCAL_SLOTS="2", RB_BIN=BIN, PYTHONDONTWRITEBYTECODE="1",
                            PYTHONPATH=os.path.join(BIN, "python"), XDG_STATE_HOME=os.path.join(self.folder, "state"))
        for accelerator in ("CPU", "T4"):
            self.here.write(accelerator + ".yaml", profile("fast", 0.06, accelerator=accelerator, queue_s=0.1, init_s=0.2))
        patch = mock.patch.dict(os.environ, self.here.env, clear=True)
        patch.start()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(patch.stop)

    def refused(self, number, begin):
        with self.assertRaises(rubberband.Error) as failed:
            begin()
        self.assertEqual(failed.exception.number, number, failed.exception)

    def plan_here(self, run=SHELL, scheduler=HALVING, changes=None):
        job = self.here.write("job.yaml", JOB % (scheduler, json.dumps(run), "infra: [local]"))
        return rubberband.load(job, changes).plan(profile=os.path.join(self.folder, "CPU.yaml"), planner="static",
                                         prices=rubberband.Prices(local_slots=2))


class OnThisMachine(Case):
    def test_a_run_with_the_trial_helper(self):
        self.here.write("train.py", TRAIN)
        run = rubberband.run(self.plan_here("%s train.py" % sys.executable, PAUSING))
        report = run.wait(timeout=90)
        self.assertEqual((report.outcome, report.run), ("complete", run.id))
        best = report.best
        self.assertAlmostEqual(best.metric, 8 * best.params.lr / 10)
        self.assertEqual(best.params.lr, max(t.params.lr for t in report.trials))
        self.check_that_some_gave_way(run)
        self.here.say("rbrun", "fetch", run.id, "--best", "best")
        with open(os.path.join(self.folder, "best", "state.json")) as f:
            self.assertEqual(json.load(f)["epoch"], 8)

    def check_that_some_gave_way(self, run):
        with open(os.path.join(self.folder, "state", "rubberband", "runs", run.id, "events.jsonl")) as f:
            outcomes = [json.loads(line).get("outcome") for line in f]
        self.assertIn("yielded", outcomes)
        self.assertNotIn("failed", outcomes)

    def test_a_run_with_the_callback_of_a_trainer(self):
        self.here.write("train.py", TRAINER)
        os.environ["PYTHONPATH"] += ":" + os.path.join(here, "frameworks")
        run = rubberband.run(self.plan_here("%s train.py" % sys.executable, PAUSING, {"metric": {"name": "eval_loss", "goal": "minimize"}}))
        report = run.wait(timeout=90)
        self.assertEqual((report.outcome, report.best.metric), ("complete", report.best.params.lr / 8))
        self.check_that_some_gave_way(run)
        self.here.say("rbrun", "fetch", run.id, "--best", "best")
        self.assertIn("checkpoint-24", os.listdir(os.path.join(self.folder, "best")))

    def test_stopped_and_resumed(self):
        slow = self.plan_here(SHELL.replace("0.05", "0.6"))
        run = rubberband.run(slow)
        status = run.status()
        self.assertEqual((status.state, status.run, status.format), ("running", run.id, "rb-status/1"))
        self.assertEqual((status.deadline, status["deadline"]), (timedelta(minutes=10),) * 2)
        self.assertEqual(status.spent, Decimal(0))
        self.assertIsInstance(status.spent, Decimal)
        self.assertEqual(status.to_dict()["deadline_us"], 600000000)
        with self.assertRaises(subprocess.TimeoutExpired):
            run.wait(timeout=0.01)
        with self.assertRaisesRegex(AttributeError, "it has format, run, state"):
            status.nothing  # pylint: disable=pointless-statement
        self.assertEqual(run.stop().outcome, "stopped: user")
        self.assertEqual(run.wait(timeout=60).outcome, "stopped: user")
        again = rubberband.resume(run.id, deadline="+1h")
        self.assertEqual(again.id, run.id)
        self.assertEqual(rubberband.Run(run.id).wait(timeout=60).outcome, "complete")  # as one who has only the id
        report = again.wait(timeout=60)
        self.assertEqual(report.outcome, "complete")
        self.assertLess(abs(report.started_at - datetime.now(timezone.utc)), timedelta(hours=1))
        self.assertIsInstance(report.time.predicted.p95, timedelta)
        self.assertIsInstance(report.cost.by.train, Decimal)

    def test_a_run_outlives_the_python_that_began_it(self):
        self.plan_here(SHELL.replace("0.05", "0.2")).save(os.path.join(self.folder, "plan.json"))
        code = "import rubberband; print(rubberband.run('plan.json', state_dir='runs').id)"
        began = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=self.folder, check=True)
        run = rubberband.Run(began.stdout.strip(), state_dir=os.path.join(self.folder, "runs"))
        self.assertEqual(run.status().state, "running")
        self.assertEqual(run.wait(timeout=60).outcome, "complete")

    def test_a_broken_script_is_an_error_with_its_report(self):
        run = rubberband.run(self.plan_here("echo no module >&2; exit 3"))
        with self.assertRaises(rubberband.Error) as failed:
            run.wait(timeout=60)
        self.assertEqual((failed.exception.code, failed.exception.exit_code), ("broken_script", 9))
        self.assertEqual(failed.exception.report.outcome, "stopped: broken_script")
        self.assertIn("no module", str(failed.exception))

    def test_what_is_refused(self):
        plan = self.plan_here()
        for begin, number in ((lambda: rubberband.run(plan, approval="none.json"), "RB1101"),
                              (lambda: rubberband.run("none.json"), "RB1101"), (lambda: rubberband.resume("none"), "RB4001"),
                              (lambda: rubberband.Run("none").status(), "RB4001"), (lambda: rubberband.Run("none").wait(), "RB4001"),
                              (lambda: rubberband.run(plan, budget="much"), "RB1119")):
            self.refused(number, begin)
        with open(os.path.join(self.folder, "job.yaml")) as f:
            parsed = rubberband.parse(f.read())
        with self.assertRaisesRegex(ValueError, "plan.save"):
            rubberband.run(parsed.plan(profile=os.path.join(self.folder, "CPU.yaml"), prices=rubberband.Prices(local_slots=2)))


class OnACloud(Case):
    def setUp(self):
        super().setUp()
        self.cloud = MockCloud(BIN, self.folder)
        self.cloud.__enter__()
        self.addCleanup(self.cloud.__exit__)
        self.here.on(self.cloud)
        os.environ.update(self.here.env)

    def plan_there(self, infra, prices, approval="none"):
        job = self.here.write("work/job.yaml", JOB % (HALVING, json.dumps(SHELL), "infra: [%s], instance_types: [two.gpus]" % infra))
        return rubberband.load(job, {"approval": approval}, budget="$5").plan(profile=os.path.join(self.folder, "T4.yaml"), prices=prices)

    def test_an_approved_run_on_a_mock_cloud(self):
        plan = self.plan_there("mock/us-east-1", self.cloud.prices, approval="required")
        plan.save(os.path.join(self.folder, "plan.json"))
        approval = os.path.join(self.folder, "approval.json")
        code, shown = type_at([os.path.join(BIN, "rbplan"), "approve", "plan.json", "--max-cost", "5", "--for", "1h", "-o", approval], "5",
                              self.here.env, self.folder)
        self.assertEqual(code, 0, shown)
        self.refused("RB4031", lambda: rubberband.run(plan, yes=True))
        run = rubberband.run(plan, approval=approval)
        report = run.wait(timeout=90)
        self.assertEqual((report.outcome, report.leak_check.instances_left), ("complete", 0))
        self.assertEqual(report.cost.predicted.mean, plan.cost.mean)
        ledger = self.cloud.ledger()
        self.assertEqual({i["state"] for i in ledger["instances"]}, {"terminated"})
        self.assertGreater(report.cost.actual, 0)
        self.assertEqual(report.cost.actual, sum((node.cost for node in report.nodes), Decimal(0)))
        self.assertEqual(run.status().spent, report.cost.actual)
        self.refused("RB4038", lambda: rubberband.run(plan, approval=approval))

    def test_nothing_is_rented_without_a_yes(self):
        with open(self.cloud.prices) as f:
            plan = self.plan_there("aws/us-east-1", rubberband.Prices.parse(f.read().replace("mock/", "aws/")))
        elsewhere = {"AWS_ENDPOINT_URL": "http://192.0.2.1:1"}  # on loopback nothing costs money, and nothing is asked
        with mock.patch.dict(os.environ, elsewhere), self.assertRaises(rubberband.Error) as failed:
            rubberband.run(plan)
        self.assertIn("--yes", failed.exception.message)
        self.assertEqual(self.cloud.ledger()["instances"], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    BIN, ROOT = os.path.abspath(args.bin), os.path.abspath(args.root)
    os.environ["RB_BIN"] = BIN
    sys.path.insert(0, os.path.join(BIN, "python"))
    rubberband = importlib.import_module("rubberband")
    unittest.main(argv=[sys.argv[0], *args.tests])
