#!/usr/bin/env python3
"""Plans from guesses of growing width: none is called proved, and none promises a narrower cost than a surer guess does. Then a
profile of one GPU that is transferred to others: every output says which GPU was measured, and which was not.
Usage: guesses.py --bin BUILD_DIR --root SOURCE_DIR [--all]   --all: every example on three GPUs (two minutes)"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

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
        print("%-18s %-5s %-9s  highest over lowest: %.2f" % (job, on, width, ratio))
        assert not found["bound"]["proved"], (job, on, width)
        assert found["profile"]["model"]["basis"], (job, on, width)
        assert ratio > narrowest, (job, on, width, ratio, narrowest)
        narrowest = ratio


class Transfers:
    """A job whose profile was measured on V100, in a store of its own."""

    def __init__(self, options, home):
        self.bin, self.home = options.bin, home
        self.env = dict(os.environ, RB_DB=os.path.join(home, "store.db"), HOME=home)
        example = os.path.join(options.root, "examples", "resnet50-cifar10")
        self.prices = os.path.join(options.root, "examples", "prices", "aws-us-east-1.csv")
        with open(os.path.join(example, "job.yaml"), encoding="utf-8") as f:
            self.job = f.read()
        with open(os.path.join(example, "profile.yaml"), encoding="utf-8") as f:
            self.profile = f.read()
        with open(self.path("job.yaml"), "w", encoding="utf-8") as f:
            f.write(self.job)

    def path(self, name):
        return os.path.join(self.home, name)

    def store(self, more=""):
        with open(self.path("measured.yaml"), "w", encoding="utf-8") as f:
            f.write(self.profile + more)
        self.run("rbprofile", "import", self.path("measured.yaml"))

    def run(self, program, *argv, expect=0):
        done = subprocess.run([os.path.join(self.bin, program), *argv], capture_output=True, text=True, env=self.env, check=False)
        assert done.returncode == expect, (program, argv, done.returncode, done.stdout, done.stderr)
        return done

    def plan(self, *argv, gpus="A100", expect=0, program="rbplan"):
        return self.run(program, "--prices", self.prices, "--set", "resources.accelerators=[%s]" % gpus, "--deadline", "6h",
                        *argv, self.path("job.yaml"), expect=expect)


def says(text, *wanted):
    for part in wanted:
        assert part in text, "%r is not in\n%s" % (part, text)


def check_transfers(here):
    missing = here.plan("--guess", "measured=V100", expect=1).stderr
    says(missing, "there is no profile \"resnet50-cifar10\"", "rbprofile train", "RB1301")
    here.store("measured: {configurations: 3, units: 9, at: 2026-09-01T00:00:00Z}\n")
    says(here.plan(expect=2).stderr, "has no training entry for A100", "or guess: --guess measured=V100")

    table = here.plan("--guess", "measured=V100", "-o", here.path("plan.json"), "--html", here.path("plan.html")).stdout
    sentence = "A100 was not measured: one is taken to train 2.62 times as fast as one V100, within a factor of 2 at 90 %"
    says(table, "from a guess (30 s for one epoch on one V100: measured)", "measured on V100, not on A100", sentence, "not proved",
         "measured: 3 configurations, 9 units", "measuring 3 epoch on one p4d.24xlarge takes")
    says(here.run("rbplan", "explain", here.path("plan.json")).stdout, sentence)
    with open(here.path("plan.html"), encoding="utf-8") as f:
        says(f.read(), "measured on V100, not on A100")
    with open(here.path("plan.json"), encoding="utf-8") as f:
        found = json.load(f)
    assert not found["bound"]["proved"]
    assert [t["accelerator"] for t in found["profile"]["model"]["training"] if t["transfer"]["from"] == "V100"] == ["A100"]
    says(json.dumps(found["profile"]["model"]["basis"]), "A100 was not measured: one trains 2.62 times as fast as one V100")
    says(here.plan("--guess", "measured=V100", program="rbsim").stderr, "those of GPUs that it lacks are guessed")

    alone = here.plan("--guess", "measured=V100", gpus="V100").stdout
    assert "guess" not in alone, alone
    both = json.loads(here.plan("--guess", "measured=V100", "--json", gpus="V100, A100").stdout)
    assert {t["accelerator"]: "transfer" in t for t in both["profile"]["model"]["training"]} == {"V100": False, "A100": True}


def check_default(here):
    """A guess in the job gives way to what was measured, also on another GPU; one on the command line does not, and mentions it."""
    guess = "guess={unit: 4m, on: A100, from: feeling}"
    done = here.plan("--set", guess)
    says(done.stdout, "measured on V100, not on A100")
    says(done.stderr, "profile resnet50-cifar10 has times of V100; those of GPUs that it lacks are guessed from them")
    assert "guess" not in here.plan("--set", guess, gpus="V100").stdout
    done = here.plan("--guess", "unit=4m,on=A100")
    says(done.stdout, "no one has measured this job")
    says(done.stderr, "was measured on V100, which is not used: --guess measured=V100 plans from that")


def check_refusals(here):
    says(here.plan("--guess", "measured=V1000", expect=1).stderr, "(did you mean V100?)", "RB1270")
    says(here.plan("--guess", "measured=H100", expect=1).stderr, "has no times of H100; it has those of V100", "RB1270")
    says(here.plan("--guess", "measured=V100,unit=4m", expect=2).stderr, "remove `unit`")
    here.store()
    says(here.plan("--guess", "measured=V100").stdout, "in a profile that was written by hand", "the profile has V100, not A100")


parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
parser.add_argument("--root", required=True)
parser.add_argument("--all", action="store_true")
arguments = parser.parse_args()
for case in ALL if arguments.all else CASES:
    check(arguments, *case)
with tempfile.TemporaryDirectory() as folder:
    transfers = Transfers(arguments, folder)
    check_transfers(transfers)
    check_default(transfers)
    check_refusals(transfers)
