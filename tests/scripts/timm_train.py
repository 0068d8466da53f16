#!/usr/bin/env python3
"""Prints and saves as pytorch-image-models' train.py does: a row of summary.csv first, the checkpoint after it, under a name of
its own, then renamed, with a hard-linked copy; the learning rate follows a cosine over all of --epochs."""
import argparse
import csv
import json
import math
import os
import time

PACE = float(os.environ.get("PACE", "1"))

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=300)
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--warmup-epochs", type=int, default=0)
parser.add_argument("--amp", action="store_true")
parser.add_argument("--output", default="")
parser.add_argument("--experiment", default="")
parser.add_argument("--resume", default="")
parser.add_argument("--seed", type=int, default=42)
parser.add_argument("--checkpoint-hist", type=int, default=10)
args = parser.parse_args()

out = os.path.join(args.output or "./output/train", args.experiment)
os.makedirs(out, exist_ok=True)
state = {"epoch": -1, "weight": 0.0, "epochs": []}
if args.resume:
    with open(args.resume, encoding="utf-8") as f:
        state = json.loads(f.read())
    print("Loaded checkpoint '%s' (epoch %d)" % (args.resume, state["epoch"]))


def save(epoch):
    tmp = os.path.join(out, "tmp.pth.tar")
    text = json.dumps(state)
    with open(tmp, "w", encoding="utf-8") as f:
        for part in (text[: len(text) // 2], text[len(text) // 2:]):
            f.write(part)
            f.flush()
            time.sleep(PACE * 0.05)
    last = os.path.join(out, "last.pth.tar")
    if os.path.exists(last):
        os.unlink(last)
    os.rename(tmp, last)
    copy = os.path.join(out, "checkpoint-%d.pth.tar" % epoch)
    if os.path.exists(copy):
        os.unlink(copy)
    os.link(last, copy)
    for old in range(epoch - args.checkpoint_hist + 1):
        if os.path.exists(os.path.join(out, "checkpoint-%d.pth.tar" % old)):
            os.unlink(os.path.join(out, "checkpoint-%d.pth.tar" % old))


for epoch in range(state["epoch"] + 1, args.epochs):
    for step in range(4):
        print("Train: %d [%4d/4 (%3.0f%%)]  Loss: %.3f" % (epoch, step, 25 * step, 1 - state["weight"]), flush=True)
        time.sleep(PACE * 0.15)
    lr = args.lr * 0.5 * (1 + math.cos(math.pi * epoch / args.epochs))
    state["weight"] += lr * (1 - state["weight"])
    state["epochs"].append(args.epochs)
    row = {"epoch": epoch, "train_loss": 1 - state["weight"], "eval_loss": 1.1 - state["weight"],
           "eval_top1": 100 * state["weight"], "eval_top5": 100.0, "lr": lr}
    path = os.path.join(out, "summary.csv")
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)
    time.sleep(PACE * 0.1)
    state["epoch"] = epoch
    save(epoch)
print("*** Best metric: %g (epoch %d)" % (100 * state["weight"], state["epoch"]))
