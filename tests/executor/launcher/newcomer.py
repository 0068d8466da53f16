#!/usr/bin/env python3
"""What a newcomer does with a script of their own: a draft, the TODOs, a plan from a guess, a measurement, a plan, a run. The
scripts of tests/scripts/unseen are written in other ways than those that the drafts were made for; the libraries that they
import are stubs which print alike. Usage: newcomer.py --bin BUILD_DIR --root SOURCE_DIR [TEST]..."""
import argparse
import glob
import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "cli"))
from real_run import RealRun, profile  # noqa: E402

BIN = ROOT = None

CPU_PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
aws/us-east-1,eight.cpus,CPU,1,0,8,16,on_demand,0.36,invented,
"""


class Newcomer(unittest.TestCase):
    def walk(self, script, fill, expected, on="A10G"):
        """fill: what a person types into the draft; expected: what the draft must say by itself."""
        with tempfile.TemporaryDirectory() as folder:
            here = RealRun(BIN, folder, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="2", PYTHONPATH="stubs")
            here.env["RB_DB"] = os.path.join(folder, "profiles.db")
            for path in glob.glob(os.path.join(ROOT, "tests/scripts/unseen/*")):
                (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, os.path.join(folder, os.path.basename(path)))
            here.say("rbplan", "init", script + ".py", "-o", "job.yaml")
            with open(os.path.join(folder, "job.yaml"), encoding="utf-8") as f:
                draft = f.read()
            for line in expected:
                self.assertIn(line, draft)
            todo = any(old.startswith("TODO_") for old, _ in fill)
            self.assertEqual(here.say("rbplan", "--check", "job.yaml", expect=2 if todo else 0).stderr.count("RB1231") > 0, todo)
            for old, new in fill + [("num_trials: 27", "num_trials: 3")]:
                self.assertIn(old, draft)
                draft = draft.replace(old, new)
            here.write("job.yaml", draft)
            here.say("rbplan", "--check", "--strict", "job.yaml")
            prices = here.write("prices.csv", CPU_PRICES) if on == "CPU" else ROOT + "/examples/prices/aws-us-east-1.csv"
            guessed = here.say("rbplan", "--guess", "unit=1m,on=" + on, "--prices", prices, "--set",
                               "resources.infra=[aws/us-east-1]", "--deadline", "12h", "--time-limit", "2s", "job.yaml").stdout
            self.assertRegex(guessed, r"from a guess \(1 m 0 s for one \w+ on .*\): cost \$.* \(90 %\)")
            os.remove(os.path.join(folder, "prices.csv")) if on == "CPU" else None
            here.say("rbprofile", "train", "job.yaml", "--configs", "2")
            # The plan rests on other times: how well a busy machine is measured is not the question here.
            here.write("fast.yaml", profile("fast", 0.3, accelerator="CPU", queue_s=0, init_s=0))
            here.say("rbplan", "job.yaml", "--profile-file", "fast.yaml", "-o", "plan.json", "--time-limit", "2s")
            lines = [json.loads(line) for line in here.say("rbrun", "plan.json", "--json").stdout.splitlines()]
            report = [d for d in lines if d.get("format") == "rb-report/1"][0]
            self.assertEqual(report["outcome"], "complete")
            self.assertIsNotNone(report["best"]["metric"])

    def test_argparse_cosine_and_bars_on_stderr(self):
        self.walk("finetune", [("TODO_data", "."), ("max_resource: 30", "max_resource: 3")],
                  ['pattern: "[{resource}/{*}] train_loss={train_loss} val_loss={val_loss} val_acc={val_acc}% lr={lr}"',
                   "stop: saved", 'end: "--num-epochs={max}"', 'resume: "--resume-from={resume}/checkpoint.pkl"',
                   'checkpoint: "--outdir={checkpoint}"', "files: [checkpoint.pkl]", "name: val_acc", "goal: maximize"])

    def test_keras_that_resumes_nowhere(self):
        self.walk("kerasish", [("max_resource: 12", "max_resource: 3")],
                  ["metric: {name: val_loss, goal: minimize, format: keras}", 'end: "--epochs={max}"', "resume: false",
                   "{values: [adam, sgd]}"])

    def test_trainer_with_dataclasses(self):
        self.walk("sentiment", [("TODO_data_dir", ".")],
                  ["metric: {name: eval_loss, goal: minimize, format: hf}", "stop: saved", 'end: "--num_train_epochs={max}"',
                   'resume: "--resume_from_checkpoint={resume:checkpoint-*}"', 'checkpoint: "--output_dir={checkpoint}"',
                   "hidden_dropout: {min: 0.0, max: 0.5}", "--save_strategy=epoch", "# not searched: --model_name_or_path"])

    def test_boosting_on_cpus(self):
        self.walk("boost", [("TODO_train", "a"), ("TODO_valid", "b"), ("gpus: 1 ", "cpus: 1 "),
                            ("max_resource: 50", "max_resource: 9")],
                  ["metric: {name: eval-auc, goal: maximize, format: xgboost, base: 0}", 'end: "--rounds={max}"',
                   "eta: {distribution: log_uniform, min: 0.01, max: 0.3}", "subsample: {min: 0.5, max: 1.0}"], on="CPU")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--root", required=True)
    options, rest = parser.parse_known_args()
    BIN, ROOT = os.path.abspath(options.bin), os.path.abspath(options.root)
    unittest.main(argv=[sys.argv[0]] + rest)
