"""Finds the minimum of x*x by gradient descent. It continues from a checkpoint and gives way, and also runs without Rubberband."""
import json
import time

import rubberband_trial as trial

lr, folder, resume = trial.params().get("lr", 0.1), trial.checkpoint_dir(), trial.resume_dir()
x = json.load(open(resume + "/x.json")) if resume else 5.0
for epoch in range(trial.start + 1, (trial.end or 8) + 1):
    time.sleep(0.1)
    x -= lr * 2 * x
    trial.report(epoch, loss=x * x)
    if folder:
        json.dump(x, open(folder + "/x.json", "w"))
    if trial.should_stop():
        trial.give_way()
