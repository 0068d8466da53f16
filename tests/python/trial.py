#!/usr/bin/env python3
"""rubberband_trial: within a run and outside, and its callbacks, driven by frameworks/, which call in the order of the real ones.
Usage: trial.py --bin BUILD --root SOURCE [TEST]..."""
import argparse
import ast
import contextlib
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = ROOT = trial = None


class Case(unittest.TestCase):
    """A trial's environment: .start(2, 4) begins a start of it, .reports is what it reported, .preempt() wants it to give way."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rb-trial-")
        self.addCleanup(shutil.rmtree, self.folder)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RB_")}
        patch = mock.patch.dict(os.environ, clean, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def start(self, start, end, resume=""):
        checkpoint = tempfile.mkdtemp(dir=self.folder)
        with open(os.path.join(self.folder, "params.json"), "w", encoding="utf-8") as f:
            json.dump({"lr": 0.1, "amp": True}, f)
        self.metrics, self.wanted = os.path.join(checkpoint + ".metrics"), os.path.join(checkpoint + ".preempt")
        os.environ.update(RB_RESOURCE_START=str(start), RB_RESOURCE_END=str(end), RB_RESUME_FROM=resume,
                          RB_PARAMS_FILE=os.path.join(self.folder, "params.json"), RB_CHECKPOINT_DIR=checkpoint,
                          RB_METRICS_FILE=self.metrics, RB_PREEMPT_FILE=self.wanted)
        return checkpoint

    def preempt(self):
        with open(self.wanted, "w", encoding="utf-8"):
            pass

    @property
    def reports(self):
        with open(self.metrics, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def gives_way(self, call):
        with self.assertRaises(SystemExit) as ended:
            call()
        self.assertEqual(ended.exception.code, 75)


class Helper(Case):
    def test_outside_of_a_run_nothing_happens(self):
        self.assertEqual((trial.params(), trial.start, trial.end), ({}, 0, None))
        self.assertEqual((trial.resume_dir(), trial.checkpoint_dir(), trial.should_stop()), (None, None, False))
        trial.give_way()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            trial.report(3, val_acc=0.81)
            trial.report(step=200, loss=float("nan"))
        self.assertEqual(said.getvalue(), "epoch=3 val_acc=0.81\nstep=200 loss=nan\n")
        with self.assertRaises(AttributeError):
            trial.begin  # pylint: disable=pointless-statement

    def test_lines_are_flushed(self):
        code = "import os, rubberband_trial as trial; trial.report(1, loss=0.5); os._exit(0)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env={"PYTHONPATH": os.path.join(BIN, "python")})
        self.assertEqual(done.stdout, "epoch=1 loss=0.5\n")

    def test_within_a_run(self):
        checkpoint = self.start(2, 4, "/resume")
        self.assertEqual(trial.params(), {"lr": 0.1, "amp": True})
        self.assertEqual((trial.start, trial.end, trial.resume_dir(), trial.checkpoint_dir()), (2, 4, "/resume", checkpoint))
        trial.report(3, val_acc=0.81)
        trial.report(4, val_acc=float("inf"), flag=True)
        self.assertEqual(self.reports, [{"epoch": 3, "val_acc": 0.81}, {"epoch": 4, "val_acc": float("inf"), "flag": 1}])
        self.assertFalse(trial.should_stop())
        self.preempt()
        self.assertTrue(trial.should_stop())
        self.gives_way(trial.give_way)
        with self.assertRaises(TypeError):
            trial.report(5, val_acc=None)

    def save_x(self, folder):
        with open(os.path.join(folder, "x"), "w", encoding="utf-8") as f:
            f.write("weights")

    def test_midway_checkpoints_are_whole_and_announced(self):
        self.assertIsNone(trial.midway(1, self.save_x))
        checkpoint = self.start(0, 4)
        self.assertIsNone(trial.midway(1, self.save_x))  # the run asks for none
        with mock.patch.dict(os.environ, RB_CHECKPOINT_EVERY_S="600"), mock.patch.object(trial, "_saved_at", -1e9):
            with mock.patch.dict(os.environ, RANK="1"):
                self.assertIsNone(trial.midway(1, self.save_x))
            with self.assertRaises(ZeroDivisionError):
                trial.midway(2, lambda folder: (self.save_x(folder), 1 / 0))
            trial.report(3, val_acc=0.81, checkpoint=trial.midway(3, self.save_x))
            trial.report(4, val_acc=0.82, checkpoint=trial.midway(4, self.save_x))  # saved just now
        self.assertEqual(self.reports, [{"epoch": 3, "val_acc": 0.81, "checkpoint": "midway-3"}, {"epoch": 4, "val_acc": 0.82}])
        self.assertEqual((os.listdir(checkpoint), os.listdir(checkpoint + "/midway-3")), (["midway-3"], ["x"]))

    def test_one_small_file_without_dependencies(self):
        with open(trial.__file__, encoding="utf-8") as f:
            tree = ast.parse(f.read())
        imported = {(getattr(node, "module", None) or node.names[0].name).split(".")[0] for node in tree.body
                    if isinstance(node, (ast.Import, ast.ImportFrom))}
        self.assertLessEqual(imported, sys.stdlib_module_names)
        callbacks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.endswith("_callback")]
        self.assertEqual(len(callbacks), 3)
        for node in callbacks:
            self.assertLess(node.end_lineno - node.lineno + 1, 40, node.name)


class HuggingFace(Case):
    def trainer(self, output_dir, unit="epoch", **more):
        import transformers
        self.callback = trial.hf_callback(unit)
        return transformers.Trainer(output_dir, 5, 9, [self.callback], **more)

    def test_it_reports_and_ends_where_the_start_ends(self):
        for save_strategy in ("no", "epoch"):
            folder = self.start(0, 2)
            self.trainer(folder, save_strategy=save_strategy).train()
            self.assertEqual(self.reports, [{"eval_loss": 1, "epoch": 1, "step": 5}, {"eval_loss": 0.5, "epoch": 2, "step": 10}])
            self.assertIn("checkpoint-10", os.listdir(folder))
        resume, folder = os.path.join(folder, "checkpoint-10"), self.start(2, 4)
        trainer = self.trainer(folder)
        trainer.train(resume)
        self.assertEqual([r["epoch"] for r in self.reports], [3, 4])
        trainer.evaluate()  # as scripts do behind train(): reported once more
        self.assertEqual([r["epoch"] for r in self.reports], [3, 4, 4])

    def test_jobs_may_count_steps(self):
        self.start(0, 15)
        self.trainer(self.folder, "step").train()
        self.assertEqual([r["step"] for r in self.reports], [5, 10, 15])

    def test_it_saves_before_it_gives_way(self):
        folder = self.start(0, 9)
        trainer = self.trainer(folder)
        step_end = self.callback.on_step_end

        def in_the_second_epoch(args, state, control, **more):
            if state.global_step == 7:
                self.preempt()
            return step_end(args, state, control, **more)

        self.callback.on_step_end = in_the_second_epoch
        self.gives_way(trainer.train)
        self.assertEqual(os.listdir(folder), ["checkpoint-7"])
        again = self.start(1, 9)
        self.trainer(again).train(os.path.join(folder, "checkpoint-7"))
        self.assertEqual([r["epoch"] for r in self.reports], list(range(2, 10)))

    def test_outside_of_a_run_and_on_other_ranks(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            trainer = self.trainer(self.folder)
            trainer.evaluate_before = trainer.call("on_evaluate", metrics={"eval_loss": 9})  # no epoch is known yet
            trainer.train()
            trainer.state.is_world_process_zero = False
            trainer.evaluate()
        lines = said.getvalue().splitlines()
        self.assertEqual((len(lines), lines[0], lines[-1].split()[1:]), (10, "epoch=0 eval_loss=9.0 step=0", ["eval_loss=%r" % (1 / 9), "step=45"]))


class Lightning(Case):
    def test_it_reports_saves_and_continues(self):
        from lightning.pytorch import Trainer
        folder = self.start(0, 2)
        Trainer(9, [trial.lightning_callback()]).fit(None)
        self.assertEqual(self.reports, [{"val/acc": 0.1, "epoch": 1, "step": 10}, {"val/acc": 0.2, "epoch": 2, "step": 20}])
        self.start(2, 4, folder)
        Trainer(9, [trial.lightning_callback()]).fit(None, trial.resume_dir() and trial.resume_dir() + "/last.ckpt")
        self.assertEqual([r["epoch"] for r in self.reports], [3, 4])
        self.start(0, 30)
        Trainer(9, [trial.lightning_callback("step")]).fit(None)
        self.assertEqual([r["step"] for r in self.reports], [10, 20, 30])

    def test_it_gives_way(self):
        from lightning.pytorch import Trainer
        folder = self.start(0, 9)
        self.preempt()
        self.gives_way(lambda: Trainer(9, [trial.lightning_callback()]).fit(None))
        self.assertEqual((len(self.reports), os.listdir(folder)), (1, ["last.ckpt"]))

    def test_the_older_package(self):
        import lightning.pytorch
        with mock.patch.dict(sys.modules, {"lightning.pytorch": None, "pytorch_lightning": lightning.pytorch}):
            self.assertIsInstance(trial.lightning_callback(), lightning.pytorch.Callback)

    def test_outside_of_a_run(self):
        from lightning.pytorch import Trainer
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            Trainer(3, [trial.lightning_callback()]).fit(None)
        self.assertEqual(len(said.getvalue().splitlines()), 3)


class Keras(Case):
    def test_it_reports_saves_and_continues(self):
        import keras
        folder = self.start(0, 2)
        keras.Model().fit(9, trial.start, [trial.keras_callback()])
        self.assertEqual(self.reports, [{"loss": 1, "val_accuracy": 0.1, "epoch": 1}, {"loss": 0.5, "val_accuracy": 0.2, "epoch": 2}])
        self.start(2, 4, folder)
        model = keras.load_model(trial.resume_dir() + "/model.keras")
        model.fit(9, trial.start, [trial.keras_callback()])
        self.assertEqual(([r["epoch"] for r in self.reports], model.trained), ([3, 4], 4))

    def test_it_gives_way(self):
        import keras
        folder = self.start(0, 9)
        self.preempt()
        self.gives_way(lambda: keras.Model().fit(9, 0, [trial.keras_callback()]))
        self.assertEqual(os.listdir(folder), ["model.keras"])

    def test_outside_of_a_run(self):
        import keras
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            keras.Model().fit(3, callbacks=[trial.keras_callback()])
        self.assertEqual(len(said.getvalue().splitlines()), 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    BIN = os.path.abspath(args.bin)
    sys.path[:0] = [os.path.join(HERE, "frameworks"), os.path.join(BIN, "python")]
    trial = importlib.import_module("rubberband_trial")
    unittest.main(argv=[sys.argv[0], *args.tests])
