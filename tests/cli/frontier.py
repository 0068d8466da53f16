#!/usr/bin/env python3
"""The frontier of an asynchronous job: nothing is proved there, and its deadlines are not answered in their order, but what keeps
a tighter deadline keeps a looser one, so the best plan's cost never rises. Usage: frontier.py RBPLAN JOB.yaml"""
import json
import pathlib
import subprocess
import sys
import tempfile

rbplan, job = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    frontier = pathlib.Path(folder, "frontier.json")
    subprocess.run([rbplan, "--pareto", frontier, "--samples", "64", "--set", "scheduler.num_trials=12", job],
                   check=True, capture_output=True)
    points = json.loads(frontier.read_text())["points"]
costs = [p["estimate"]["cost_uusd"]["mean"] for p in points if p["planner"] == "optimal"]
assert len(costs) > 5, costs
assert costs == sorted(costs, reverse=True), costs
print(len(costs), "deadlines, none costs more than a tighter one")
