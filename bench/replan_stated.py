#!/usr/bin/env python3
"""Is what `rbsim --replan` says of a plan true of other runs? Three jobs whose training times the profile knows to a quarter: what
1,024 runs say beside as many other runs as you like. For each job the means of time and cost, whose difference must be within 2.6
standard errors of its own (99 % each), and the probability of keeping the deadline, likewise.

usage: bench/replan_stated.py [--build DIR] [--stated N] [--fresh N] [--job NAME]"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WITHIN = 2.6

JOB = """name: %(name)s
metric: {name: acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: %(trials)d, min_resource: 1, max_resource: %(most)d, eta: %(eta)d}
trial: {gpus: {min: 1, max: 4, sizes: [1, 2, 4]}}
resources: {infra: [aws/us-east-1], spot: never, max_nodes: 8}
run: python train.py
deadline: %(deadline)s
confidence: 0.95
"""

PROFILE = """format: rb-profile/1
name: stated
unit: epoch
source: made up
training:
  - {accelerator: V100, base_s: 40, relative_error: 0.25, layouts: [{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 1, speedup: 1.8},
     {gpus: 4, nodes: 1, speedup: 3}]}
noise: {between: {distribution: lognormal, mean: 1, cv: 0.1}, within: {distribution: lognormal, mean: 1, cv: 0.1}}
startup_s: 2
checkpoint_s: 1
provisioning:
  - {infra: aws, instance_type: "*", market: "*", queue_s: {distribution: lognormal, mean: 10, cv: 0.5},
     init_s: {distribution: normal, mean: 30, cv: 0.15}, capacity_failure: 0, preemption_per_hour: 0}
"""

PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour
aws/us-east-1,p3.8xlarge,V100,4,64,32,244,on_demand,12.24
aws/us-east-1,p3.2xlarge,V100,1,16,8,61,on_demand,3.06
"""

JOBS = {"wide": {"trials": 8, "most": 4, "eta": 2, "deadline": "6m"},
        "narrow": {"trials": 6, "most": 4, "eta": 2, "deadline": "6m"},
        "steep": {"trials": 9, "most": 9, "eta": 3, "deadline": "5m30s"}}


def simulate(build, folder, name, seed, n, *more):
    done = subprocess.run([build + "/rbsim", "--plan", folder + "/" + name + ".json", "--json", "--seed", str(seed), "--replicates", str(n),
                           folder + "/" + name + ".yaml", *more], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def apart(a, b):
    """Two independent means with their spreads: their difference in its standard errors."""
    return (a[0] - b[0]) / math.sqrt(max(a[1] + b[1], 1e-300))


def mean_of(said, key):
    m = said["means"][key]
    return m["mean"], m["sd"] ** 2 / m["runs"]


def share_of(said, pooled):
    return said["p_kept"]["mean"], pooled * (1 - pooled) / said["replicates"]


def check(build, folder, name, n_stated, n_fresh):
    for suffix, text in ((".yaml", JOB % dict(JOBS[name], name=name)), (".profile.yaml", PROFILE), (".csv", PRICES)):
        with open(folder + "/" + name + suffix, "w", encoding="utf-8") as f:
            f.write(text)
    path = folder + "/" + name
    subprocess.run([build + "/rbplan", path + ".yaml", "--profile-file", path + ".profile.yaml", "--prices", path + ".csv", "-o", path + ".json"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    planned = simulate(build, folder, name, 3, n_stated)
    stated, fresh = (simulate(build, folder, name, seed, n, "--replan") for seed, n in ((1, n_stated), (2, n_fresh)))
    pooled = (stated["kept"] + fresh["kept"] + 1) / (n_stated + n_fresh + 2)
    off = {key: apart(mean_of(stated, key), mean_of(fresh, key)) for key in ("time_us", "cost_uusd")}
    off["P"] = apart(share_of(stated, pooled), share_of(fresh, pooled))
    ok = all(abs(x) <= WITHIN for x in off.values())
    print("%s: stated $%.4f, P %.3f [%.3f, %.3f]; fresh $%.4f, P %.3f; apart by %s standard errors; as planned $%.4f, P %.3f; other nodes in %.2f%s" % (
        name, stated["cost_uusd"]["mean"] / 1e6, *(stated["p_kept"][k] for k in ("mean", "low", "high")), fresh["cost_uusd"]["mean"] / 1e6,
        fresh["p_kept"]["mean"], ", ".join("%s %.1f" % x for x in off.items()), planned["cost_uusd"]["mean"] / 1e6, planned["p_kept"]["mean"],
        fresh["replanned"] / n_fresh, "" if ok else ": NOT within its error"), flush=True)
    return ok


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--stated", type=int, default=1024)
    p.add_argument("--fresh", type=int, default=4096)
    p.add_argument("--job", choices=sorted(JOBS))
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ok = [check(os.path.abspath(a.build), folder, name, a.stated, a.fresh) for name in ([a.job] if a.job else JOBS)]
    sys.exit(0 if all(ok) else 1)


if __name__ == "__main__":
    main()
