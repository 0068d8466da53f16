"""A pool of jobs on Compute Engine, as rbmock speaks it: its nodes boot the image that the pool names,
the bill is the cloud's, and nothing is left.

    gcp_pool.py --bin BUILD [TEST..]
"""
import argparse
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import ONE_GPU, RealRun, profile  # noqa: E402

BIN = None
MACHINE = "n1-standard-8+nvidia-tesla-t4:2"
PRICES = "gcp/us-central1,%s,T4,2,16,8,30,on_demand,1.08,test,2026-07-20T00:00:00Z\n" % MACHINE
IMAGE = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64"

JOB = """name: %s
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, eta: 2, num_trials: 4, max_resource: 2}
trial: {gpus: 1, timeout: 60s}
profile: lent
run: "epoch=$(cat $RB_RESUME_FROM/epoch 2>/dev/null || echo 0); while [ $epoch -lt $RB_RESOURCE_END ]; do epoch=$((epoch + 1)); sleep 0.1; \\
  echo $epoch >$RB_CHECKPOINT_DIR/epoch; echo epoch=$epoch val_acc=0.$RB_TRIAL_ID$epoch; done"
checkpoint: {dir: ckpt}
"""
POOL = """format: rb-pool/1
name: lab
interval: 1s
restart: 500ms
resources: {infra: [gcp/us-central1], instance_types: ["%s"], max_nodes: 2%s}
jobs: [first.yaml, second.yaml]
"""


class Pools(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-gcp-pool-")
        self.addCleanup(temporary.cleanup)
        self.run_, key = RealRun(BIN, temporary.name), os.path.join(temporary.name, "key.json")
        self.cloud = MockCloud(BIN, temporary.name, "--gcp", "0", "--credentials-out", key, prices=PRICES, infra="*")
        self.cloud.__enter__()
        self.addCleanup(self.cloud.__exit__)
        self.run_.on(self.cloud, key)
        self.run_.write("profile.yaml", profile("lent", 0.15, ONE_GPU))
        self.run_.say("rbprofile", "import", "profile.yaml", "prices.csv")
        for name in ("first", "second"):
            self.run_.write("work/%s.yaml" % name, JOB % name)

    def pool(self, more, expect=0):
        self.run_.write("work/pool.yaml", POOL % (MACHINE, more))
        return self.run_.say("rbrun", "--pool", "work/pool.yaml", "--json", "--state-dir", "state", expect=expect)

    def test_its_nodes_boot_the_image_that_the_pool_names(self):
        report = json.loads(self.pool(", image_id: {gcp: %s}" % IMAGE).stdout.splitlines()[-1])
        self.assertEqual([job["outcome"] for job in report["jobs"]], ["complete", "complete"])
        instances = self.cloud.ledger()["instances"]
        self.assertEqual(len(instances), 2)
        self.assertEqual({i["state"] for i in instances}, {"terminated"})
        self.assertEqual((report["instances_left"], report["cost_uusd"]), (0, sum(i["cost_uusd"] for i in instances)))
        self.assertLessEqual(abs(sum(job["share_uusd"] for job in report["jobs"]) - report["cost_uusd"]), len(report["jobs"]))

    def test_without_an_image_nothing_is_launched(self):
        done = self.pool("", expect=2)
        self.assertIn("image_id", done.stdout + done.stderr)
        self.assertEqual(self.cloud.ledger()["instances"], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    BIN = os.path.abspath(args.bin)
    unittest.main(argv=[sys.argv[0]] + rest)
