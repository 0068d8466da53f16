#!/usr/bin/env python3
"""resources.spot: safe on a mock cloud. Planned on demand; begins on spot; a spot node that dies is replaced on spot while there
is slack, on demand when there is none; a node whose loss could make the run late gives way to one on demand. All end by their deadline, and a replay needs no policy.
On instances of EC2, or on pods of a cluster: safe_spot.py --bin BUILD [--front k8s]"""
import argparse
import glob
import json
import os
import re
import sqlite3
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "cli"), os.path.join(here, "..", "..", "providers", "k8s")]
from fronts import FRONTS  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

PRICES = """%s,a.box,T4,1,16,8,32,spot,0.30,test,2026-07-20T00:00:00Z
%s,a.box,T4,1,16,8,32,on_demand,1.00,test,2026-07-20T00:00:00Z
"""
JOB = """name: safe
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 1, min_resource: %(epochs)d, max_resource: %(epochs)d, eta: 2}
trial: {gpus: 1}
run: sh train.sh
checkpoint: {dir: ckpt%(save)s}
resources: {%(resources)s, instance_types: [a.box], spot: safe, max_nodes: 2}
deadline: %(deadline)s
"""
TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
echo "begins at $epoch"
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep 0.5
    announced=
    if [ "$RB_CHECKPOINT_EVERY_S" = 1 ] && [ $((epoch % 2)) = 0 ]; then
        mkdir "$RB_CHECKPOINT_DIR/.new" && echo "$epoch" >"$RB_CHECKPOINT_DIR/.new/epoch"
        mv "$RB_CHECKPOINT_DIR/.new" "$RB_CHECKPOINT_DIR/at-$epoch"
        announced=" checkpoint=at-$epoch"
    fi
    echo "epoch=$epoch val_acc=0.$((1000 + epoch))$announced"
    if [ -e "$RB_PREEMPT_FILE" ]; then
        echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
        exit 75
    fi
done
echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""
SPELLS = """
  - {infra: mock, instance_type: "*", market: spot, queue_s: %(queue)g, init_s: %(init)g, capacity_failure: 0,
     spells: {sampled_s: 60, days: 3, up_s: 7200, down_s: 600, together: 1, hazard: [{from_s: 0, per_hour: 0.5}]}}"""


def write_profile(queue_s, init_s, has_spells):
    text = profile("safe", 0.5, queue_s=queue_s, init_s=init_s, startup_s=0.2, checkpoint_s=0.1)
    if has_spells:
        return text.replace("provisioning:", "provisioning:" + SPELLS % {"queue": queue_s, "init": init_s})
    return text


def note_texts(state, run):
    db = sqlite3.connect(os.path.join(state, run, "journal.db"))
    texts = [text for kind, text in db.execute("SELECT kind, text FROM note") if kind == "spot"]
    db.close()
    return texts


def lose_one(cloud, state, after):
    """Once that event has come."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for run in os.listdir(state) if os.path.isdir(state) else []:
            events = os.path.join(state, run, "events.jsonl")
            if os.path.exists(events):
                with open(events, encoding="utf-8") as f:
                    if '"%s"' % after in f.read():
                        cloud.lose(cloud.ledger()["instances"][0])
                        return
        time.sleep(0.1)


def check(bin_dir, front, case):
    with tempfile.TemporaryDirectory(prefix="rb-safe-") as folder:
        with front(bin_dir, folder, PRICES % (front.SPOT_INFRA, front.INFRA)) as cloud:
            run = RealRun(bin_dir, folder)
            run.on(cloud)
            run.write("job.yaml", JOB % dict(case, resources=front.RESOURCES, save=", every: 1s" if case["dies"] == "saved" else ""))
            run.write("train.sh", TRAIN)
            run.write("profile.yaml", write_profile(case["queue_s"], case["init_s"], case["spells"]))
            with open(run.make_plan("job.yaml"), encoding="utf-8") as f:
                plan = json.load(f)
            assert {n["market"] for s in plan["stages"] for n in s["nodes"]} == {"on_demand"}, plan["stages"]
            assert [o["market"] for o in plan["fallbacks"]] == ["spot"], plan["fallbacks"]
            state = os.path.join(folder, "state")
            if case["dies"]:
                threading.Thread(target=lose_one, args=(cloud, state, case["dies"]), daemon=True).start()
            done = run.say("rbrun", "plan.json", "--json", "--state-dir", state)
            report = json.loads(done.stdout.splitlines()[-1])
            notes = note_texts(state, report["run"])
            assert report["outcome"] == "complete", (report, done.stderr)
            assert [n["market"] for n in report["nodes"]] == case["markets"], (report["nodes"], notes)
            assert all(any(text in note for note in notes) for text in case["says"]), notes
            assert [n["text"] for n in report["spot"]] == notes, (report["spot"], notes)
            assert "of slack, a loss costs at most" in notes[0], notes
            replayed = run.say("rbrun", "replay", "--state-dir", state, report["run"])
            assert " 0 orders differ" in replayed.stdout, replayed.stdout
            assert cloud.bill() == report["cost_uusd"]["actual"], (cloud.bill(), report["cost_uusd"])
            log = ""
            for path in sorted(glob.glob(os.path.join(state, report["run"], "**", "*.log"), recursive=True)):
                with open(path, encoding="utf-8") as f:
                    log += f.read()
            begun = [int(epoch) for epoch in re.findall(r"^begins at (\d+)$", log, re.M)]
            assert not case["dies"] or len(begun) == 2, (case, log)  # what the lost one said is kept
            assert case["dies"] != "saved" or begun[1] >= 2, "it did not go on from what it had saved: %s" % log


CASES = [
    # Cold starts are declared to take 15 s, and take less than one: what the guard thinks of depends on the deadline alone.
    {"deadline": "10m", "epochs": 6, "queue_s": 5, "init_s": 10, "spells": False, "dies": "report",
     "markets": ["spot", "spot"], "says": ["on spot"]},
    {"deadline": "10m", "epochs": 6, "queue_s": 5, "init_s": 10, "spells": True, "dies": "report",
     "markets": ["spot", "spot"], "says": ["on spot"]},
    # A pod's loss is noticed at once, and leaves 28 s of slack where another would cost 30; at first there were 30.6 for 28.2.
    {"deadline": "49s", "epochs": 6, "queue_s": 5, "init_s": 10, "spells": False, "dies": "report",
     "markets": ["spot", "on_demand"], "says": ["on spot", "on demand"]},
    {"deadline": "10m", "epochs": 12, "queue_s": 5, "init_s": 10, "spells": False, "dies": "saved",
     "markets": ["spot", "spot"], "says": ["on spot"]},
    # Here they take what is declared, and the work without a save soon exceeds the slack.
    {"deadline": "28s", "epochs": 20, "queue_s": 0.2, "init_s": 0.2, "spells": False, "dies": None,
     "markets": ["spot", "on_demand"], "says": ["on spot", "off spot"]},
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--front", choices=sorted(FRONTS), default="ec2")
    args = parser.parse_args()
    with ThreadPoolExecutor(len(CASES)) as pool:  # they mostly sleep
        for done in [pool.submit(check, os.path.abspath(args.bin), FRONTS[args.front], case) for case in CASES]:
            done.result()


main()
