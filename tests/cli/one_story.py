"""One plan, one story: what rbplan estimates of a plan, what rbsim makes of the same plan with other random numbers, and what
rbrun makes of it on a mock cloud, agree within their statistical error; for every tuner under every policy that it makes sense with.

    one_story.py --bin BUILD [--all] [--replicates N] [--real N]     --real: besides, N real runs of each of some plans
"""
import argparse
import json
import math
import os
import resource
import sys
import tempfile
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

JOB = """name: story
metric: {name: val_acc, goal: maximize}
parameters: {lr: {values: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2]}}
scheduler: {%s}
policy: %s
trial: {gpus: {min: 1, max: 2}%s}
run: sh story.sh
checkpoint: {dir: ckpt}
resources: {infra: [%s], instance_types: [two.gpus], max_nodes: %d}
"""

NOISE = """format: rb-profile/1
name: story
training: [{accelerator: T4, base_s: 60, layouts: [{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 1, speedup: 1.8}]%s}]
noise:
  between: {distribution: lognormal, mean: 1, cv: 0.15}
  within: {distribution: lognormal, mean: 1, cv: 0.1}
startup_s: {distribution: lognormal, mean: 8, cv: 0.3}
checkpoint_s: 2
provisioning:
  - infra: "*"
    instance_type: "*"
    market: "*"
    queue_s: {distribution: lognormal, mean: 20, cv: 0.4}
    init_s: {distribution: lognormal, mean: 60, cv: 0.3}
    capacity_failure: 0
"""
SHARING = ", sharing: [{trials: 2, slowdown: 1.3}]"

SCRIPT = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
save() { echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"; }
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep 0.2
    echo "epoch=$epoch val_acc=0.$((1000 + RB_TRIAL_ID * 2741 % 4000 + epoch * 4000 / (epoch + 8)))"
    [ ! -e "$RB_PREEMPT_FILE" ] || { save; exit 75; }
done
save
"""

TUNERS = {
    "sha": "type: sha, num_trials: 12, min_resource: 1, max_resource: 9, eta: 3",
    "hyperband": "type: hyperband, min_resource: 1, max_resource: 9, eta: 3",
    "asha": "type: asha, num_trials: 12, min_resource: 1, max_resource: 9, eta: 3",
    "random": "type: random, num_trials: 6, max_resource: 4",
    "grid": "type: grid, max_resource: 3",
    "pbt": "type: pbt, num_trials: 6, ready_every: 3, max_resource: 9",
    "pbt, one by one": "type: pbt, num_trials: 6, ready_every: 3, max_resource: 9, asynchronous: true",
}
POLICIES = ("elastic", "static", "fluid", "packing")
FEW = (("sha", "elastic"), ("pbt", "elastic"), ("random", "packing"), ("asha", "hypersched"), ("asha", "lookahead"))
UNTIL_DEADLINE = ("hypersched", "lookahead")  # asha alone
REAL = {  # of policy: tuner, limits
    "lookahead": ("type: asha, num_trials: 60, min_resource: 1, max_resource: 500, eta: 3", "deadline: 90s\nbudget: 0.048\n"),
    "hypersched": ("type: asha, num_trials: 60, min_resource: 1, max_resource: 500, eta: 3", "deadline: 75s\nbudget: 0.05\n"),
    "elastic/sha": (TUNERS["sha"], "deadline: 3m\nbudget: 0.2\n"),
    "elastic/pbt": (TUNERS["pbt"], "deadline: 3m\nbudget: 0.2\n"),
}
UNSURE = 5  # standard errors: once in two million, for some hundred comparisons


class OneStory(unittest.TestCase):
    options = None

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="rb-story-")
        self.addCleanup(self.temporary.cleanup)
        self.run_ = RealRun(self.options.bin, self.temporary.name)
        with open(os.path.join(self.temporary.name, "prices.csv"), "w", encoding="utf-8") as f:
            f.write("infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                    "aws/us-east-1,two.gpus,T4,2,16,8,32,on_demand,1.00\n")

    def job(self, name, tuner, policy, more, infra="aws/us-east-1", max_nodes=4, trial=""):
        self.run_.write(name, JOB % (tuner, policy, trial, infra, max_nodes) + more)
        return name

    def plan(self, job, *more):
        self.run_.say("rbplan", job, "--profile-file", "profile.yaml", "--prices", "prices.csv", "--threads", "2", "-o", "plan.json", *more)
        with open(os.path.join(self.temporary.name, "plan.json"), encoding="utf-8") as f:
            return json.load(f)

    def simulate(self, job, n):
        said = self.run_.say("rbsim", "--plan", "plan.json", "--replicates", str(n), "--seed", "7", "--json", job)
        return json.loads(said.stdout)

    def compare(self, plan, seen, n):
        """Means of time and cost, and the probability of both limits."""
        estimate = plan["estimate"]
        for key in ("time_us", "cost_uusd"):
            own = estimate["stderr"][key.replace("_u", "_mean_u")]
            mean = seen["means"][key]
            error = math.hypot(own, mean["sd"] / math.sqrt(n)) + 0.002 * mean["mean"]
            self.assertLess(abs(estimate[key]["mean"] - mean["mean"]), UNSURE * error + 1,
                            "%s: %s estimated, %s simulated" % (key, estimate[key], mean))
        p, share, m = estimate["p_both"], seen["kept"] / n, estimate["samples"]
        if p is None:  # a profile of constants: nothing is known of the spread
            return
        pooled = (p * m + seen["kept"] + 1) / (m + n + 2)
        error = math.sqrt(pooled * (1 - pooled) * (1 / m + 1 / n))
        self.assertLess(abs(p - share), UNSURE * error, "P %.4f estimated, %.4f simulated" % (p, share))

    def story(self, tuner, policy, n):
        """With limits that it keeps in most runs, not in all: those of its own estimate without any."""
        shares = policy in ("fluid", "packing")
        self.run_.write("profile.yaml", NOISE % (SHARING if shares else ""))
        job = self.job("free.yaml", TUNERS[tuner], policy, "deadline: 3h\n")
        free = self.plan(job)["estimate"]
        more = 1.3 if shares else 1.02  # those are chosen as if trials had one width, and end sooner
        deadline_s, budget = free["time_us"]["p95"] * more / 1e6, free["cost_uusd"]["p95"] * more / 1e6
        if policy in UNTIL_DEADLINE:
            deadline_s, budget = 1800, 1.3
        job = self.job("limited.yaml", TUNERS[tuner], policy, "deadline: %ds\nbudget: %.2f\nconfidence: 0.8\n" % (math.ceil(deadline_s), budget))
        self.compare(self.plan(job), self.simulate(job, n), n)

    def test_estimates_and_simulated_runs_agree(self):
        every = [(t, p) for t in TUNERS for p in POLICIES + (UNTIL_DEADLINE if t == "asha" else ())]
        for tuner, policy in every if self.options.all else FEW:
            with self.subTest(tuner=tuner, policy=policy):
                began = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                self.story(tuner, policy, self.options.replicates // (4 if policy == "lookahead" else 1))
                took = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
                print("%s under %s: alike (%.1f s)" % (tuner, policy, took), flush=True)

    def test_the_budget_stops_a_simulated_run_where_it_stops_a_real_one(self):
        """A plan that costs more than its budget, because the budget was lowered after it was made."""
        self.run_.write("profile.yaml", NOISE % "")
        job = self.job("free.yaml", TUNERS["sha"], "elastic", "deadline: 1h\n")
        plan = self.plan(job)
        half = plan["estimate"]["cost_uusd"]["p50"] // 2
        plan["budget_uusd"] = half
        with open(os.path.join(self.temporary.name, "plan.json"), "w", encoding="utf-8") as f:
            json.dump(plan, f)
        seen = self.simulate(job, 50)
        self.assertEqual((seen["kept"], seen["cut"]), (0, 50))
        self.assertLessEqual(seen["cost_uusd"]["p99"], half)
        self.assertGreater(seen["cost_uusd"]["p5"], 0.9 * half)

    def real(self, name, tuner, policy, more):
        """One run as planned: (plan, report)."""
        job = self.job("real.yaml", tuner, policy, more, infra="mock/us-east-1", max_nodes=3)
        plan = self.plan(job)
        said = self.run_.say("rbrun", "plan.json", "--json", "--yes", "--state-dir", "state-" + name)
        report = json.loads(said.stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        return job, plan, report

    def real_cloud(self):
        self.run_.write("story.sh", SCRIPT)
        self.run_.write("profile.yaml", profile("story", 0.25, "{gpus: 1, nodes: 1, speedup: 1.0}", "{gpus: 2, nodes: 1, speedup: 1.8}"))
        return MockCloud(self.options.bin, self.temporary.name)

    def test_a_real_run_costs_what_was_estimated(self):
        with self.real_cloud() as cloud:
            self.run_.on(cloud)
            job, plan, report = self.real("short", REAL["lookahead"][0], "lookahead", "deadline: 12s\nbudget: 0.04\n")
            self.compare(plan, self.simulate(job, 20), 20)
            estimated = plan["estimate"]["cost_uusd"]
            self.assertTrue(estimated["p5"] <= report["cost_uusd"]["actual"] <= estimated["p99"], (estimated, report["cost_uusd"]))

    def test_many_real_runs(self):
        """Lookahead begins with one node and buys a second when the rest of its budget pays for it until the deadline."""
        if not self.options.real:
            self.skipTest("only with --real")
        print("%-12s %5s %10s %10s %10s %8s %8s" % ("", "seed", "estimated", "p5", "p99", "real", "s"))
        outside = 0
        with self.real_cloud() as cloud:
            self.run_.on(cloud)
            for name, (tuner, more) in REAL.items():
                for seed in range(self.options.real):
                    job, plan, report = self.real("%s-%d" % (name, seed), tuner, name.split("/")[0], more + "seed: %d\n" % seed)
                    cost, actual = plan["estimate"]["cost_uusd"], report["cost_uusd"]["actual"]
                    print("%-12s %5d %10d %10d %10d %8d %8.1f" % (name, seed, cost["mean"], cost["p5"], cost["p99"], actual,
                                                             report["time_us"]["actual"] / 1e6), flush=True)
                    outside += not cost["p5"] * 0.97 <= actual <= cost["p99"] * 1.03
        self.assertLessEqual(outside, len(REAL) * self.options.real // 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--all", action="store_true", help="every tuner under every policy, not a few")
    parser.add_argument("--real", type=int, default=0)
    OneStory.options, rest = parser.parse_known_args()
    OneStory.options.bin = os.path.abspath(OneStory.options.bin)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
