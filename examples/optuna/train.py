#!/usr/bin/env python3
"""Descends a narrow valley, (x - 1)^2 + 20 y^2: a step that is too long leaves it."""
import argparse
import json
import os
import time

options = argparse.ArgumentParser()
options.add_argument("--lr", type=float, required=True)
options.add_argument("--momentum", type=float, required=True)
options.add_argument("--optimizer", required=True)
o = options.parse_args()

resume, save = os.environ.get("RB_RESUME_FROM"), os.environ["RB_CHECKPOINT_DIR"]
epoch, x, y, vx, vy = 0, -2.0, 1.0, 0.0, 0.0
if resume:
    with open(resume + "/state.json", encoding="utf-8") as f:
        epoch, x, y, vx, vy = json.load(f)
momentum = o.momentum if o.optimizer == "heavy" else 0.0
while epoch < int(os.environ["RB_RESOURCE_END"]):
    for _ in range(5):
        vx, vy = momentum * vx - o.lr * 2 * (x - 1), momentum * vy - o.lr * 40 * y
        x, y = max(-1e3, min(1e3, x + vx)), max(-1e3, min(1e3, y + vy))
    epoch += 1
    time.sleep(0.05)
    print("epoch=%d loss=%.6f" % (epoch, (x - 1) ** 2 + 20 * y ** 2), flush=True)
with open(save + "/state.json", "w", encoding="utf-8") as f:
    json.dump((epoch, x, y, vx, vy), f)
