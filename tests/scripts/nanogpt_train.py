#!/usr/bin/env python3
"""Prints, resumes in place and reads its options as karpathy/nanoGPT's train.py does: every top-level constant is an option
--name=value whose type must be that of the default; an evaluation is printed before its checkpoint is written."""
import json
import math
import os
import sys
import time
from ast import literal_eval

out_dir = "out"
eval_interval = 2
init_from = "scratch"
dropout = 0.0
learning_rate = 6e-4
max_iters = 600
lr_decay_iters = 600
config_keys = [k for k, v in globals().items() if not k.startswith("_") and isinstance(v, (int, float, bool, str))]
for arg in sys.argv[1:]:
    assert arg.startswith("--")
    key, val = arg.split("=")
    key = key[2:]
    if key not in globals():
        raise ValueError("Unknown config key: %s" % key)
    try:
        attempt = literal_eval(val)
    except (SyntaxError, ValueError):
        attempt = val
    assert type(attempt) is type(globals()[key])
    print("Overriding: %s = %s" % (key, attempt))
    globals()[key] = attempt

pace = float(os.environ.get("PACE", "1"))
os.makedirs(out_dir, exist_ok=True)
state = {"iter_num": 0, "weight": 0.0, "horizons": []}
if init_from == "resume":
    print("Resuming training from %s" % out_dir)
    with open(os.path.join(out_dir, "ckpt.pt"), encoding="utf-8") as f:
        state = json.load(f)
first = state["iter_num"]
while True:
    iter_num = state["iter_num"]
    if iter_num % eval_interval == 0:
        loss = math.exp(-state["weight"]) + 0.1 * dropout
        noise = 0.001 if iter_num == first else 0.0  # an evaluation at the start draws other batches
        print("step %d: train loss %.4f, val loss %.12f" % (iter_num, loss, loss + noise), flush=True)
        if iter_num > 0:
            print("saving checkpoint to %s" % out_dir)
            with open(os.path.join(out_dir, "ckpt.pt"), "w", encoding="utf-8") as f:
                json.dump(state, f)
    state["weight"] += learning_rate * 0.5 * (1 + math.cos(math.pi * iter_num / lr_decay_iters))
    state["horizons"].append(lr_decay_iters)
    time.sleep(0.03 * pace)
    state["iter_num"] += 1
    if state["iter_num"] > max_iters:
        break
