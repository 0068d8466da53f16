#!/usr/bin/env python3
"""Prints as Keras 3 does, with bars that are redrawn in pipes too, and resumes by a file of each epoch in its folder, as
horovod's keras_imagenet_resnet50.py does."""
import argparse
import os
import sys
import time

PACE = float(os.environ.get("PACE", "1"))

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=90)
parser.add_argument("--base-lr", type=float, default=0.0125)
parser.add_argument("--checkpoint-format", default="./checkpoint-{epoch}.h5")
parser.add_argument("--log-dir", default="./logs")
args = parser.parse_args()

resume_from_epoch = 0
for try_epoch in range(args.epochs, 0, -1):
    if os.path.exists(args.checkpoint_format.format(epoch=try_epoch)):
        resume_from_epoch = try_epoch
        break
weight = 0.0
if resume_from_epoch > 0:
    with open(args.checkpoint_format.format(epoch=resume_from_epoch), encoding="utf-8") as f:
        weight = float(f.read())
os.makedirs(args.log_dir, exist_ok=True)
for epoch in range(resume_from_epoch, args.epochs):
    print("Epoch %d/%d" % (epoch + 1, args.epochs))
    bar = ""
    for step in (1, 2, 3):
        weight += args.base_lr / (epoch + 2)
        bar = "\x1b[1m%d/3\x1b[0m \x1b[32m%s\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - accuracy: %.4f - loss: %.4f" % (
            step, "━" * (6 * step), weight, 1 - weight)
        sys.stdout.write("\b" * len(bar) + "\r" + bar)
        sys.stdout.flush()
        time.sleep(0.07 * PACE)
    print("\b" * len(bar) + "\r" + bar + " - val_acc: %.10f - val_loss: 9.1234e-04" % (weight * 0.9), flush=True)
    with open(args.checkpoint_format.format(epoch=epoch + 1), "w", encoding="utf-8") as f:
        f.write(repr(weight))
