"""What a training script may use to take part in a tuning job. One file without dependencies; outside of a run every function
does nothing, so that the script works alone.

    import rubberband_trial as trial
    lr = trial.params().get("lr", 0.1)
    for epoch in range(trial.start + 1, (trial.end or 9) + 1):
        ...
        trial.report(epoch, val_acc=0.81)

start and end are the resource from which (exclusive) and to which this start of the script trains, 0 and None outside of a run.
hf_callback(), lightning_callback() and keras_callback() do all of it for the trainers of these frameworks."""
from __future__ import annotations

import json
import os
import shutil
import sys
import time
from typing import Any, Callable, Mapping

start: int  # RB_RESOURCE_START
end: int | None  # RB_RESOURCE_END
GAVE_WAY = 75


def __getattr__(name: str) -> int | None:
    if name == "start":
        return int(os.environ.get("RB_RESOURCE_START") or 0)
    if name == "end":
        return int(os.environ["RB_RESOURCE_END"]) if os.environ.get("RB_RESOURCE_END") else None
    raise AttributeError(f"module 'rubberband_trial' has no attribute {name!r}")


def params() -> dict[str, Any]:
    """The configuration of this trial; {} outside of a run."""
    path = os.environ.get("RB_PARAMS_FILE")
    if not path:
        return {}
    with open(path, encoding="utf-8") as f:
        values: dict[str, Any] = json.load(f)
    return values


def resume_dir() -> str | None:
    """The folder with the last checkpoint of this trial; None on a first start."""
    return os.environ.get("RB_RESUME_FROM") or None


def checkpoint_dir() -> str | None:
    """The folder whose content, when the script ends, is the new checkpoint; None outside of a run."""
    return os.environ.get("RB_CHECKPOINT_DIR") or None


def midway(number: int, save: Callable[[str], Any]) -> str | None:
    """A checkpoint of this epoch (or step), for the case that the trial loses its machine, if one is due: save(folder) writes it,
    and report(number, loss=0.3, checkpoint=midway(number, save)) announces it. None, and nothing is saved, outside of a run, where
    the run asks for none (checkpoint.every of the job), and in every process but the first."""
    global _saved_at
    every, folder = float(os.environ.get("RB_CHECKPOINT_EVERY_S") or 0), checkpoint_dir()
    rank = os.environ.get("RANK") or os.environ.get("RB_NODE_RANK") or "0"
    if not folder or every <= 0 or rank != "0" or time.monotonic() - _saved_at < every:
        return None
    name, new = f"midway-{number}", os.path.join(folder, ".midway-new")
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    save(new)
    os.rename(new, os.path.join(folder, name))
    _saved_at = time.monotonic()
    return name


_saved_at = time.monotonic()  # by midway(), or when the script began


def report(epoch: float | None = None, **metrics: Any) -> None:
    """Reports metrics after an epoch: numbers, or what float() takes. A job that counts in another unit gets it by name:
    report(step=200, loss=0.3). checkpoint: what midway() returned. Outside of a run, and where a run has no file for reports, this prints one line."""
    checkpoint = metrics.pop("checkpoint", None)
    values: dict[str, Any] = {} if epoch is None else {"epoch": _number(epoch)}
    values.update({name: _number(value) for name, value in metrics.items()})
    if checkpoint:
        values["checkpoint"] = checkpoint
    path = os.environ.get("RB_METRICS_FILE")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps(values) + "\n")
    else:
        print(" ".join(f"{name}={value}" for name, value in values.items()), flush=True)


def should_stop() -> bool:
    """Whether the run wants this trial to give way: save a checkpoint, then call give_way()."""
    path = os.environ.get("RB_PREEMPT_FILE")
    return path is not None and os.path.exists(path)


def give_way() -> None:
    """Ends the script with the exit code that means: continue me from the checkpoint. Outside of a run it does nothing."""
    if os.environ.get("RB_PREEMPT_FILE"):
        sys.exit(GAVE_WAY)


def _number(value: Any) -> int | float:
    return int(value) if isinstance(value, (bool, int)) else float(value)


def _numbers(metrics: Mapping[str, Any] | None) -> dict[str, float]:
    """The metrics of a framework that are numbers, tensors of one element among them."""
    found: dict[str, float] = {}
    for name, value in (metrics or {}).items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            continue
    return found


def _is_over(counts: Mapping[str, float], unit: str) -> bool:
    """Whether a trainer that counts so has come as far as this start trains."""
    last: int | None = __getattr__("end")
    return last is not None and counts[unit] >= last


def hf_callback(unit: str = "epoch") -> Any:
    """For transformers.Trainer(callbacks=[...]) with output_dir=trial.checkpoint_dir() or "out". unit: the job's, "epoch" or
    "step"."""
    from transformers import TrainerCallback

    class RubberbandCallback(TrainerCallback):  # type: ignore[misc]
        leaving = False

        def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> Any:
            counts = {"epoch": round(state.epoch or 0, 6), "step": state.global_step}
            if state.is_world_process_zero:
                report(**{**_numbers(metrics), **counts})
            if _is_over(counts, unit):
                control.should_save = control.should_training_stop = True
            return control

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            if should_stop():
                self.leaving = control.should_save = control.should_training_stop = True
            return control

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            if self.leaving:
                give_way()
            return control

    return RubberbandCallback()


def lightning_callback(unit: str = "epoch") -> Any:
    """For Trainer(callbacks=[...]). It saves last.ckpt where this start ends; continue with
    trainer.fit(model, ckpt_path=trial.resume_dir() and trial.resume_dir() + "/last.ckpt")."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    class RubberbandCallback(Callback):  # type: ignore[misc]
        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.sanity_checking:
                return
            counts = {"epoch": trainer.current_epoch + 1, "step": trainer.global_step}
            if trainer.is_global_zero:
                report(**{**_numbers(trainer.callback_metrics), **counts})
            leaving, folder = should_stop(), checkpoint_dir()
            if folder and (leaving or _is_over(counts, unit)):
                trainer.save_checkpoint(os.path.join(folder, "last.ckpt"))
                trainer.should_stop = True
            if leaving:
                give_way()

    return RubberbandCallback()


def keras_callback() -> Any:
    """For model.fit(callbacks=[...], initial_epoch=trial.start). It saves model.keras where this start ends; continue with
    keras.models.load_model(trial.resume_dir() + "/model.keras")."""
    from keras.callbacks import Callback

    class RubberbandCallback(Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            counts = {"epoch": epoch + 1}
            saved = midway(epoch + 1, lambda to: self.model.save(os.path.join(to, "model.keras")))
            report(checkpoint=saved, **{**_numbers(logs), **counts})
            leaving, folder = should_stop(), checkpoint_dir()
            if folder and (leaving or _is_over(counts, "epoch")):
                self.model.save(os.path.join(folder, "model.keras"))
                self.model.stop_training = True
            if leaving:
                give_way()

    return RubberbandCallback()
