#!/usr/bin/env python3
"""Prints as pytorch/examples' mnist/main.py does; it cannot resume, and saves into the folder in which it runs."""
import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=14)
parser.add_argument("--lr", type=float, default=1.0)
parser.add_argument("--gamma", type=float, default=0.7)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--save-model", action="store_true", default=False)
args = parser.parse_args()
loss, lr = 2.3, args.lr
for epoch in range(1, args.epochs + 1):
    for i in range(3):
        print("Train Epoch: %d [%d/60000 (%.0f%%)]\tLoss: %.6f" % (epoch, i * 20000, 33 * i, loss))
        time.sleep(0.05 * float(os.environ.get("PACE", "1")))
    loss, lr = loss * (1 - 0.3 * lr), lr * args.gamma
    print("\nTest set: Average loss: %.10f, Accuracy: %d/10000 (%.0f%%)\n" % (loss, 9000, 90), flush=True)
