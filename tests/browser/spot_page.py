#!/usr/bin/env python3
"""The page of a real run on spot in a real browser: over the timeline lie the nodes on spot, the ones that were taken back, the
requests that were refused and what trials saved, as its history has them.
Usage: spot_page.py BUILD_ROOT   (RB_SPOT_PICTURE=FILE.png keeps a picture of the timeline)"""
import json
import os
import sys
import tempfile

import browser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402: its folder is known only here
from real_run import RealRun, never_preempted, own, edit, profile  # noqa: E402

PRICES = "mock/us-east-1,two.gpus,T4,2,16,8,32,spot,0.30,test,2026-07-20T00:00:00Z\n"
CHAOS = """format: rb-chaos/1
rules:
  - {where: {action: RunInstances, market: spot}, when: {call: 4}, what: {error: {code: InsufficientInstanceCapacity, status: 500}}}
  - {where: {instance_type: two.gpus, market: spot}, when: {call: 1}, times: 1, what: {dies_at: {after: 5s}}}
"""
JOB = """name: on-spot
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 8, min_resource: 4, max_resource: 12, eta: 3}
trial: {gpus: 1}
run: sh train.sh
checkpoint: {every: 1s}
resources: {infra: [mock/us-east-1], instance_types: [two.gpus], spot: allow, max_nodes: 3}
deadline: 5m
confidence: 0.5
"""
TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep 0.6
    mkdir "$RB_CHECKPOINT_DIR/e$epoch"
    echo "$epoch" >"$RB_CHECKPOINT_DIR/e$epoch/epoch"
    echo "epoch=$epoch val_acc=0.$((1000 + (RB_TRIAL_ID * 2741 + epoch * 13) % 9000)) checkpoint=e$epoch"
done
echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""


def carry_out(bin_dir, folder):
    """Its page."""
    with open(os.path.join(folder, "chaos.yaml"), "w", encoding="utf-8") as f:
        f.write(CHAOS)
    with MockCloud(bin_dir, folder, "--chaos", os.path.join(folder, "chaos.yaml"), prices=PRICES) as cloud:
        user = RealRun(bin_dir, folder)
        user.on(cloud)
        for name, text in (("job.yaml", JOB), ("train.sh", TRAIN), ("profile.yaml", never_preempted(profile("on-spot", 0.6)))):
            user.write(name, text)
        edit(user.make_plan("job.yaml"), lambda plan: own(plan["stages"][0], 2, 2))
        user.say("rbrun", "plan.json", "--state-dir", "state")
        user.say("rbrun", "report", "--state-dir", "state", "--html", "page.html")
    return os.path.join(folder, "page.html")


def main(b):
    with tempfile.TemporaryDirectory(prefix="rb-spot-page-") as folder:
        b.open(carry_out(os.path.abspath(sys.argv[1]), folder))
        document = json.loads(b.js("return document.getElementById('document').textContent"))
        history, nodes = document["history"], document["report"]["nodes"]
        drawn = {s["name"]: s["data"] for s in b.chart("run-gantt")}
        on_spot = [n for n, r in zip(history["nodes"], nodes) if r["market"] == "spot" and n["running_us"] is not None]
        assert len(on_spot) >= 2 and len(on_spot) < len(nodes), nodes  # on demand stood in
        assert [d["name"] for d in drawn["on spot"]] == ["node %d was on spot" % n["node"] for n in on_spot], drawn["on spot"]
        assert len(drawn["node lost"]) == sum(n["lost"] for n in history["nodes"]) > 0, drawn["node lost"]
        assert [d["value"][0] for d in drawn["request refused"]] == [r["at_us"] / 1000 for r in history["refusals"]] != [], history["refusals"]
        assert [d["value"][0] for d in drawn["saved"]] == [s["at_us"] / 1000 for s in history["saves"]] != [], history["saves"]
        for save, d in zip(history["saves"], drawn["saved"]):
            assert d["name"].startswith("trial %d saved at epoch %d, " % (history["starts"][save["start"]]["trial"], save["resource"])), d
        fact = b.js("return Array.from(document.querySelectorAll('.facts > div'), function (f) { return f.textContent; })")
        assert any("nodes on spot" in f and "of %d lost" % len(on_spot) in f for f in fact), fact
        if os.environ.get("RB_SPOT_PICTURE"):
            b.screenshot(os.environ["RB_SPOT_PICTURE"])
    print("spot page: ok")


browser.main(main)
