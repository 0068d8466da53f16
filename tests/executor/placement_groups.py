#!/usr/bin/env python3
"""A trial that needs two nodes gets two close together: rbrun on rbmock makes one cluster placement group for them, tagged,
launches into it, and deletes it when they are gone; a run that was killed leaves it to gc."""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402

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
PROFILE = """format: rb-profile/1
name: gang
training:
  - {accelerator: T4, base_s: 0.2, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.9},
     {gpus: 4, nodes: 2, speedup: 3.5}]}
noise: {between: 1.0, within: 1.0}
startup_s: 0.3
checkpoint_s: 0.2
provisioning:
  - {infra: "*", instance_type: "*", market: "*", queue_s: 0.5, init_s: 1.0, capacity_failure: 0}
"""


class Test:
    def __init__(self, bin_dir, folder, cloud):
        self.bin, self.folder, self.cloud = bin_dir, folder, cloud
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RB_"))}
        self.env.update(AWS_ENDPOINT_URL=cloud.url, AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", HOME=folder,
                        RB_SSH_PORT=str(cloud.ssh_port), RB_SSH_USER=user, RB_DB=os.path.join(folder, "none.db"))
        os.mkdir(os.path.join(folder, "work"))
        with open(os.path.join(folder, "profile.yaml"), "w", encoding="utf-8") as f:
            f.write(PROFILE)

    def run(self, *argv, expect=0, **env):
        done = subprocess.run([os.path.join(self.bin, argv[0]), *argv[1:]], capture_output=True, text=True, timeout=100,
                              env=dict(self.env, **env), cwd=self.folder, check=False)
        assert done.returncode == expect, "%s: exit %d\n%s" % (argv, done.returncode, done.stderr[-3000:])
        return done

    def plan(self, gpus):
        with open(os.path.join(self.folder, "work", "job.yaml"), "w", encoding="utf-8") as f:
            f.write(JOB % gpus)
        self.run("rbplan", "work/job.yaml", "--planner", "static", "--profile-file", "profile.yaml", "--prices",
                 self.cloud.prices, "-o", "plan.json")

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
        t.run("rbrun", "plan.json", "--json", "--state-dir", "alone")
        assert t.groups() == []

        t.plan(4)
        done = t.run("rbrun", "plan.json", "--json", "--state-dir", "state")
        report = json.loads(done.stdout.splitlines()[-1])
        assert report["outcome"] == "complete" and len(report["nodes"]) == 2, report
        want = {"name": "rb-%s-two.gpus" % report["run"], "region": "us-east-1", "instances": 2, "deleted": True}
        assert t.groups() == [want], t.groups()
        assert len(t.zones(report["run"])) == 1, "nodes of one trial in several zones"

        # Killed after its launches: the group is found by its tags, once its instances are gone.
        t.run("rbrun", "plan.json", "--json", "--state-dir", "killed", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="9")
        assert [g["deleted"] for g in t.groups()] == [True, False], t.groups()
        assert t.groups()[1]["instances"] > 0
        looked = t.run("rbrun", "gc", "--state-dir", "killed", "--older-than", "0s", "--dry-run")
        assert t.groups()[1]["name"] in looked.stderr and not t.groups()[1]["deleted"]
        t.run("rbrun", "gc", "--state-dir", "killed", "--older-than", "0s")
        t.run("rbrun", "gc", "--state-dir", "killed", "--older-than", "0s")
        assert all(g["deleted"] for g in t.groups()), t.groups()
        assert not [i for i in cloud.ledger()["instances"] if i["state"] in ("pending", "running")]

        # The same run, killed and carried on: the same group, made once.
        t.run("rbrun", "plan.json", "--json", "--state-dir", "again", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="9")
        t.run("rbrun", "resume", "--json", "--state-dir", "again")
        assert len(t.groups()) == 3 and all(g["deleted"] for g in t.groups()), t.groups()


main()
