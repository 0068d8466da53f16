#!/usr/bin/env python3
"""A trial that needs two nodes gets two close together: rbrun on rbmock makes one cluster placement group for them, tagged,
launches into it, and deletes it when they are gone; a run that was killed leaves it to gc."""
import argparse
import json
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import ONE_GPU, RealRun, profile  # noqa: E402

JOB = """name: gang
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: random, num_trials: 1, max_resource: 2}
trial: {gpus: %d, max_nodes: 2, timeout: 60s}
run: |
  i=$RB_RESOURCE_START
  while [ $i -lt $RB_RESOURCE_END ]; do i=$((i + 1)); sleep 0.1; echo "epoch=$i loss=0.5"; done
resources: {infra: [mock/us-east-1], instance_types: [two.gpus], max_nodes: 2}
deadline: 10m
confidence: 0.5
"""
PROFILE = profile("gang", 0.2, ONE_GPU, "{gpus: 2, nodes: 1, speedup: 1.9}", "{gpus: 4, nodes: 2, speedup: 3.5}")


class Test(RealRun):
    def __init__(self, bin_dir, folder, cloud):
        super().__init__(bin_dir, folder)
        self.cloud = cloud
        self.on(cloud)
        self.write("profile.yaml", PROFILE)

    def plan(self, gpus):
        self.write("work/job.yaml", JOB % gpus)
        self.make_plan("work/job.yaml")

    def groups(self):
        return self.cloud.ask("groups")

    def zones(self, run_id):
        return {i["zone"] for i in self.cloud.ledger()["instances"] if i["tags"].get("rb:run-id") == run_id}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)
    with tempfile.TemporaryDirectory(prefix="rb-groups-") as folder, MockCloud(bin_dir, folder) as cloud:
        t = Test(bin_dir, folder, cloud)

        t.plan(2)  # one node a trial: nothing to hold together
        t.say("rbrun", "plan.json", "--json", "--state-dir", "alone")
        assert t.groups() == []

        t.plan(4)
        done = t.say("rbrun", "plan.json", "--json", "--state-dir", "state")
        report = json.loads(done.stdout.splitlines()[-1])
        assert report["outcome"] == "complete" and len(report["nodes"]) == 2, report
        want = {"name": "rb-%s-two.gpus" % report["run"], "region": "us-east-1", "instances": 2, "deleted": True}
        assert t.groups() == [want], t.groups()
        assert len(t.zones(report["run"])) == 1, "nodes of one trial in several zones"

        # Killed after its launches: the group is found by its tags, once its instances are gone.
        t.say("rbrun", "plan.json", "--json", "--state-dir", "killed", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="9")
        assert [g["deleted"] for g in t.groups()] == [True, False], t.groups()
        assert t.groups()[1]["instances"] > 0
        looked = t.say("rbrun", "gc", "--state-dir", "killed", "--older-than", "0s", "--dry-run")
        assert t.groups()[1]["name"] in looked.stderr and not t.groups()[1]["deleted"]
        t.say("rbrun", "gc", "--state-dir", "killed", "--older-than", "0s")
        t.say("rbrun", "gc", "--state-dir", "killed", "--older-than", "0s")
        assert all(g["deleted"] for g in t.groups()), t.groups()
        assert not [i for i in cloud.ledger()["instances"] if i["state"] in ("pending", "running")]

        # The same run, killed and carried on: the same group, made once.
        t.say("rbrun", "plan.json", "--json", "--state-dir", "again", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="9")
        t.say("rbrun", "resume", "--json", "--state-dir", "again")
        assert len(t.groups()) == 3 and all(g["deleted"] for g in t.groups()), t.groups()


main()
