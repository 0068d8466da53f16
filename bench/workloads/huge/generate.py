#!/usr/bin/env python3
"""A job at the limits: 100,000 trials in 12 rungs, 4,096 GPUs, 20 instance types x 3 markets x 6 zones.

    bench/workloads/huge/generate.py DIR        writes job.yaml, profile.yaml and prices.csv
    build/rbplan --time-limit 10s --deadline 3d DIR/job.yaml
"""
import pathlib
import random
import sys

TYPES, ZONES, NODES = 20, 6, 512
MARKETS = [("aws", "on_demand"), ("aws", "spot"), ("gcp", "on_demand")]


def job():
    return f"""name: huge
metric: {{name: loss, goal: minimize}}
parameters:
  lr: {{distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}}
scheduler: {{type: sha, num_trials: 100000, min_resource: 1, max_resource: 2048, eta: 2, rungs: cumulative}}
trial:
  gpus: {{min: 1, max: 8, sizes: [1, 2, 4, 8]}}
  max_nodes: 1
resources: {{infra: [aws/us-east-1, gcp/us-central1], spot: allow, max_nodes: {NODES}}}
run: python train.py
"""


def profile(draw):
    text = ("format: rb-profile/1\nname: huge\nunit: epoch\nsource: drawn\ntraining:\n")
    for t in range(TYPES):
        loss = draw.uniform(0.02, 0.2)
        text += f"  - accelerator: T{t}\n    base_s: {draw.uniform(5, 30):.2f}\n    layouts:\n"
        for g in (1, 2, 4, 8):
            text += f"      - {{gpus: {g}, nodes: 1, speedup: {g / (1 + loss * (g - 1)):.4f}}}\n"
    text += ("noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.2}\n"
             "  within: {distribution: constant, mean: 1.0}\n"
             "startup_s: 2.0\ncheckpoint_s: 1.0\nprovisioning:\n")
    for infra, market in MARKETS:
        text += (f"  - infra: {infra}\n    instance_type: \"*\"\n    market: {market}\n"
                 f"    queue_s: {{distribution: lognormal, mean: {draw.uniform(10, 40):.1f}, cv: 0.4}}\n"
                 f"    init_s: {{distribution: lognormal, mean: {draw.uniform(40, 90):.1f}, cv: 0.2}}\n"
                 "    capacity_failure: 0.0\n    preemption_per_hour: 0.0\n")
    return text


def prices(draw):
    rows = ["infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour"]
    regions = {"aws": "aws/us-east-1", "gcp": "gcp/us-central1"}
    for t in range(TYPES):
        base = draw.uniform(4, 40)
        for infra, market in MARKETS:
            for zone in range(ZONES):
                name = regions[infra].split("/")[1] + ("" if infra == "aws" else "-") + chr(ord("a") + zone)
                price = base * (draw.uniform(0.3, 0.6) if market == "spot" else draw.uniform(0.95, 1.1))
                rows.append(f"{regions[infra]}/{name},"
                            f"m{t}.8,T{t},8,16,64,488,{market},{price:.4f}")
    return "\n".join(rows) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    (folder / "job.yaml").write_text(job())
    (folder / "profile.yaml").write_text(profile(draw))
    (folder / "prices.csv").write_text(prices(draw))


if __name__ == "__main__":
    main()
