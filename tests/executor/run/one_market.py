#!/usr/bin/env python3
"""One job on one table of capacity: rbrun on a cloud that replays it, and rbsim. The same nodes are lost, in the same order, at
the same time; and whatever a node's life was, the cloud, rbrun and rbsim bill it alike, at prices that change meanwhile. Usage: one_market.py --bin BUILD_DIR"""
import argparse
import json
import math
import os
import sqlite3
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "cli")]
from mock_cloud import PRICES as MOCK_PRICES, MockCloud  # noqa: E402
from real_run import RealRun, edit, never_preempted, profile  # noqa: E402

SPEED = 20     # of the cloud's clock, in which the table is
NOTICE_S = 120
POLL_S = 2     # of this machine's clock: twice a listing, and what a busy machine adds
B_FALLS_S, A_FALLS_S = 180, 220  # nine seconds for rbrun to launch both nodes
N_TRIALS, EPOCH_S = 14, 2

PRICES = """mock/us-east-1/us-east-1a,a.box,T4,1,16,8,32,spot,0.31,test,2026-07-20T00:00:00Z
mock/us-east-1/us-east-1b,a.box,T4,1,16,8,32,spot,0.37,test,2026-07-20T00:00:00Z
"""
PRICE_CHANGES_S = 150  # in the middle of both first nodes' lives, and of the table
PATH = {"mock/us-east-1/us-east-1a": (310000, 290000), "mock/us-east-1/us-east-1b": (370000, 531234)}
JOB = """name: market
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: random, num_trials: %d, max_resource: 1}
policy: elastic
trial: {gpus: 1, timeout: 30s, max_restarts: 5}
run: sh train.sh
resources: {infra: [mock/us-east-1], instance_types: [a.box], spot: only, max_nodes: 2}
deadline: 10h
confidence: 0.5
""" % N_TRIALS
TRAIN = "sleep %g\necho \"epoch=1 val_acc=0.$((100 + RB_TRIAL_ID))\"\n" % EPOCH_S


def table():
    """Zone b falls first, then zone a; both rise again before their node is taken, so that no request is refused."""
    rows = ["set,kind,zone,instance_type,start_min,capacity,usd_per_hour"]
    for zone, falls_s in (("a", A_FALLS_S), ("b", B_FALLS_S)):
        before, after = PATH["mock/us-east-1/us-east-1" + zone]
        for at_s, capacity, price in ((0, 1, before), (PRICE_CHANGES_S, 1, after), (falls_s, 0, after), (falls_s + 10, 2, after)):
            rows.append("t,preemption,us-east-1%s,a.box,%.9f,%s,%.6f" % (zone, at_s / 60, capacity, price / 1e6))
        rows.append("t,preemption,us-east-1%s,a.box,600,end," % zone)
    return "\n".join(rows) + "\n"


def seconds_of(life_us):
    return max(60, math.ceil(life_us / 1e6))


def bill_on_table(infra, running_us, life_us):
    """Each second at the price of its beginning; running_us by the table's clock."""
    before, after = PATH[infra]
    n = seconds_of(life_us)
    n_before = min(n, max(0, math.ceil((PRICE_CHANGES_S * 1000000 - running_us) / 1e6)))
    return -(-(before * n_before + after * (n - n_before)) // 3600)


def two_zones(plan):
    own = plan["stages"][0]["nodes"][0]
    plan["stages"][0]["nodes"] = [dict(own, infra=infra, count=1) for infra in sorted(PATH)]
    plan["stages"][0]["waves"] = N_TRIALS // 2


def make_plan(run, out, base_s, startup_s, checkpoint_s):
    run.write("profile.yaml", never_preempted(profile("market", base_s, startup_s=startup_s, checkpoint_s=checkpoint_s,
                                                      queue_s=0.2, init_s=0.2)))
    return edit(run.make_plan("job.yaml", out), two_zones)


def check_bills(node, instance, table_began_us):
    """The ledger shows whole seconds, so that the table's beginning is known to one."""
    life_us = instance["ended_us"] - instance["running_us"]
    assert node["cost_uusd"] == instance["cost_uusd"], (node, instance)
    running_us = instance["running_us"] - table_began_us
    bills = [bill_on_table(node["infra"], running_us + second * 1000000, life_us) for second in (-1, 0, 1)]
    assert instance["cost_uusd"] in bills, (node, instance, bills)


def really(run, plan, cloud, epoch_us):
    """Losses as [(node, infra, seconds of the cloud since the first request)], and when that was."""
    state = os.path.join(run.folder, "state")
    report = json.loads(run.say("rbrun", plan, "--json", "--state-dir", state).stdout.splitlines()[-1])
    assert report["outcome"] == "complete", report
    whole = cloud.ledger()
    assert report["cost_uusd"]["actual"] == whole["total_uusd"] and "attributed_uusd" not in report["cost_uusd"], (report, whole)
    ledger = {i["id"]: i for i in whole["instances"]}
    begun_us = min(i["requested_us"] for i in ledger.values())
    db = sqlite3.connect(os.path.join(state, report["run"], "journal.db"))
    events = [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]
    number = dict(db.execute("SELECT instance_id, node FROM launch"))
    for infra, path in PATH.items():
        prices = db.execute("SELECT uusd_per_hour FROM market_price WHERE infra=? ORDER BY at_unix_us", (infra,)).fetchall()
        assert tuple(price for price, in prices[-2:]) == path, prices
    db.close()
    lost_at_s = {e["node"]: e["time_us"] / 1e6 for e in events if e["event"] == "node_lost"}
    losses = []
    first_lost_us = min(i["ended_us"] for i in ledger.values() if i["cause"] == "interrupted")
    for n in report["nodes"]:
        i = ledger[n["id"]]
        check_bills(n, i, first_lost_us - (B_FALLS_S + NOTICE_S) * 1000000)
        if i["cause"] == "interrupted":
            at_s = (i["ended_us"] - begun_us) / 1e6
            late_s = lost_at_s[number[n["id"]]] - at_s / SPEED
            assert -POLL_S < late_s < POLL_S, "node %d: rbrun saw its loss %.2f s late" % (number[n["id"]], late_s)
            losses.append((number[n["id"]], n["infra"], at_s))
    assert len(lost_at_s) == len(losses), (lost_at_s, losses)
    return sorted(losses, key=lambda loss: loss[2]), (begun_us - epoch_us) / 1e6


def virtually(run, from_s):
    """The same of rbsim, whose seconds are the cloud's."""
    plan = make_plan(run, "virtual.json", EPOCH_S * SPEED, 0.3 * SPEED, 0.2 * SPEED)
    done = run.say("rbsim", "--plan", plan, "--market", "table.csv@%.6fs" % from_s, "--replicates", "1", "--events",
                   "events.jsonl", "--json", "job.yaml")
    with open(os.path.join(run.folder, "events.jsonl"), encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    offers = sorted(PATH)
    running = {e["node"]: e["time_us"] for e in events if e["event"] == "node_running"}
    lost = [(e["node"], e["time_us"]) for e in events if e["event"] == "node_lost"]
    infra_of = dict(enumerate(offers))  # in the order of the plan's entries; a node that replaces another is where that was
    for k, (node, _) in enumerate(lost):
        infra_of[len(offers) + k] = infra_of[node]
    ended = dict(lost)
    end_us = events[-1]["time_us"]
    cost = sum(bill_on_table(infra_of[n], at_us + from_s * 1e6, ended.get(n, end_us) - at_us) for n, at_us in running.items())
    summary = json.loads(done.stdout)
    assert round(summary["cost_uusd"]["mean"]) == cost, (summary["cost_uusd"], cost)
    return [(node, infra_of[node], at_us / 1e6) for node, at_us in lost]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)
    with tempfile.TemporaryDirectory(prefix="rb-one-market-") as folder:
        run = RealRun(bin_dir, folder)
        for name, text in (("table.csv", table()), ("job.yaml", JOB), ("train.sh", TRAIN)):
            run.write(name, text)
        run.write("prices.csv", MOCK_PRICES + PRICES)
        plan = make_plan(run, "real.json", EPOCH_S, 0.3, 0.2)
        with MockCloud(bin_dir, folder, "--speed", str(SPEED), more="market: {table: table.csv}\n", prices=PRICES) as cloud:
            epoch_us = cloud.ledger()["at_us"]  # but for the time that starting took
            run.on(cloud)
            real, from_s = really(run, plan, cloud, epoch_us)
        planned = virtually(run, from_s)
    print("lost, by rbrun and rbsim:", real, planned)
    assert [loss[:2] for loss in real] == [loss[:2] for loss in planned] and len(real) == 2
    for (_, _, real_s), (_, _, planned_s) in zip(real, planned):
        assert abs(real_s - planned_s) < POLL_S * SPEED
    assert abs((real[1][2] - real[0][2]) - (planned[1][2] - planned[0][2])) <= 1  # EC2's bills have whole seconds


main()
