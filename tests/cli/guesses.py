#!/usr/bin/env python3
"""Plans from guesses of growing width: none is called proved, and none promises a narrower cost than a surer guess does.
Usage: guesses.py --bin BUILD_DIR --root SOURCE_DIR [--all]   --all: every example on three GPUs (two minutes)"""
import argparse
import json
import os
import subprocess
import sys

WIDTHS = ("own", "published", "feeling")
CASES = [("bert", "T4"), ("resnet50-cifar10", "V100")]
ALL = [(job, on) for job in ("bert", "resnet50-cifar10", "resnet50-imagenet", "asha-cifar10") for on in ("A10G", "T4", "V100")]


def plan(options, job, guess):
    done = subprocess.run([os.path.join(options.bin, "rbplan"), "--guess", guess, "--json", "--time-limit", "5s",
                           "--prices", os.path.join(options.root, "examples/prices/aws-us-east-1.csv"),
                           "--set", "deadline=null", "--set", "budget=null",
                           os.path.join(options.root, "examples", job, "job.yaml")],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("%s, %s: %s" % (job, guess, done.stderr))
    return json.loads(done.stdout)


def check(options, job, on):
    narrowest = 1
    for width in WIDTHS:
        found = plan(options, job, "unit=4m,on=%s,from=%s" % (on, width))
        cost = found["estimate"]["cost_uusd"]
        ratio = cost["p95"] / cost["p5"]
        print("%-18s %-5s %-9s  dearest over cheapest: %.2f" % (job, on, width, ratio))
        assert not found["bound"]["proved"], (job, on, width)
        assert found["profile"]["model"]["basis"], (job, on, width)
        assert ratio > narrowest, (job, on, width, ratio, narrowest)
        narrowest = ratio


parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
parser.add_argument("--root", required=True)
parser.add_argument("--all", action="store_true")
arguments = parser.parse_args()
for case in ALL if arguments.all else CASES:
    check(arguments, *case)
