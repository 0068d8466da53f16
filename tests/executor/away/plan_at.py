#!/usr/bin/env python3
"""rbplan --at PLACE: what the controller's machine adds to a plan, and what rbrun --at takes off the budget. Nothing is launched.
Usage: plan_at.py --bin BUILD_DIR [TEST]..."""
import argparse
import json
import math
import os
import sys
import tempfile
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "cli")]
from real_run import RealRun  # noqa: E402

US = 1000000
PLACE = "aws/us-east-1"
PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
aws/us-east-1,one.gpu,T4,1,16,4,16,on_demand,1,test,2026-07-20T00:00:00Z
"""
MACHINE = "aws/us-east-1,t3.small,CPU,1,0,2,2,on_demand,0.1,test,2026-07-20T00:00:00Z\n"
PROFILE = """format: rb-profile/1
name: at
training:
  - {accelerator: T4, base_s: 600, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}
noise: {between: 1.0, within: {distribution: lognormal, mean: 1.0, cv: 0.1}}
startup_s: 1
checkpoint_s: 1
provisioning:
  - {infra: "*", instance_type: "*", market: "*", queue_s: 5, init_s: 30, capacity_failure: 0}
"""
JOB = """name: at
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 4, eta: 2}
trial: {gpus: 1}
run: echo
checkpoint: {dir: ckpt}
resources: {infra: [aws/us-east-1], instance_types: [one.gpu], max_nodes: 4, controller: {instance_profile: rb, keep: 2h}}
"""
KEEP_US = 2 * 3600 * US


def bill(rate_uusd, us):
    """Whole seconds, rounded up, then micro-dollars, rounded up."""
    return -(-rate_uusd * math.ceil(us / US) // 3600)


class PlanAt(unittest.TestCase):
    bin_dir = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-plan-at-")
        self.addCleanup(temporary.cleanup)
        self.real = RealRun(self.bin_dir, temporary.name, LC_ALL="C.UTF-8")
        for name, text in (("job.yaml", JOB), ("profile.yaml", PROFILE), ("all.csv", PRICES + MACHINE), ("nodes.csv", PRICES)):
            self.real.write(name, text)

    def rbplan(self, *options, prices="all.csv", expect=0):
        return self.real.say("rbplan", "job.yaml", "--samples", "1024", "--profile-file", "profile.yaml", "--prices", prices, *options,
                             expect=expect)

    def plan(self, *options):
        return json.loads(self.rbplan("--json", *options).stdout)

    def test_the_plan_counts_the_machine(self):
        plan = self.plan("--at", PLACE)
        c, time = plan["controller"], plan["estimate"]["time_us"]
        self.assertEqual({k: c[k] for k in ("place", "instance_type", "uusd_per_hour", "keep_us", "set_aside_uusd")},
                         {"place": PLACE, "instance_type": "t3.small", "uusd_per_hour": 100000, "keep_us": KEEP_US, "set_aside_uusd": 0})
        self.assertEqual(c["cost_uusd"], {k: bill(100000, time[k] + KEEP_US) for k in ("mean", "p50", "p95")})
        alone = self.plan()
        self.assertNotIn("controller", alone)
        self.assertEqual({k: v for k, v in plan.items() if k != "controller"}, alone)
        line, = [l for l in self.rbplan("--at", PLACE).stdout.splitlines() if l.startswith("controller: ")]
        self.assertIn("t3.small in aws/us-east-1 for ", line)
        self.assertIn(", of which 2 h 0 m after the run: $", line)
        self.real.write("job.yaml", JOB.replace("keep: 2h", "keep: 2h, instance_type: one.gpu"))
        self.assertEqual(self.plan("--at", PLACE)["controller"]["uusd_per_hour"], US)

    def test_nodes_have_what_it_leaves_of_the_budget(self):
        most = bill(100000, 6 * 3600 * US + KEEP_US)
        alone = self.plan("--deadline", "6h")
        with_both = self.plan("--deadline", "6h", "--budget", "9", "--at", PLACE)
        self.assertEqual(with_both["controller"]["set_aside_uusd"], most)
        self.assertEqual(with_both["budget_uusd"], 9 * US - most)
        enough = "%.2f" % (alone["estimate"]["cost_uusd"]["p99"] / US + 0.2)  # for nodes; the machine needs 0.80
        self.plan("--deadline", "6h", "--budget", enough)
        refused = self.rbplan("--deadline", "6h", "--budget", enough, "--at", PLACE, expect=3)
        self.assertIn("is set aside for the controller in aws/us-east-1", refused.stderr)
        self.assertRegex(refused.stderr, "budgets below are with it")
        nearest = self.nearest_budget("--deadline", "6h", "--budget", enough)
        self.assertGreater(nearest, float(enough))
        self.plan("--deadline", "6h", "--budget", "%.2f" % nearest, "--at", PLACE)  # what it says is enough is enough
        self.rbplan("--deadline", "6h", "--budget", "%.2f" % (nearest - 0.3), "--at", PLACE, expect=3)  # and no less would do
        out = self.rbplan("--deadline", "6h", "--budget", "9", "--at", PLACE).stdout
        self.assertIn("budget $9.00", out)
        self.assertIn("; $0.8000 of the budget is set aside for it", out)

    def nearest_budget(self, *options):
        """Dollars, as rbplan --at says that they would do."""
        refused = self.rbplan("--json", *options, "--at", PLACE, expect=3)
        return json.loads(refused.stdout)["nearest"]["budget_uusd"] / US

    def test_the_nearest_budget_without_a_deadline_has_the_machine(self):
        cost, time = (self.plan()["estimate"][k] for k in ("cost_uusd", "time_us"))
        nearest = self.nearest_budget("--budget", "%.2f" % (cost["mean"] * 0.8 / US + 0.2))
        self.assertGreater(nearest * US, cost["p50"] + bill(100000, time["p50"] + KEEP_US))
        self.plan("--budget", "%.2f" % nearest, "--at", PLACE)

    def test_without_a_deadline_it_is_planned_until_the_machine_fits(self):
        alone = self.plan()
        budget = alone["estimate"]["cost_uusd"]["p99"] + bill(100000, alone["estimate"]["time_us"]["p99"] + KEEP_US)
        plan = self.plan("--budget", "%.2f" % (budget / US + 0.5), "--at", PLACE)
        c = plan["controller"]
        self.assertGreaterEqual(c["set_aside_uusd"], bill(100000, plan["estimate"]["time_us"]["p95"] + KEEP_US))
        self.assertGreaterEqual(plan["estimate"]["p_both"], 0.95)
        self.assertEqual(plan["budget_uusd"] + c["set_aside_uusd"], round(budget / US + 0.5, 2) * US)

    def test_places_that_cost_nothing(self):
        for place in ("here", "ssh:me@box"):
            with self.subTest(place=place):
                plan = self.plan("--budget", "20", "--at", place)
                self.assertEqual(plan["controller"], {"place": place, "instance_type": None, "uusd_per_hour": 0, "keep_us": 0,
                                                      "cost_uusd": {"mean": 0, "p50": 0, "p95": 0}, "set_aside_uusd": 0})
                self.assertEqual(plan["budget_uusd"], 20 * US)
                self.assertIn("controller: %s, which costs nothing\n" % place, self.rbplan("--at", place).stdout)

    def test_refusals(self):
        self.assertIn("RB4471", self.rbplan("--at", PLACE, prices="nodes.csv", expect=7).stderr)
        for says, code, options in (("RB4490", 3, ("--at", PLACE, "--budget", "0.1")),
                                    ("RB4053", 2, ("--at", "nowhere")),
                                    ("--at is about one plan", 2, ("--at", PLACE, "--what-if", "price=-20%")),
                                    ("leave --at out", 2, ("--at", PLACE, "--best-for", "5"))):
            with self.subTest(says=says):
                self.assertIn(says, self.rbplan(*options, expect=code).stderr)
        self.assertEqual(json.loads(self.rbplan("--json", "--at", PLACE, "--budget", "0.1", expect=3).stdout)["number"], "RB4490")
        self.real.write("all.csv", PRICES + MACHINE + MACHINE.replace("east", "west"))
        self.assertIn("the plan rents nothing there", self.rbplan("--at", "aws/us-west-1", expect=2).stderr)

    def test_the_run_takes_off_the_same(self):
        self.rbplan("--deadline", "6h", "--budget", "9", "--at", PLACE, "-o", "plan.json")
        said = self.real.say("rbrun", "plan.json", "--at", PLACE, expect=2).stderr  # no terminal to ask
        self.assertIn("at most $9.00 is spent", said)
        self.assertIn("for its controller a t3.small for up to $0.8000", said)  # by the plan's price: the store has none
        self.assertNotIn("the plan was made for", said)
        said = self.real.say("rbrun", "plan.json", "--at", "ssh:me@box", expect=2).stderr
        self.assertIn("the plan was made for a controller at aws/us-east-1, and it is at ssh:me@box: there it costs nothing", said)
        # a plan that leaves the machine out does not fit with it
        alone = self.plan("--deadline", "6h")
        enough = "%.2f" % (alone["estimate"]["cost_uusd"]["p99"] / US + 0.2)
        self.rbplan("--deadline", "6h", "--budget", enough, "-o", "plan.json")
        self.real.write("machine.csv", PRICES + MACHINE)
        self.real.say("rbprofile", "prices", "update", "--from", "machine.csv", RB_DB="own.db")
        refused = self.real.say("rbrun", "plan.json", "--at", PLACE, expect=3, RB_DB="own.db").stderr
        self.assertIn("the plan no longer fits", refused)
        self.assertIn("plan again with `rbplan --at aws/us-east-1`", refused)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    PlanAt.bin_dir = options.bin
    unittest.main(argv=[sys.argv[0], *rest])
