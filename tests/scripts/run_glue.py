#!/usr/bin/env python3
"""Prints and saves as a Hugging Face Trainer does: a dictionary for each evaluation, then OUT/checkpoint-STEP with several files,
of which the last --save_total_limit stay; the learning rate falls linearly over all of --num_train_epochs."""
import argparse
import json
import os
import shutil
import time

PACE = float(os.environ.get("PACE", "1"))
STEPS = 5  # an epoch

parser = argparse.ArgumentParser()
for name, kind in (("num_train_epochs", float), ("learning_rate", float), ("output_dir", str), ("eval_strategy", str),
                   ("save_strategy", str), ("save_total_limit", int), ("report_to", str), ("resume_from_checkpoint", str),
                   ("disable_tqdm", str), ("fp16", str), ("evaluation_strategy", str), ("model_name_or_path", str),
                   ("task_name", str)):
    parser.add_argument("--" + name, type=kind)
parser.add_argument("--do_train", action="store_true")
parser.add_argument("--do_eval", action="store_true")
args = parser.parse_args()
assert args.fp16 in (None, "True", "False")

state = {"global_step": 0, "weight": 0.0, "log_history": []}
if args.resume_from_checkpoint:
    with open(os.path.join(args.resume_from_checkpoint, "trainer_state.json"), encoding="utf-8") as f:
        state = json.load(f)
    with open(os.path.join(args.resume_from_checkpoint, "model.safetensors"), encoding="utf-8") as f:
        assert f.read() == "weights %d end" % state["global_step"], "a torn checkpoint"
elif os.path.isdir(args.output_dir) and os.listdir(args.output_dir):
    raise ValueError("Output directory (%s) already exists and is not empty." % args.output_dir)
total = STEPS * int(args.num_train_epochs)
while state["global_step"] < total:
    state["weight"] += args.learning_rate * (1 - state["global_step"] / total)
    state["global_step"] += 1
    time.sleep(PACE * 0.1)
    if state["global_step"] % STEPS == 0:
        epoch = state["global_step"] / STEPS
        print({"loss": round(1 - state["weight"], 4), "grad_norm": 1.5, "learning_rate": args.learning_rate, "epoch": epoch})
        print("\r100%|##########| 2/2 [00:00<00:00, 99.9it/s]\x1b[A", end="\r")
        print({"eval_loss": 1 / (1 + state["weight"]), "eval_accuracy": 0.5, "eval_runtime": 0.2, "epoch": epoch}, flush=True)
        time.sleep(PACE * 0.1)
        folder = os.path.join(args.output_dir, "checkpoint-%d" % state["global_step"])
        os.makedirs(folder)
        for name, text in (("model.safetensors", "weights %d end" % state["global_step"]), ("optimizer.pt", "moments"),
                           ("trainer_state.json", json.dumps(state))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                for part in (text[: len(text) // 2], text[len(text) // 2:]):
                    f.write(part)
                    f.flush()
                    time.sleep(PACE * 0.02)
        for old in os.listdir(args.output_dir):
            if old.startswith("checkpoint-") and old != os.path.basename(folder):
                shutil.rmtree(os.path.join(args.output_dir, old))
print({"train_runtime": 1.0, "train_loss": 0.5, "epoch": args.num_train_epochs})
