#!/usr/bin/env python3
"""examples/goodput with its batch tuned and without, in turn: what an epoch takes after the first rung, and what comes of
it. Wall-clock time on this machine: run it on an idle one. Usage: batch_tuning.py --build BUILD [--runs N]"""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PROFILE = """format: rb-profile/1
name: goodput
training: [{accelerator: CPU, base_s: 0.4, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.6}]}]
noise: {between: 1.0, within: 1.0}
startup_s: 0.3
checkpoint_s: 0.1
provisioning: [{infra: "*", instance_type: "*", market: "*", queue_s: 0, init_s: 0.3, capacity_failure: 0}]
"""


def one_run(build, seed, tuned):
    """Seconds of an epoch by rung, the best metric, seconds of the run."""
    with tempfile.TemporaryDirectory(prefix="rb-batch-") as folder:
        shutil.copy(os.path.join(ROOT, "examples", "goodput", "train.py"), folder)
        with open(os.path.join(ROOT, "examples", "goodput", "job.yaml"), encoding="utf-8") as f:
            text = re.sub(r"\nseed: .*", "\nseed: %d" % seed, f.read())
        for name, content in (("job.yaml", text if tuned else re.sub(r"\n  batch: .*", "", text)), ("p.yaml", PROFILE)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(content)
        env = dict(os.environ, RB_DB=os.path.join(folder, "p.db"))
        plan, state = os.path.join(folder, "plan.json"), os.path.join(folder, "state")
        subprocess.run([os.path.join(build, "rbplan"), os.path.join(folder, "job.yaml"), "--planner", "static", "--set",
                        "trial.gpus=1", "--profile-file", os.path.join(folder, "p.yaml"), "-o", plan], check=True, env=env,
                       capture_output=True)
        done = subprocess.run([os.path.join(build, "rbrun"), plan, "--json", "--state-dir", state], check=True, env=env,
                              capture_output=True, text=True)
        report = json.loads(done.stdout.splitlines()[-1])
        with open(glob.glob(os.path.join(state, "*", "events.jsonl"))[0], encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
    epochs, last = {}, {}
    for e in events:
        if e["event"] == "report":
            at = (e["trial"], e["resource"] - 1)
            if at in last:
                rung = (e["resource"] - 1).bit_length()
                epochs.setdefault(rung, []).append((e["time_us"] - last[at]) / 1e6)
            last[e["trial"], e["resource"]] = e["time_us"]
        elif e["event"] == "trial_ended":
            last = {at: us for at, us in last.items() if at[0] != e["trial"]}  # a start is no epoch
    return epochs, report["best"]["metric"], report["time_us"]["actual"] / 1e6


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--runs", type=int, default=10)
    args = p.parse_args()
    rows = {True: [], False: []}
    for seed in range(1, args.runs + 1):
        for tuned in (False, True):
            rows[tuned].append(one_run(args.build, seed, tuned))
    print("| batch | an epoch in rungs 2 and 3, s (median) | best val_acc (mean, least) | the run, s (median) |")
    print("|---|---|---|---|")
    for tuned, name in ((False, "16, fixed"), (True, "tuned from 16")):
        epochs = [s for e, _, _ in rows[tuned] for rung in (2, 3) for s in e.get(rung, [])]
        best = [b for _, b, _ in rows[tuned]]
        print("| %s | %.3f | %.4f, %.4f | %.1f |" % (name, statistics.median(epochs), statistics.mean(best), min(best),
                                                      statistics.median(t for _, _, t in rows[tuned])))


if __name__ == "__main__":
    main()
