#!/usr/bin/env python3
"""YAML and JSON that the reference shows is accepted by the reader it documents. Every block of a page below has its rule: whole
files are read as they are, parts are completed to a whole first. A block without a rule is a failure, and so is a rule without
its block.

Usage: fragments.py --bin BUILD --root SOURCE"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import page as pages

PAGES = ("docs/slurm.md", "docs/kubernetes.md", "docs/gcp.md", "docs/formats/*.md")

JOB = """name: whole
metric: {name: acc, goal: maximize}
scheduler: {type: sha, num_trials: 4, max_resource: 4}
run: "true"
"""
PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour
mock/us-east-1,g4dn.12xlarge,T4,4,16,48,192,on_demand,3.912
mock/us-east-1,g5.xlarge,A10G,1,24,4,16,spot,0.4
"""
CAPACITY = """set,kind,zone,instance_type,start_min,capacity
v100-9zones-2023-02,availability,us-east-1a,g5.xlarge,0,1
v100-9zones-2023-02,availability,us-east-1a,g5.xlarge,9000,end
"""


def accepted(argv, folder):
    """None, or what the program said."""
    done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=30, env={"HOME": folder, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    return None if done.returncode == 0 else done.stdout


def job(programs, folder, text):
    write(folder, "job.yaml", text)
    return accepted([programs + "/rbplan", "--check", "job.yaml"], folder)


def job_part(programs, folder, text):
    return job(programs, folder, JOB + text)


def imported(programs, folder, text):
    write(folder, "other.json", text)
    return accepted([programs + "/rbplan", "import", "other.json"], folder)


def listens(programs, folder, *options):
    """rbmock reads its files before it listens."""
    process = subprocess.Popen([programs + "/rbmock", "--ec2", "0", *options], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    first = process.stdout.readline()
    process.terminate()
    rest = process.communicate(timeout=20)[0]
    return None if first.startswith("ready ") else first + rest


def cloud(programs, folder, text):
    write(folder, "prices.csv", PRICES)
    write(folder, "capacity.csv", CAPACITY)
    write(folder, "cloud.yaml", text)
    return listens(programs, folder, "--cloud", "cloud.yaml")


def cloud_part(programs, folder, text):
    whole = ("format: rb-mock/1\nprices: prices.csv\nprovisioning:\n"
             "  - {infra: \"*\", instance_type: \"*\", market: \"*\", queue_s: 1, init_s: 1, capacity_failure: 0}\n")
    return cloud(programs, folder, whole + text)


def chaos(programs, folder, text):
    write(folder, "chaos.yaml", text)
    return listens(programs, folder, "--chaos", "chaos.yaml")


def profile_part(programs, folder, text):
    whole = ("format: rb-profile/1\ntraining:\n  - {accelerator: V100, base_s: 60, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
             "noise: {between: 1.0, within: 1.0}\nstartup_s: 8\ncheckpoint_s: 2\n")
    write(folder, "profile.yaml", whole + text)
    return accepted([programs + "/rbprofile", "import", "profile.yaml", "--db", "profiles.db"], folder)


def cluster(programs, folder, text):
    write(folder, "prices.csv", PRICES.splitlines()[0] + "\nk8s/lab,g4dn.12xlarge,T4,4,16,48,192,on_demand,3.912\n")
    write(folder, "cloud.yaml", text)
    return listens(programs, folder, "--cloud", "cloud.yaml", "--k8s", "0")


def profile(programs, folder, text):
    write(folder, "profile.yaml", text)
    return accepted([programs + "/rbprofile", "import", "profile.yaml", "--db", "profiles.db"], folder)


RULES = {
    "docs/slurm.md": [job_part],
    "docs/kubernetes.md": [job_part, cluster, profile, job_part],
    "docs/formats/job.md": [job, job_part, job_part, job_part],
    "docs/howto/trackers.md": [job_part],
    "docs/formats/mock.md": [cloud, cloud_part, cloud_part],
    "docs/formats/chaos.md": [chaos],
    "docs/formats/import.md": [imported, imported],
    "docs/formats/profile.md": [profile_part],
    "docs/formats/search.md": [job],
}


def write(folder, name, text):
    pathlib.Path(folder, name).write_text(text, encoding="utf-8")


def check_page(name, found, programs):
    problems = []
    rules = RULES.get(name, [])
    if len(found) != len(rules):
        problems.append("%s: %d blocks of YAML or JSON, %d rules here say who reads them" % (name, len(found), len(rules)))
    for block, rule in zip(found, rules):
        with tempfile.TemporaryDirectory(prefix="rb-fragment-") as folder:
            said = rule(programs, folder, "\n".join(block.lines) + "\n")
        if said is not None:
            problems.append("%s:%d: refused: %s" % (name, block.line, said.strip()))
    return problems


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", required=True)
    options.add_argument("--root", required=True)
    args = options.parse_args()
    root = pathlib.Path(args.root)
    problems, n = [], 0
    for path in sorted(p for pattern in PAGES for p in root.glob(pattern)):
        name = str(path.relative_to(root))
        found = [b for b in pages.blocks(path.read_text(encoding="utf-8")) if b.language in ("yaml", "json")]
        n += len(found)
        problems += check_page(name, found, os.path.abspath(args.bin))
    print("\n".join(problems + ["%d blocks given to their readers, %d problems" % (n, len(problems))]))
    sys.exit(1 if problems or n == 0 else 0)


if __name__ == "__main__":
    main()
