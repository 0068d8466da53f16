#!/usr/bin/env python3
"""Runs that train eight times as slowly as their profile says, under each on_drift, rung by rung and asynchronously, on a mock
cloud: what the command says and how it exits, its status, its report and its page agree with its journal, and the bill with the
cloud's. And one that is half as fast, which more nodes bring home in time. On instances of EC2, or on pods of a cluster.
    on_drift.py --bin BUILD [--front k8s] [-k NAME]"""
import argparse
import contextlib
import html
import json
import os
import sqlite3
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(here, ".."), os.path.join(here, "..", "..", "providers", "k8s")]
from cloud_case import CloudCase  # noqa: E402: its folder is known only here
from fronts import FRONTS, Ec2  # noqa: E402
from real_run import ONE_GPU, profile  # noqa: E402

PRICES = "%s,two.boards,T4,2,16,8,32,on_demand,1.00,test,2026-07-20T00:00:00Z\n"
JOB = """name: drift
metric: {name: score, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {%s, num_trials: 8, min_resource: %d, max_resource: 4, eta: 2}
policy: %s
run: sh drift.sh
checkpoint: {dir: ckpt}
resources: {%s, instance_types: [two.boards], max_nodes: 4}
confidence: 0.9
on_drift: %s
deadline: %s
"""

TRAIN = """e=$RB_RESOURCE_START
while [ "$e" -lt "$RB_RESOURCE_END" ]; do sleep 2; e=$((e + 1)); echo "epoch=$e score=0.$e$RB_TRIAL_ID"; done
echo "$e" >"$RB_CHECKPOINT_DIR/epoch"
"""

SCHEDULERS = {"sha": "type: sha", "asha": "type: asha, rule: promote"}


class OnDrift(CloudCase):
    front = Ec2

    @classmethod
    def make_cloud(cls):
        return cls.front(cls.bin_dir, cls.folder, PRICES % cls.front.INFRA).__enter__()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.crash.write("work/drift.sh", TRAIN)

    def carry_out(self, scheduler, mode, unit_s=0.25, least=1, deadline="15s", policy="elastic"):
        """Its exit code, and what it said. Each epoch takes two seconds, whatever the profile says: 16 s and more on the planned node."""
        name = "%s-%s" % (scheduler, mode)
        self.crash.write("work/profile.yaml", profile("drift", unit_s, ONE_GPU)
                         .replace("within: 1.0", "within: {distribution: lognormal, mean: 1.0, cv: 0.2}"))
        job = self.crash.write("work/%s.yaml" % name, JOB % (SCHEDULERS[scheduler], least, policy, self.front.RESOURCES, mode, deadline))
        plan = self.crash.make_plan(job, name + ".json")
        done = subprocess.run([os.path.join(self.bin_dir, "rbrun"), plan, "--state-dir", self.state], env=self.crash.env,
                              cwd=self.crash.folder, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stderr + done.stdout

    def journal(self, sql):
        path = os.path.join(self.state, os.listdir(self.state)[0], "journal.db")
        with contextlib.closing(sqlite3.connect(path)) as db:
            return db.execute(sql).fetchall()

    def look(self, *argv):
        return self.rbrun(*argv).stdout

    def check(self, scheduler, mode, **how):
        """The events of the run."""
        code, said = self.carry_out(scheduler, mode, **how)
        notes = [(kind, text) for kind, text in self.journal("SELECT kind, text FROM note ORDER BY seq") if kind in ("drift", "replan")]
        events = [json.loads(row[0]) for row in self.journal("SELECT json FROM event ORDER BY seq")]
        changes = [e for e in events if e["event"] == "advice"]
        report = json.loads(self.look("report", "--json"))
        page = os.path.join(self.state, "report.html")
        self.look("report", "--html", page)
        with open(page, encoding="utf-8") as f:
            page = html.unescape(f.read())
        self.assertTrue(notes, said)  # it cannot be missed
        for _, text in notes:
            self.assertIn(text, said)
            self.assertIn(text, page)
        self.assertEqual([n["text"] for n in report["replans"]], [text for kind, text in notes if kind == "replan"])
        self.assertEqual([n["text"] for n in report["drifts"]], [text for kind, text in notes if kind == "drift"])
        self.assertEqual(len(changes), len(report["replans"]))
        self.assertTrue(mode == "replan" or not changes, changes)
        state = json.loads(self.look("status", "--json"))["state"]
        print("%s, %s: %s, %d changes" % (scheduler, mode, state, len(changes)), *(text for _, text in notes), sep="\n  ")
        reasons = [e["reason"] for e in events if e["event"] == "stop"]
        self.assertEqual((code, state), (4, "stopped: " + reasons[-1]) if reasons else (0, "complete"), said)
        self.assertTrue(mode == "stop" or "drift" not in reasons, reasons)
        self.assertEqual(report["leak_check"]["instances_left"], 0)
        self.assertEqual(report["cost_uusd"]["actual"], self.cloud.bill(self.older))
        return events

    def test_replan_in_time(self):
        """At half the speed that the profile says one node would need half a minute. Others arrive, and it is over in time."""
        events = self.check("sha", "replan", unit_s=1, least=2, deadline="25s")
        kinds = [e["event"] for e in events]
        advice = kinds.index("advice")
        self.assertEqual(kinds[:advice].count("node_running"), 1)
        self.assertGreaterEqual(kinds[advice:].count("node_running"), 1)
        self.assertNotIn("stop", kinds)

    def test_stop_where_nothing_can_change(self):
        events = self.check("sha", "stop", policy="static", least=4)
        self.assertEqual([e["reason"] for e in events if e["event"] == "stop"], ["drift"])

    def test_warn(self):
        self.check("sha", "warn")

    def test_warn_asynchronous(self):
        self.check("asha", "warn")

    def test_replan(self):
        self.check("sha", "replan")

    def test_replan_asynchronous(self):
        self.check("asha", "replan")

    def test_stop(self):
        self.check("sha", "stop")

    def test_stop_asynchronous(self):
        self.check("asha", "stop")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--front", choices=sorted(FRONTS), default="ec2")
    args, rest = parser.parse_known_args()
    CloudCase.bin_dir, OnDrift.front = os.path.abspath(args.bin), FRONTS[args.front]
    unittest.main(argv=sys.argv[:1] + rest)
