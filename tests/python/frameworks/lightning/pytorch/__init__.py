"""Stands in for Lightning: a Trainer that validates before it trains (the sanity check), counts epochs from 0, and validates within
the epoch, before current_epoch moves on."""
import json


class Callback:
    def setup(self, trainer, pl_module, stage):
        pass

    def on_validation_end(self, trainer, pl_module):
        pass


class Tensor:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


class Trainer:
    def __init__(self, max_epochs, callbacks):
        self.max_epochs, self.callbacks = max_epochs, callbacks
        self.current_epoch = self.global_step = 0
        self.sanity_checking = self.should_stop = False
        self.is_global_zero = True
        self.callback_metrics = {}

    def save_checkpoint(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"epoch": self.current_epoch + 1, "global_step": self.global_step}, f)

    def validate(self, model):
        self.callback_metrics["val/acc"] = Tensor(0.1 * (self.current_epoch + 1))
        for callback in self.callbacks:
            callback.on_validation_end(self, model)

    def fit(self, model, ckpt_path=None):
        for callback in self.callbacks:
            callback.setup(self, model, "fit")
        if ckpt_path:
            with open(ckpt_path, encoding="utf-8") as f:
                saved = json.load(f)
            self.current_epoch, self.global_step = saved["epoch"], saved["global_step"]
        else:
            self.sanity_checking = True
            self.validate(model)
            self.sanity_checking = False
        while self.current_epoch < self.max_epochs and not self.should_stop:
            self.global_step += 10
            self.validate(model)
            self.current_epoch += 1
