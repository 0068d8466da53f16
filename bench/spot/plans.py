#!/usr/bin/env python3
"""Plans under resources.spot: safe that are chosen together with spot, of random jobs on markets of a table of capacity:
what the cheapest plan on demand costs, without spot and with it, and what the plan costs that rbplan takes.

    bench/spot/plans.py --rbplan build/rbplan --rbprofile build/rbprofile --table DIR/capacity.csv.gz [--jobs 10]
"""
import argparse
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

SET, ZONES = "v100-9zones-2023-02", ["us-east-1a", "us-east-1c", "us-east-2a", "us-west-2b"]
JOB = """name: {name}
metric: {{name: val_acc, goal: maximize}}
parameters: {{lr: {{min: 0.1, max: 0.9}}}}
scheduler: {{type: sha, num_trials: {trials}, min_resource: 1, max_resource: {resource}, eta: {eta}, unit: epoch}}
trial: {{gpus: 1}}
run: python3 train.py
checkpoint: {{dir: ckpt{saves}}}
resources: {{infra: [aws/{region}/{zone}], instance_types: [p3.2xlarge], spot: safe, max_nodes: 32}}
"""
PROFILE = """format: rb-profile/1
name: {name}
unit: epoch
source: made up
training: [{{accelerator: V100, base_s: {base_s:.0f}, layouts: [{{gpus: 1, nodes: 1, speedup: 1.0}}]}}]
noise:
  between: {{distribution: lognormal, mean: 1.0, cv: {cv:.2f}}}
  within: {{distribution: lognormal, mean: 1.0, cv: {cv:.2f}}}
startup_s: 20
checkpoint_s: 5
provisioning:
  - {{infra: aws, instance_type: "*", market: spot, queue_s: 20, init_s: 100, capacity_failure: 0, preemption_per_hour: 0.1}}
  - {{infra: aws, instance_type: "*", market: on_demand, queue_s: 20, init_s: 100, capacity_failure: 0, preemption_per_hour: 0}}
"""
PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
aws/{region}/{zone},p3.2xlarge,V100,1,16,8,61,on_demand,3.06,AWS,2026-07-20T00:00:00Z
aws/{region}/{zone},p3.2xlarge,V100,1,16,8,61,spot,0.927,made up: on demand / 3.3,2026-07-20T00:00:00Z
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(" ".join(map(str, command)) + ": " + done.stdout + done.stderr)
    return done


def write_job(folder, number):
    draw = random.Random(number)
    zone, eta = ZONES[number % len(ZONES)], draw.choice([2, 3, 4])
    rungs = draw.randint(2, 3)
    values = {"name": "job", "zone": zone, "region": zone[:-1], "eta": eta, "resource": eta ** rungs,
              "trials": eta ** rungs, "base_s": draw.uniform(120, 900), "cv": draw.uniform(0.02, 0.1),
              "saves": draw.choice(["", ", every: auto"]), "slack": draw.choice([1.1, 1.3, 1.6, 2.0])}
    for name, text in ("job.yaml", JOB), ("profile.yaml", PROFILE), ("prices.csv", PRICES):
        (folder / name).write_text(text.format(**values))
    return values


def write_market(folder, table, zone):
    with gzip.open(table, "rt") as f:
        head, *rows = f.read().splitlines()
    kept = [r for r in rows if r.startswith(SET + ",") and f",{zone}," in r]
    (folder / "capacity.csv").write_text("\n".join([head, *kept]) + "\n")


def measure(args, folder, number):
    values = write_job(folder, number)
    write_market(folder, args.table, values["zone"])
    os.environ["RB_DB"] = str(folder / "store")
    run(args.rbprofile, "import", folder / "profile.yaml", folder / "capacity.csv", "--name", "job", "--sampled-every",
        "195", "--together", "1")
    plan = [args.rbplan, "--prices", folder / "prices.csv"]
    nearest = json.loads(run(*plan, "--json", "--planner", "static", "--deadline", "1s", folder / "job.yaml").stdout)
    deadline_s = values["slack"] * nearest["nearest"]["deadline_us"] / 1e6
    done = run(*plan, "--json", "--explain", "--deadline", f"{deadline_s:.0f}s", folder / "job.yaml")
    first = re.search(r"spot: planned for 100 % of the time: \$([\d.]+) with spot machines, \$([\d.]+) without", done.stderr)
    return values, float(first[2]), float(first[1]), json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rbplan", default="build/rbplan")
    parser.add_argument("--rbprofile", default="build/rbprofile")
    parser.add_argument("--table", required=True)
    parser.add_argument("--jobs", type=int, default=10)
    args = parser.parse_args()
    print("| zone | trials | epoch | saves | deadline | on demand | the same plan with spot | plan taken, with spot "
          "| that on demand | P | spot alone: P |\n|---|---|---|---|---|---|---|---|---|---|---|")
    ratios = []
    for number in range(args.jobs):
        with tempfile.TemporaryDirectory() as folder:
            values, demand, before, plan = measure(args, pathlib.Path(folder), number)
        after, spot = plan["estimate"]["cost_uusd"]["mean"] / 1e6, plan["spot"]
        ratios.append((before / demand, after / demand))
        print(f"| {values['zone']} | {values['trials']} | {values['base_s']:.0f} s | {'yes' if values['saves'] else 'no'} "
              f"| × {values['slack']} | ${demand:.2f} | ${before:.2f} | ${after:.2f} "
              f"| ${spot['on_demand']['cost_uusd']['mean'] / 1e6:.2f} | {plan['estimate']['p_deadline']:.3f} "
              f"| {spot['alone']['p_deadline']:.3f} |")
    n = len(ratios)
    print(f"\nMeans of cost over on demand: {sum(r[0] for r in ratios) / n:.2f} with the same plan, "
          f"{sum(r[1] for r in ratios) / n:.2f} with the plan taken.")


if __name__ == "__main__":
    main()
