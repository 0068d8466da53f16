#!/usr/bin/env python3
"""Prediction beside reality: N full cycles (profile, provision, plan, run), each with seeds of its own, on mock clouds of its own.
Prints how often the actual time and cost fell between the predicted p5 and p95, with the 95 % binomial (Clopper-Pearson)
interval. About 90 % is right; much less or much more is a wrong model. The load of this machine is recorded while a cycle
measures and while it runs: under load the two differ, and that is part of what is tested.

The job is examples/digits; --short makes epochs shorter, for cycles of some 100 seconds. --load N keeps N processes busy beside it.

--replan RHO: are runs that are re-planned as `rbsim --replan` says? The profile says that its training times may be off by RHO (a
standard deviation of the logarithm), each run trains faster or slower by a factor drawn from that, and what rbsim says of the plan
with re-planning is what counts as predicted. --with-replanning: the plan is one that counts on that.

usage: bench/calibration.py [N] [--short] [--replan RHO [--with-replanning]] [--load N] [--parallel P] [--build DIR] [--out FILE.json]"""
import argparse
import concurrent.futures
import json
import math
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
from mock_cloud import customer, read_exports  # noqa: E402


def start_mock(build, cloud, state, seed, log):
    mock = subprocess.Popen([build + "/rbmock", "--ec2", "0", "--cloud", cloud, "--state", state, "--seed", str(seed)],
                            stdout=subprocess.PIPE, stderr=log, text=True)
    ready = mock.stdout.readline()
    if not ready.startswith("ready "):
        raise RuntimeError("rbmock did not start")
    return mock, customer(read_exports(mock.stdout))


# Nodes live for more than the 60 seconds that clouds bill at least: else cost would be a constant.
SHORT_EPOCH_S, EPOCH_S = 2.5, 3.2  # as in the job
SHORT = ["run=/usr/bin/python3 train.py --epoch-seconds %g --startup-seconds 0.6 $RB_ARGS" % SHORT_EPOCH_S]
PACE_FILE = "epoch_seconds"  # with --replan: read by every trial, so that its plan knows nothing of it
RUNS_STATED = 256


class Load(threading.Thread):
    """The one-minute load average, every second from start to stop: its mean."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.over = [], threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(1):
            self.seen.append(os.getloadavg()[0])

    def stop(self):
        self.over.set()
        self.join()
        return sum(self.seen) / len(self.seen) if self.seen else os.getloadavg()[0]


def busy():
    while True:
        pass


def from_file(short):
    return ["run=/usr/bin/python3 train.py --epoch-seconds $(cat %s)%s $RB_ARGS" % (PACE_FILE, " --startup-seconds 0.6" if short else "")]


def set_pace(folder, seconds):
    with open(os.path.join(folder, PACE_FILE), "w") as f:
        f.write("%.6f" % seconds)


def unsure_profile(plan, rho, path):
    """The plan's profile, which now says that its training times may be off by rho."""
    model = json.load(open(plan))["profile"]["model"]
    for training in model["training"]:
        training["relative_error"] = rho
    with open(path, "w") as f:
        json.dump(model, f)


def replanned(run, work, sets, deadline, seed, rho, epoch_s, first):
    """Plans once more, unsure; asks rbsim what such runs take; then changes the pace. What it says of time and cost."""
    draw = random.Random(seed)
    unsure_profile(work + "/plan.json", rho, work + "/unsure.json")
    job = work + "/digits/job.yaml"
    run("rbplan", job, "--deadline", deadline, "--set", "seed=%d" % seed, "--set", "on_drift=replan", *sets, "--profile-file", work + "/unsure.json",
        *first, "-o", work + "/plan.json")
    stated = json.loads(run("rbsim", "--plan", work + "/plan.json", "--replan", "--replicates", str(RUNS_STATED), "--json", job))
    set_pace(work + "/digits", epoch_s * math.exp(draw.gauss(-rho * rho / 2, rho)))
    return stated


def cycle(build, i, wait_s, short, rho, first):
    time.sleep(wait_s)  # cycles side by side must not all measure at once and then all run at once
    work = tempfile.mkdtemp(prefix="rb-calibration-")
    port = 2300 + i
    shutil.copytree(os.path.join(ROOT, "examples", "digits"), work + "/digits")
    cloud = work + "/digits/cloud.yaml"
    text = open(cloud).read().replace("ssh_port: 2222", "ssh_port: %d" % port)
    open(cloud, "w").write(text)
    with open(work + "/log", "w") as log:
        mock, keys = start_mock(build, cloud, work + "/cloud", 1000 + i, log)
        env = dict(os.environ, **keys, RB_DB=work + "/profiles.db", XDG_STATE_HOME=work + "/state", RB_SSH_PORT=str(port),
                   RB_SSH_USER=subprocess.check_output(["id", "-un"], text=True).strip())

        def run(*argv, ok=(0,)):
            done = subprocess.run([build + "/" + argv[0]] + list(argv[1:]), env=env, stdout=subprocess.PIPE, stderr=log, text=True)
            if done.returncode not in ok:
                raise RuntimeError("%s: exit %d, see %s/log" % (" ".join(argv), done.returncode, work))
            return done.stdout

        epoch_s, deadline = (SHORT_EPOCH_S, "110s") if short else (EPOCH_S, "90s")
        changes = from_file(short) if rho else SHORT if short else []
        sets = [word for s in changes for word in ("--set", s)]
        set_pace(work + "/digits", epoch_s)
        try:
            load = Load()
            job = work + "/digits/job.yaml"
            run("rbprofile", "prices", "update", "--from", work + "/digits/prices.csv")
            run("rbprofile", "train", job, "--gpus", "1,2,4", "--resource", "3", "--configs", "4", "--nodes", "2" if short else "4", "--set", "seed=%d" % (5000 + i), *sets)
            run("rbprofile", "provision", "--infra", "mock/us-east-1", "--instance-type", "g4dn.12xlarge", "-n", "5", "--port", str(port))
            measured, load = load.stop(), None
            run("rbplan", job, "--deadline", deadline, "--set", "seed=%d" % (7000 + i), *sets, "-o", work + "/plan.json")
            stated = replanned(run, work, sets, deadline, 7000 + i, rho, epoch_s, first) if rho else None
            load = Load()
            run("rbrun", work + "/plan.json", "--yes", "--json", ok=(0, 4))  # 4: the deadline came first; that counts as late
            report = json.loads(run("rbrun", "report", "--json"))
            ran, load = load.stop(), None
            model = json.load(open(work + "/plan.json"))["profile"]["model"]
        finally:
            if load:
                load.stop()
            mock.send_signal(signal.SIGTERM)
            mock.wait()
    shutil.rmtree(work)
    for what in ("time", "cost") if stated else ():
        key = "time_us" if what == "time" else "cost_uusd"
        report[key]["predicted"] = stated[key]
    return {"cycle": i, "time": report["time_us"], "cost": report["cost_uusd"], "stages": report["stages"],
            "left": report["leak_check"]["instances_left"], "load": {"measured": measured, "ran": ran},
            "errors": {"unit": [t.get("relative_error") for t in model["training"]],
                       **{k: model[k].get("relative_error") for k in ("startup_s", "checkpoint_s")}}}


def beta_quantile(p, a, b):
    """By bisection on the regularised incomplete beta function (continued fraction)."""
    def cdf(x):
        if x <= 0 or x >= 1:
            return float(x >= 1)
        front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x))
        if x > (a + 1) / (a + b + 2):
            return 1 - front * fraction(1 - x, b, a) / b
        return front * fraction(x, a, b) / a

    def fraction(x, a, b):
        c, d = 1.0, 1 - (a + b) * x / (a + 1)
        d = 1 / d
        h = d
        for m in range(1, 300):
            for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
                d = 1 / (1 + numerator * d)
                c = 1 + numerator / c
                h *= c * d
        return h

    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < p else (low, middle)
    return low


def interval(k, n):
    return (0.0 if k == 0 else beta_quantile(0.025, k, n - k + 1), 1.0 if k == n else beta_quantile(0.975, k + 1, n - k))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("n", nargs="?", type=int, default=30)
    p.add_argument("--parallel", type=int, default=1, help="cycles at a time (they mostly sleep, but share the cores)")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--out", help="keep every cycle's numbers here")
    p.add_argument("--first", type=int, default=0, help="number of the first cycle: its seeds")
    p.add_argument("--short", action="store_true", help="shorter epochs")
    p.add_argument("--replan", type=float, metavar="RHO", help="runs that are re-planned, of a profile that may be off by RHO, such as 0.25")
    p.add_argument("--with-replanning", action="store_true", help="with --replan: plans count on it, as rbplan --with-replanning makes them")
    p.add_argument("--load", type=int, default=0, help="keep N processes busy all the while")
    a = p.parse_args()
    results = []
    burners = [multiprocessing.Process(target=busy, daemon=True) for _ in range(a.load)]  # ended with us
    for b in burners:
        b.start()
    with concurrent.futures.ThreadPoolExecutor(a.parallel) as pool:
        futures = [pool.submit(cycle, a.build, a.first + i, (45) * i if i < a.parallel else 0, a.short, a.replan,
                               ["--with-replanning", "--samples", str(RUNS_STATED)] if a.with_replanning else []) for i in range(a.n)]
        for f in concurrent.futures.as_completed(futures):
            try:
                r = f.result()
            except Exception as e:  # one lost cycle must not lose the others; it is counted below
                print("cycle failed: %s" % e, file=sys.stderr)
                continue
            results.append(r)
            t, c = r["time"], r["cost"]
            print("cycle %2d: %.1f s, predicted %.1f .. %.1f .. %.1f; $%.4f, predicted %.4f .. %.4f .. %.4f; "
                  "load %.1f measuring, %.1f running" % (
                r["cycle"], t["actual"] / 1e6, *(t["predicted"][q] / 1e6 for q in ("p5", "p50", "p95")),
                c["actual"] / 1e6, *(c["predicted"][q] / 1e6 for q in ("p5", "p50", "p95")),
                r["load"]["measured"], r["load"]["ran"]), flush=True)
    if a.out:
        with open(a.out, "w") as f:
            json.dump(results, f)
    n = len(results)
    print("%d of %d cycles ended; instances left: %s" % (n, a.n, sum(r["left"] for r in results)))
    if n == 0:
        sys.exit(1)
    for what in ("measured", "ran"):
        loads = sorted(r["load"][what] for r in results)
        print("load while it %s, on %d processors: %.1f .. %.1f .. %.1f" % (what, os.cpu_count(), loads[0], loads[n // 2], loads[-1]))
    for what in ("time", "cost"):
        inside = sum(r[what]["predicted"]["p5"] <= r[what]["actual"] <= r[what]["predicted"]["p95"] for r in results)
        below = sum(r[what]["actual"] < r[what]["predicted"]["p5"] for r in results)
        low, high = interval(inside, n)
        mean = sum(r[what]["actual"] / r[what]["predicted"]["mean"] for r in results) / n
        print("%s: %d of %d between p5 and p95 (95 %% interval %.2f..%.2f), %d below, %d above; actual over predicted mean %.4f"
              % (what, inside, n, low, high, below, n - inside - below, mean))
    sys.exit(0 if n == a.n else 1)


if __name__ == "__main__":
    main()
