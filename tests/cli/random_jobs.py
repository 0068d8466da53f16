"""Seeded random jobs with all they need beside them: spot and lost nodes, requests that fail, waves that do not come out
even, trials over two nodes, every family of distributions. Written as JSON, which YAML readers read."""
import json
import random

GPU_SPEEDUP = 0.85  # of doubling the GPUs within a node; between nodes each doubling gives less


def distribution(rng, mean, families):
    """One of the families, about that mean."""
    family = rng.choice(families)
    if family == "constant":
        return mean
    if family == "exponential":
        return {"distribution": family, "mean": mean}
    if family == "empirical":
        return {"distribution": family, "values": [round(mean * rng.uniform(0.5, 1.7), 3) for _ in range(rng.randint(2, 9))]}
    return {"distribution": family, "mean": mean, "cv": round(rng.uniform(0.02, 0.6), 3)}


POSITIVE = ["lognormal", "gamma", "weibull", "empirical", "normal"]
ANY = POSITIVE + ["exponential", "constant"]


def profile(rng):
    layouts, speedup = [], 1.0
    for gpus in (1, 2, 4, 8):
        layouts.append({"gpus": gpus, "nodes": 1, "speedup": round(speedup, 4)})
        if gpus > 1:
            layouts.append({"gpus": gpus, "nodes": 2, "speedup": round(speedup * rng.uniform(0.7, 0.95), 4)})
        speedup *= 2 * rng.uniform(GPU_SPEEDUP - 0.1, GPU_SPEEDUP + 0.1)
    provisioning = [{
        "infra": "aws", "instance_type": "*", "market": market,
        "queue_s": distribution(rng, rng.uniform(5, 60), ANY),
        "init_s": distribution(rng, rng.uniform(10, 120), ANY),
        "capacity_failure": round(rng.choice([0, rng.uniform(0, 0.4)]), 3),
        "preemption_per_hour": round(rng.uniform(0.05, 1.5), 3) if market == "spot" else 0,
    } for market in ("on_demand", "spot")]
    return {"format": "rb-profile/1", "name": "random", "source": "drawn",
            "training": [{"accelerator": "V100", "base_s": round(rng.uniform(5, 90), 2), "layouts": layouts}],
            "noise": {"between": distribution(rng, 1, POSITIVE), "within": distribution(rng, 1, POSITIVE)},
            "startup_s": distribution(rng, rng.uniform(1, 20), ANY),
            "checkpoint_s": distribution(rng, rng.uniform(0.5, 5), ANY),
            "provisioning": provisioning}


def job(rng, seed):
    eta = rng.randint(2, 4)
    constraints = rng.choice([{}, {"deadline": "20h"}, {"budget": 500}, {"deadline": "12h", "budget": 900}])
    return {"name": "random", "seed": seed, "metric": {"name": "loss", "goal": "minimize"},
            "parameters": {"lr": {"distribution": "log_uniform", "min": 0.0001, "max": 0.1}},
            "scheduler": {"type": "sha", "num_trials": rng.randint(5, 30), "max_resource": rng.randint(4, 30), "eta": eta,
                          "rungs": rng.choice(["cumulative", "additional"])},
            "trial": {"gpus": {"min": 1, "max": 8, "sizes": [1, 2, 4, 8]}, "max_nodes": rng.choice([1, 2])},
            "run": "python train.py $RB_ARGS",
            "resources": {"infra": ["aws/us-east-1"], "spot": rng.choice(["allow", "only", "never"]),
                          "max_nodes": rng.randint(4, 8)},
            "confidence": rng.choice([0.5, 0.9, 0.95]), **constraints}


def prices(rng):
    rows = ["infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour"]
    for gpus in rng.sample([1, 2, 4, 8], 2):
        per_hour = gpus * rng.uniform(2, 4)
        for market, share in (("on_demand", 1), ("spot", rng.uniform(0.2, 0.7))):
            rows.append("aws/us-east-1,v100.%d,V100,%d,16,%d,%d,%s,%.6f"
                        % (gpus, gpus, 8 * gpus, 61 * gpus, market, per_hour * share))
    return "\n".join(rows) + "\n"


def throughput(rng):
    """Step times as a model with seven parameters would give them, with noise."""
    rows = ["placement,local_bsz,step_time,sync_time"]
    for placement in ("1", "2", "4", "11", "22", "1111"):
        gpus, nodes = sum(int(c) for c in placement), len(placement)
        for batch in (32, 64, 128, 256):
            sync = 0 if gpus == 1 else (0.02 if nodes == 1 else 0.08) + 0.004 * max(gpus - 2, 0)
            step = 0.03 + 0.0011 * batch
            noise = rng.lognormvariate(0, 0.05)
            rows.append("%s,%d,%.6f,%.6f" % (placement, batch, (step + sync) * noise, sync * noise))
    return "\n".join(rows) + "\n"


def provisions(rng):
    rows = ["infra,instance_type,market,queue_s,init_s,outcome"]
    for _ in range(60):
        rows.append("aws/us-east-1,v100.1,on_demand,%.3f,%.3f,ok" % (rng.gammavariate(4, 5), rng.weibullvariate(60, 3)))
    rows += ["aws/us-east-1,v100.1,on_demand,,,capacity"] * 3
    return "\n".join(rows) + "\n"


def write(folder, seed):
    """job.yaml, profile.yaml, prices.csv, throughput.csv and provisions.csv into an existing folder."""
    rng = random.Random("job %d" % seed)
    files = {"job.yaml": json.dumps(job(rng, seed), indent=1), "profile.yaml": json.dumps(profile(rng), indent=1),
             "prices.csv": prices(rng), "throughput.csv": throughput(rng), "provisions.csv": provisions(rng)}
    for name, text in files.items():
        (folder / name).write_text(text)
