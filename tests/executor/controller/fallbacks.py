#!/usr/bin/env python3
"""rbplan names who may stand in, rbrun asks them in turn: another zone, another market, another type with as many GPUs, on
a mock cloud whose pools are empty. What ran is what is billed and reported; killed between two of them, it launches none
twice."""
import argparse
import json
import os
import signal
import sqlite3
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "crash"), os.path.join(here, "..", "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from real_run import edit, never_preempted, own  # noqa: E402

PRICES = """mock/us-east-1/us-east-1a,a.box,T4,2,16,8,32,spot,0.30,test,2026-07-20T00:00:00Z
mock/us-east-1/us-east-1b,a.box,T4,2,16,8,32,spot,0.33,test,2026-07-20T00:00:00Z
mock/us-east-1,a.box,T4,2,16,8,32,on_demand,1.00,test,2026-07-20T00:00:00Z
mock/us-east-1,b.box,T4,2,16,8,32,on_demand,1.10,test,2026-07-20T00:00:00Z
mock/us-east-1,c.box,T4,4,16,16,64,on_demand,2.00,test,2026-07-20T00:00:00Z
"""
JOB = kill9.JOB.replace("two.gpus]", "a.box, b.box, c.box], spot: allow")
PROFILE = never_preempted(kill9.PROFILE)
OWN = ("mock/us-east-1/us-east-1a", "a.box", "spot")
STAND_INS = [("mock/us-east-1/us-east-1b", "a.box", "spot"), ("mock/us-east-1", "a.box", "on_demand"),
             ("mock/us-east-1", "b.box", "on_demand")]
EMPTY = "steps: [{after_s: 0, max: 0}]"
A_IS_EMPTY = "  - {instance_type: a.box, zone: us-east-1a, market: spot, %s}\n" % EMPTY
SPOT_IS_EMPTY = "  - {instance_type: a.box, market: spot, %s}\n" % EMPTY
TYPE_IS_EMPTY = "  - {instance_type: a.box, %s}\n" % EMPTY
ALL_ARE_EMPTY = "  - {%s}\n" % EMPTY
A_IS_SHORT = "  - {instance_type: a.box, zone: us-east-1a, market: spot, steps: [{after_s: 0, max: 1}]}\n"


def offer(row):
    return row["infra"], row["instance_type"], row["market"]


def name(o):
    return "%s %s (%s)" % o


def check(bin_dir, pools, look):
    """A cloud with these pools, a plan for it, and what `look` finds."""
    with tempfile.TemporaryDirectory(prefix="rb-fallbacks-") as folder:
        with MockCloud(bin_dir, folder, more="pools:\n" + pools, prices=PRICES) as cloud:
            crash = kill9.Crash(bin_dir, folder, cloud, JOB, PROFILE)
            with open(crash.plan, encoding="utf-8") as f:
                plan = json.load(f)
            assert {offer(n) for s in plan["stages"] for n in s["nodes"]} == {OWN}, plan["stages"]
            assert [offer(o) for o in plan["fallbacks"]] == STAND_INS, plan["fallbacks"]
            look(crash, folder)
            alive = [i for i in cloud.ledger()["instances"] if i["state"] in ("pending", "running")]
            assert not alive, alive


def runs_on(expected):
    def look(crash, folder):
        state = os.path.join(folder, "state")
        done = crash.run(["rbrun", crash.plan, "--json", "--state-dir", state])
        report = json.loads(done.stdout.splitlines()[-1])
        assert report["outcome"] == "complete", report
        assert {offer(n) for n in report["nodes"]} == set(expected), report["nodes"]
        crash.check_cloud(report)  # the bill is that of what ran
        for o in expected:
            assert o == OWN or "%s stands in for %s" % (name(o), name(OWN)) in done.stderr, done.stderr
        replayed = crash.run(["rbrun", "replay", "--state-dir", state, report["run"]])
        assert " 0 orders differ" in replayed.stdout, replayed.stdout
    return look


def gives_up(crash, folder):
    done = crash.run(["rbrun", crash.plan, "--state-dir", os.path.join(folder, "state")], expect=6)
    for o in [OWN] + STAND_INS:
        assert name(o) in done.stderr.splitlines()[-1], done.stderr


def launches(state):
    run = os.listdir(state)[0]
    db = sqlite3.connect(os.path.join(state, run, "journal.db"))
    rows = db.execute("SELECT node, state, token FROM launch ORDER BY node, attempt").fetchall()
    db.close()
    return rows


def survives(crash, folder):
    """Killed between a refusal and the next launch, resumed by another process. Where a request may have been on its way,
    two minutes pass before it moves on: test_fallback.c goes there, in virtual time. With one node no second request is on
    its way when the first is refused; with two, a busy machine has one there at every point."""
    edit(crash.plan, lambda plan: own(plan["stages"][0], 1, 2))
    n_resumed = 0
    for point in range(2, 16):
        state = os.path.join(folder, "state-%d" % point)
        crash.run(["rbrun", crash.plan, "--json", "--state-dir", state], expect=-signal.SIGKILL,
                  RB_TEST_DIE_AFTER=str(point))
        last = {node: s for node, s, _ in launches(state)}
        if "refused" not in last.values() or {"sent", "ambiguous"} & set(last.values()):
            crash.run(["rbrun", "gc", "--state-dir", state, "--older-than", "0s"])
            continue
        n_resumed += 1
        done = crash.run(["rbrun", "resume", "--json", "--state-dir", state])
        report = json.loads(done.stdout.splitlines()[-1])
        assert report["outcome"] == "complete", report
        crash.check_cloud(report)
        rows = launches(state)
        assert len({token for _, _, token in rows}) == len(rows)
        assert sum(s == "gone" for _, s, _ in rows) == len(report["nodes"]), rows
    assert n_resumed > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)
    worlds = [(A_IS_EMPTY, runs_on(STAND_INS[:1])), (A_IS_SHORT, runs_on([OWN] + STAND_INS[:1])),
              (SPOT_IS_EMPTY, runs_on(STAND_INS[1:2])), (TYPE_IS_EMPTY, runs_on(STAND_INS[2:3])),
              (ALL_ARE_EMPTY, gives_up), (A_IS_EMPTY, survives)]
    with ThreadPoolExecutor(len(worlds)) as pool:  # they mostly wait for copies of refused requests that may still come
        for done in [pool.submit(check, bin_dir, pools, look) for pools, look in worlds]:
            done.result()


main()
