#!/usr/bin/env python3
"""A trial over two nodes, which rbrun asks for in one request: both or neither, on EC2 and on Compute Engine as rbmock speaks
them. Killed between the request and its answer, there is one gang; where there is room for one machine, none is launched, and
the other market stands in for both."""
import argparse
import json
import os
import signal
import sqlite3
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import ONE_GPU, RealRun, never_preempted, profile  # noqa: E402

JOB = """name: gang
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: random, num_trials: 1, max_resource: 2}
trial: {gpus: 4, max_nodes: 2, timeout: 60s}
run: |
  echo "rank $RB_NODE_RANK of $RB_NUM_NODES"
  i=$RB_RESOURCE_START
  while [ $i -lt $RB_RESOURCE_END ]; do i=$((i + 1)); sleep 0.1; echo "epoch=$i loss=0.5"; done
resources: {%s, max_nodes: 2}
deadline: 10m
confidence: 0.5
"""
PROFILE = never_preempted(profile("gang", 0.2, ONE_GPU, "{gpus: 4, nodes: 2, speedup: 3.5}"))
EC2 = "infra: [mock/us-east-1], instance_types: [two.gpus]"
EITHER_MARKET = "infra: [mock/us-east-1], instance_types: [a.box], spot: allow"
GCP_TYPE = "n1-standard-8+nvidia-tesla-t4:2"
GCP = ("infra: [gcp/us-central1], instance_types: [\"%s\"], image_id: "
       "{gcp/us-central1: projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64}" % GCP_TYPE)
PRICES = """mock/us-east-1,a.box,T4,2,16,8,32,spot,0.30,test,2026-07-20T00:00:00Z
mock/us-east-1,a.box,T4,2,16,8,32,on_demand,1.00,test,2026-07-20T00:00:00Z
gcp/us-central1,%s,T4,2,16,8,30,on_demand,1.08,test,2026-07-20T00:00:00Z
""" % GCP_TYPE
ONE_ON_SPOT = "pools:\n  - {instance_type: a.box, market: spot, steps: [{after_s: 0, max: 1}]}\n"
GCP_CHAOS = """format: rb-chaos/1
rules:
  - {where: {front: gcp, action: instances.bulkInsert}, times: 1, what: lost_response}
  - {where: {front: gcp, action: zoneOperations.wait}, times: 1, what: html_502}
"""


class World(RealRun):
    def __init__(self, bin_dir, folder, cloud, resources):
        super().__init__(bin_dir, folder)
        self.cloud = cloud
        self.on(cloud, os.path.join(folder, "key.json") if cloud.gcp_url else None)
        self.write("work/job.yaml", JOB % resources)
        self.write("profile.yaml", PROFILE)
        self.make_plan("work/job.yaml")

    def finish(self, state, *argv):
        """A run to its end, and what the cloud says of it: a whole gang in one zone, ended, billed as reported."""
        done = self.say("rbrun", *argv, "--json", "--state-dir", state)
        report = json.loads(done.stdout.splitlines()[-1])
        assert report["outcome"] == "complete" and len(report["nodes"]) == 2, report
        mine = self.machines(report["run"])
        assert len(mine) == 2 and len({i["zone"] for i in mine}) == 1, mine
        assert len({self.tag(i, "launch-id") for i in mine}) == 1, mine
        assert {i["state"] for i in mine} <= {"terminated", "shutting-down"}, mine
        assert sum(i["cost_uusd"] for i in mine) == report["cost_uusd"]["actual"], (mine, report["cost_uusd"])
        rows = self.launches(state, report["run"])
        assert [row[1] for row in rows if row[1] != "refused"] == ["gone", "gone"], rows
        assert len({row[2] for row in rows if row[1] == "gone"}) == 1, "two requests"
        logs = self.say("rbrun", "logs", "--state-dir", state, report["run"], "0")
        assert "of 2" in logs.stdout, logs.stdout
        replayed = self.say("rbrun", "replay", "--state-dir", state, report["run"])
        assert " 0 orders differ" in replayed.stdout, replayed.stdout
        return report, mine, done

    @staticmethod
    def tag(instance, name):
        return instance["tags"].get("rb:" + name) or instance["tags"].get("rb-" + name[:name.index("-")])

    def machines(self, run_id):
        return [i for i in self.cloud.ledger()["instances"] if self.tag(i, "run-id") == run_id]

    def launches(self, state, run_id):
        db = sqlite3.connect(os.path.join(self.folder, state, run_id, "journal.db"))
        rows = db.execute("SELECT node, state, token FROM launch ORDER BY node, attempt").fetchall()
        db.close()
        return rows


def killed_anywhere(world, points):
    """Whatever the write that was its last: there is one gang in the end."""
    sent = 0
    for point in points:
        state = "killed-%d" % point
        world.say("rbrun", "plan.json", "--json", "--state-dir", state, expect=-signal.SIGKILL, RB_TEST_DIE_AFTER=str(point))
        run_id = os.listdir(os.path.join(world.folder, state))[0]
        sent += {row[1] for row in world.launches(state, run_id)} == {"sent"}
        world.finish(state, "resume")
    assert sent > 0, "never killed while the request was on its way"


def on_ec2(bin_dir, folder):
    with MockCloud(bin_dir, folder) as cloud:
        world = World(bin_dir, folder, cloud, EC2)
        world.finish("state", "plan.json")
        killed_anywhere(world, range(2, 8))


def room_for_one(bin_dir, folder):
    with MockCloud(bin_dir, folder, more=ONE_ON_SPOT, prices=PRICES) as cloud:
        world = World(bin_dir, folder, cloud, EITHER_MARKET)
        _, mine, done = world.finish("state", "plan.json")
        assert {i["market"] for i in mine} == {"on_demand"}, mine
        assert "nodes 0, 1: mock/us-east-1 a.box (on_demand) stands in" in done.stderr, done.stderr
        assert len(cloud.ledger()["instances"]) == 2, "half a gang was launched"


def on_compute_engine(bin_dir, folder):
    chaos, key = os.path.join(folder, "chaos.yaml"), os.path.join(folder, "key.json")
    with open(chaos, "w", encoding="utf-8") as f:
        f.write(GCP_CHAOS)
    with MockCloud(bin_dir, folder, "--gcp", "0", "--credentials-out", key, "--chaos", chaos, prices=PRICES, infra="*") as cloud:
        world = World(bin_dir, folder, cloud, GCP)
        _, mine, _ = world.finish("state", "plan.json")
        names = sorted(i["name"] for i in mine)
        assert names[0][:-2] == names[1][:-2] and [n[-2:] for n in names] == ["-0", "-1"], names
        killed_anywhere(world, range(2, 6))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)

    def apart(test):
        with tempfile.TemporaryDirectory(prefix="rb-gangs-") as folder:
            test(bin_dir, folder)
    tests = (on_ec2, room_for_one, on_compute_engine)
    with ThreadPoolExecutor(len(tests)) as pool:
        for done in [pool.submit(apart, test) for test in tests]:
            done.result()


main()
