#!/usr/bin/env python3
"""Cost of static, naive, greedy and optimal plans of the planning examples, and the time it takes to plan them, at
several slacks over the tightest deadline that any fixed cluster keeps.

    bench/plan_slack.py [--rbplan build/rbplan] [--examples examples] [name ...]
"""
import argparse
import json
import pathlib
import resource
import subprocess

SLACKS = [1.02, 1.25, 1.5, 2, 3]
PLANNERS = ["static", "naive", "greedy", "optimal"]
EXAMPLES = ["resnet50-cifar10", "resnet50-imagenet", "bert"]


def rbplan(program, job, *args):
    """Exit code, document and CPU seconds of one run. No store: the files beside the job are used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "--json", *args, str(job)], capture_output=True, text=True,
                          env={"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0, 3):
        raise SystemExit(f"{job}: {done.stdout}{done.stderr}")
    return done.returncode, json.loads(done.stdout), seconds


def tightest_static(program, job):
    code, document, _ = rbplan(program, job, "--planner", "static", "--deadline", "1s")
    assert code == 3, "a deadline of one second cannot be kept"
    return document["nearest"]["deadline_us"] / 1e6


def row(program, job, deadline_s):
    cells = []
    for planner in PLANNERS:
        code, document, seconds = rbplan(program, job, "--planner", planner, "--deadline", f"{deadline_s:.0f}s")
        cost = document["estimate"]["cost_uusd"]["mean"] / 1e6 if code == 0 else None
        cells.append((cost, seconds))
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rbplan", default="build/rbplan")
    parser.add_argument("--examples", default="examples")
    parser.add_argument("names", nargs="*", default=EXAMPLES)
    args = parser.parse_args()
    print("plan CPU is that of the whole command with the optimal planner, on all threads together: reading, the three\n"
          "baselines, the search, and 4096 replicates behind every estimate\n")
    for name in args.names:
        job = pathlib.Path(args.examples) / name / "job.yaml"
        tightest = tightest_static(args.rbplan, job)
        print(f"{name}: the tightest deadline a fixed cluster keeps is {tightest:.0f} s")
        print(f"{'slack':>6} {'deadline':>9}" + "".join(f"{p:>10}" for p in PLANNERS)
              + f"{'static/opt':>12}{'greedy/opt':>12}{'plan CPU':>10}")
        for slack in SLACKS:
            cells = row(args.rbplan, job, slack * tightest)
            costs = [cost for cost, _ in cells]
            text = "".join(f"{'none' if c is None else f'${c:.2f}':>10}" for c in costs)
            best = costs[-1]
            ratios = [f"{c / best:.3f}" if c is not None and best else "-" for c in (costs[0], costs[2])]
            print(f"{slack:>6} {slack * tightest:>8.0f}s{text}{ratios[0]:>12}{ratios[1]:>12}{cells[-1][1]:>9.2f}s")
        print()


if __name__ == "__main__":
    main()
