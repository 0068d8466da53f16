"""Stands in for Hugging Face transformers: a Trainer that calls its callbacks in the order of the real one (train loop, then
_maybe_log_save_evaluate: evaluate before save)."""
import json
import os
from types import SimpleNamespace


class TrainerCallback:
    def on_train_begin(self, args, state, control, **kwargs):
        pass

    def on_step_end(self, args, state, control, **kwargs):
        pass

    def on_evaluate(self, args, state, control, **kwargs):
        pass

    def on_save(self, args, state, control, **kwargs):
        pass

    def on_train_end(self, args, state, control, **kwargs):
        pass


class Trainer:
    def __init__(self, output_dir, steps_per_epoch, num_train_epochs, callbacks, save_strategy="no", learning_rate=1):
        self.args = SimpleNamespace(output_dir=output_dir, num_train_epochs=num_train_epochs, save_strategy=save_strategy,
                                    learning_rate=learning_rate)
        self.steps_per_epoch, self.callbacks = steps_per_epoch, callbacks
        self.state = SimpleNamespace(epoch=None, global_step=0, is_world_process_zero=True)
        self.control = SimpleNamespace(should_save=False, should_training_stop=False)

    def call(self, event, **more):
        for callback in self.callbacks:
            result = getattr(callback, event)(self.args, self.state, self.control, **more)
            self.control = self.control if result is None else result

    def train(self, resume_from_checkpoint=None):
        if resume_from_checkpoint:
            with open(os.path.join(resume_from_checkpoint, "trainer_state.json"), encoding="utf-8") as f:
                self.state.global_step = json.load(f)["global_step"]
        self.call("on_train_begin")
        while self.state.global_step < self.steps_per_epoch * self.args.num_train_epochs and not self.control.should_training_stop:
            self.state.global_step += 1
            self.state.epoch = self.state.global_step / self.steps_per_epoch
            self.call("on_step_end")
            if self.state.global_step % self.steps_per_epoch == 0:
                self.evaluate()
                self.control.should_save = self.control.should_save or self.args.save_strategy == "epoch"
            if self.control.should_save:
                self.save()
        self.call("on_train_end")

    def evaluate(self):
        metrics = {"eval_loss": self.args.learning_rate / self.state.epoch, "eval_name": "glue", "epoch": self.state.epoch}
        self.call("on_evaluate", metrics=metrics)

    def save(self):
        folder = os.path.join(self.args.output_dir, "checkpoint-%d" % self.state.global_step)
        os.makedirs(folder)
        with open(os.path.join(folder, "trainer_state.json"), "w", encoding="utf-8") as f:
            json.dump({"global_step": self.state.global_step}, f)
        self.control.should_save = False
        self.call("on_save")
