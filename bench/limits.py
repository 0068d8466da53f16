#!/usr/bin/env python3
"""Is --time-limit kept? CPU time of rbplan against its limit, by size of the job.

    bench/limits.py --rbplan build/rbplan                  all sizes, as a table (an hour)
    bench/limits.py --rbplan build/rbplan --trials 5000 --limits 0.5 2
    bench/limits.py --rbplan build/rbplan --beside examples/*/job.yaml   is a plan with a limit slower than one without?

One thread, CPU time (user and system) of the process: it hardly depends on what else the machine does.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

DEADLINES = {100: "90m", 1000: "2h", 5000: "6h", 20000: "24h", 100000: "72h"} # by trials
TRIALS = list(DEADLINES)
LIMITS = [0.05, 0.5, 2, 10]
KINDS = ["mild", "heavy", "spot"]
SCHEDULERS = ["sha", "asha"]
SLOWER = 1.1 # what a limit may cost, in CPU time
TYPES, ZONES, NODES = 20, 6, 512
MARKETS = [("aws", "on_demand"), ("aws", "spot"), ("gcp", "on_demand")]
REGIONS = {"aws": "aws/us-east-1", "gcp": "gcp/us-central1"}
TRIAL_SAMPLES = 200


def job(trials, types, asynchronous):
    scheduler = (f"{{type: asha, num_trials: {trials}, min_resource: 1, max_resource: 64, eta: 4}}" if asynchronous else
                 f"{{type: sha, num_trials: {trials}, min_resource: 1, max_resource: 256, eta: 2, rungs: cumulative}}")
    return f"""name: limits
metric: {{name: loss, goal: minimize}}
parameters:
  lr: {{distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}}
scheduler: {scheduler}
trial:
  gpus: {{min: 1, max: 8, sizes: [1, 2, 4, 8]}}
  max_nodes: 1
resources: {{infra: [aws/us-east-1{", gcp/us-central1" if types > 1 else ""}], spot: allow, max_nodes: {NODES}}}
run: python train.py
"""


def between(kind, draw):
    if kind != "heavy":
        return "{distribution: lognormal, mean: 1.0, cv: 0.2}"
    values = sorted(draw.lognormvariate(-0.5, 1) for _ in range(TRIAL_SAMPLES))
    mean = sum(values) / len(values)
    return "{distribution: empirical, values: [" + ", ".join(f"{v / mean:.4f}" for v in values) + "]}"


def profile(draw, types, kind):
    text = "format: rb-profile/1\nname: limits\nunit: epoch\nsource: drawn\ntraining:\n"
    for t in range(types):
        loss = draw.uniform(0.02, 0.2)
        text += f"  - accelerator: T{t}\n    base_s: {draw.uniform(5, 30):.2f}\n    layouts:\n"
        for g in (1, 2, 4, 8):
            text += f"      - {{gpus: {g}, nodes: 1, speedup: {g / (1 + loss * (g - 1)):.4f}}}\n"
    text += (f"noise:\n  between: {between(kind, draw)}\n"
             "  within: {distribution: constant, mean: 1.0}\n"
             "startup_s: 2.0\ncheckpoint_s: 1.0\nprovisioning:\n")
    for infra, market in MARKETS:
        lost = 0.05 if kind == "spot" and market == "spot" else 0.0
        text += (f"  - infra: {infra}\n    instance_type: \"*\"\n    market: {market}\n"
                 f"    queue_s: {{distribution: lognormal, mean: {draw.uniform(10, 40):.1f}, cv: 0.4}}\n"
                 f"    init_s: {{distribution: lognormal, mean: {draw.uniform(40, 90):.1f}, cv: 0.2}}\n"
                 f"    capacity_failure: 0.0\n    preemption_per_hour: {lost}\n")
    return text


def prices(draw, types, kind):
    rows = ["infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour"]
    for t in range(types):
        base = draw.uniform(4, 40)
        for infra, market in MARKETS if types > 1 else MARKETS[kind == "spot":][:1]:
            for zone in range(ZONES if types > 1 else 1):
                name = REGIONS[infra].split("/")[1] + ("" if infra == "aws" else "-") + chr(ord("a") + zone)
                price = base * (draw.uniform(0.3, 0.6) if market == "spot" else draw.uniform(0.95, 1.1))
                rows.append(f"{REGIONS[infra]}/{name},m{t}.8,T{t},8,16,64,488,{market},{price:.4f}")
    return "\n".join(rows) + "\n"


def write_job(folder, trials, n_prices, kind, asynchronous, draw=None):
    draw = draw or random.Random(1)
    types = 1 if n_prices == 1 else TYPES
    (folder / "job.yaml").write_text(job(trials, types, asynchronous))
    (folder / "profile.yaml").write_text(profile(draw, types, kind))
    (folder / "prices.csv").write_text(prices(draw, types, kind))


def measure(rbplan, folder, limit_s, deadline, more):
    command = [rbplan, "--threads", "1", "--json", *(["--deadline", deadline] if deadline else []), *more]
    if limit_s:
        command += ["--time-limit", f"{round(limit_s * 1000)}ms"]
    with subprocess.Popen(command + ["job.yaml"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        out, err = child.stdout.read(), child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    plan = {}
    try:
        plan = json.loads(out)
    except ValueError:
        pass
    return usage.ru_utime + usage.ru_stime, child.returncode, plan, err.decode()


def found(plan):
    estimate, bound = plan.get("estimate"), plan.get("bound") or {}
    if not estimate:
        return ""
    gap = bound.get("gap")
    return (f"{estimate['samples']} runs, ${estimate['cost_uusd']['mean'] / 1e6:.2f}, " +
            ("proved" if bound.get("proved") else f"gap {100 * gap:.1f} %" if gap is not None else "no gap"))


def beside(rbplan, folder, limit_s, rounds):
    """Least CPU time with the limit and without, in turn."""
    pairs = [(measure(rbplan, folder, limit_s, None, [])[0], measure(rbplan, folder, None, None, [])[0]) for _ in range(rounds)]
    return min(p[0] for p in pairs), min(p[1] for p in pairs)


def compare(rbplan, jobs, n_random, limit_s, rounds):
    n_slower = 0
    print(f"| job | limit (s) | CPU with it (s) | without (s) | ratio |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folders = [pathlib.Path(job).resolve().parent for job in jobs]
        for i in range(n_random):
            draw = random.Random(100 + i)
            folders.append(pathlib.Path(name) / f"random-{i}")
            folders[-1].mkdir()
            write_job(folders[-1], draw.choice([8, 27, 64, 200]), 1, draw.choice(KINDS), draw.random() < 0.25, draw)
        for folder in folders:
            limited, free = beside(rbplan, folder, limit_s, rounds)
            n_slower += limited > SLOWER * free
            print(f"| {folder.name} | {limit_s} | {limited:.3f} | {free:.3f} | {limited / free:.2f} |", flush=True)
    print(f"\n{n_slower} of {len(folders)} are slower with a limit by more than {100 * (SLOWER - 1):.0f} %")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rbplan", required=True)
    args.add_argument("--trials", type=int, nargs="+", default=TRIALS)
    args.add_argument("--prices", type=int, nargs="+", default=[1, 360], choices=[1, 360])
    args.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    args.add_argument("--limits", type=float, nargs="+", default=LIMITS, help="seconds; 0: none")
    args.add_argument("--schedulers", nargs="+", default=SCHEDULERS, choices=SCHEDULERS)
    args.add_argument("--beside", nargs="*", metavar="JOB", help="compare with no limit instead, on these and --random jobs")
    args.add_argument("--random", type=int, default=20)
    args.add_argument("--rounds", type=int, default=3, help="of --beside")
    args.add_argument("--show-stderr", action="store_true")
    args.add_argument("options", nargs="*", help="of rbplan, after --")
    a = args.parse_args()
    rbplan = str(pathlib.Path(a.rbplan).resolve())
    if a.beside is not None:
        compare(rbplan, a.beside, a.random, a.limits[-1], a.rounds)
        return
    print("| scheduler | trials | prices | kind | limit (s) | CPU (s) | CPU / limit | exit | found |\n" + "|---" * 9 + "|", flush=True)
    for row in itertools.product(a.schedulers, a.trials, a.prices, a.kinds):
        scheduler, trials, n_prices, kind = row
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_job(folder, trials, n_prices, kind, scheduler == "asha")
            for limit_s in a.limits:
                cpu, code, plan, err = measure(rbplan, folder, limit_s, DEADLINES.get(trials, "72h"), a.options)
                ratio = f"{cpu / limit_s:.2f}" if limit_s else ""
                print(f"| {scheduler} | {trials:,} | {n_prices} | {kind} | {limit_s or 'none'} | {cpu:.3f} | {ratio} | {code} | {found(plan)} |",
                      flush=True)
                if a.show_stderr or code not in (0, 3):
                    print(err, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
