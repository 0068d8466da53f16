#!/usr/bin/env python3
"""The same inputs and seed give the same bytes, whatever built the programs and however many threads they use. Makes plans,
simulations, dry runs and fitted profiles of the planning examples and of random jobs, once for each variant, and compares
every output with the first variant's. Two runs of the first variant count as variants too.

Usage: same_bytes.py --root SOURCE_ROOT [--jobs N | --seeds 3,7] [--samples N] [--threads 1,4] BUILD_DIR..."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import random_jobs
import run_cli

EXAMPLES = ("bert", "resnet50-cifar10", "resnet50-imagenet")
INFEASIBLE = 3
TIMEOUT_S = 600
NODE_LIMIT = 3000  # a search may be cut, but only where it can be cut again in the same place


class Variant:
    def __init__(self, build, threads, run):
        self.bin, self.threads = os.path.abspath(build), threads
        self.name = "%s, %d thread%s%s" % (build, threads, "s" if threads > 1 else "", ", again" if run else "")


class Outputs:
    """What one variant's commands printed and wrote for one job, in a copy of the job's folder."""

    def __init__(self, variant, folder, root):
        self.variant, self.folder, self.found = variant, folder, {}
        self.env = run_cli.environment(variant.bin, root, str(folder))

    def run(self, *command, may_be_infeasible=False):
        p = subprocess.run(command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=TIMEOUT_S)
        if p.returncode not in ((0, INFEASIBLE) if may_be_infeasible else (0,)):
            sys.exit("%s: $ %s\nexit code %d\n%s" % (self.variant.name, " ".join(command), p.returncode, p.stderr.decode()))
        text = " ".join(c for c in command if not c.startswith("--threads="))
        self.found[text + ": stdout"] = p.stdout
        self.found[text + ": stderr"] = run_cli.without_waiting(p.stderr.decode("utf-8", "surrogateescape"))
        return p.returncode == 0

    def wrote(self, name):
        self.found[name] = (self.folder / name).read_bytes()

    def plan(self, samples, *options):
        common = ("--threads=%d" % self.variant.threads, "--samples=%d" % samples, "--node-limit=%d" % NODE_LIMIT, *options)
        if not self.run("rbplan", "job.yaml", "-o", "plan.json", "--json", "--explain", *common, may_be_infeasible=True):
            return False
        self.wrote("plan.json")
        self.run("rbsim", "job.yaml", "--plan", "plan.json", "--replicates", "30", "--json")
        self.run("rbrun", "plan.json", "--dry-run", "--json")
        return True

    def frontier(self, samples):
        self.run("rbplan", "job.yaml", "--pareto", "pareto.json", "--samples=%d" % samples, "--node-limit=%d" % NODE_LIMIT,
                 "--threads=%d" % self.variant.threads)
        self.wrote("pareto.json")

    def fit(self):
        measured = ("--name", "fitted", "--accelerator", "V100", "--batch", "128", "--units-per-epoch", "391")
        self.run("rbprofile", "import", "throughput.csv", *measured)
        self.run("rbprofile", "import", "provisions.csv")
        self.run("rbprofile", "fit", "fitted", "--json")
        self.run("rbprofile", "export", "fitted")
        self.run("rbprofile", "show", "fitted", "--json")


def make_example(root, name, folder):
    """An example with its prices beside it, so that nothing printed depends on where the folder lies."""
    for file in ("job.yaml", "profile.yaml"):
        shutil.copy(os.path.join(root, "examples", name, file), folder)
    shutil.copy(os.path.join(root, "examples", "prices", "aws-us-east-1.csv"), folder / "prices.csv")


def example_outputs(args, name):
    def make(variant, folder):
        make_example(args.root, name, folder)
        outputs = Outputs(variant, folder, args.root)
        if not outputs.plan(args.samples):
            sys.exit("%s: no plan of the example %s" % (variant.name, name))
        if name == EXAMPLES[0]:
            outputs.frontier(args.samples)
        return outputs.found
    return make


def random_outputs(args, seed, planned):
    def make(variant, folder):
        random_jobs.write(folder, seed)
        outputs = Outputs(variant, folder, args.root)
        if outputs.plan(args.samples):
            planned.add(seed)
        outputs.fit()
        return outputs.found
    return make


def differences(job, make, variants):
    """One line for each output of a variant that is not the first one's; and how many were compared."""
    first, lines, n = None, [], 0
    for variant in variants:
        with tempfile.TemporaryDirectory(prefix="rb-same-bytes-") as top:
            folder = pathlib.Path(top, "job")
            folder.mkdir()
            found = make(variant, folder)
        if first is None:
            first = found
            continue
        for name in sorted(first.keys() | found.keys()):
            n += 1
            if first.get(name) != found.get(name):
                lines.append("%s: %s: %s differs from %s" % (job, name, variant.name, variants[0].name))
    return lines, n


def another_seed_differs(args, variant):
    """Were this false, the comparison would not be able to fail."""
    plans = []
    for seed in (1, 2):
        with tempfile.TemporaryDirectory(prefix="rb-same-bytes-") as top:
            make_example(args.root, EXAMPLES[0], pathlib.Path(top))
            outputs = Outputs(variant, pathlib.Path(top), args.root)
            outputs.plan(args.samples, "--seed=%d" % seed)
            plans.append(outputs.found["plan.json"])
    return plans[0] != plans[1]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--root", required=True, type=os.path.abspath, help="the source tree")
    options.add_argument("--jobs", type=int, default=6, help="how many random jobs, of the seeds from 0 on")
    options.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], help="the seeds of the random jobs")
    options.add_argument("--samples", type=int, default=512, help="replicates behind every estimate")
    options.add_argument("--threads", default="1,4", help="numbers of threads")
    options.add_argument("build", nargs="+", help="where the programs are")
    args = options.parse_args()
    seeds = args.seeds or range(args.jobs)
    variants = [Variant(b, int(t), 0) for b in args.build for t in args.threads.split(",")]
    variants.append(Variant(args.build[0], variants[0].threads, 1))
    planned = set()
    jobs = [(name, example_outputs(args, name)) for name in EXAMPLES]
    jobs += [("random job %d" % seed, random_outputs(args, seed, planned)) for seed in seeds]
    lines, n = [], 0
    for job, make in jobs:
        more, compared = differences(job, make, variants)
        lines, n = lines + more, n + compared
        print("%s: %d outputs compared, %d differ" % (job, compared, len(more)), flush=True)
    if 2 * len(planned) < len(seeds):
        lines.append("only %d of %d random jobs have a plan: too few to compare" % (len(planned), len(seeds)))
    if not another_seed_differs(args, variants[0]):
        lines.append("another seed gives the same plan: the comparison proves nothing")
    print("\n".join(lines), end="\n" if lines else "")
    print("%d variants, %d outputs, %d problems" % (len(variants), n, len(lines)))
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
