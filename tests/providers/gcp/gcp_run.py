"""A whole run on Compute Engine, as rbmock speaks it, while the cloud misbehaves and the controller is killed on the way:
one machine per launch, none left, the cloud's bill, and no secret in anything that was written.

    gcp_run.py --bin BUILD
"""
import argparse
import json
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

PRICES = "gcp/us-central1,n1-standard-8+nvidia-tesla-t4:2,T4,2,16,8,30,on_demand,1.08,test,2026-07-20T00:00:00Z\n"

CHAOS = """format: rb-chaos/1
rules:
  - {where: {front: gcp, action: instances.insert}, times: 2, what: lost_response}
  - {where: {front: gcp, action: zoneOperations.wait}, times: 1, what: html_502}
  - {where: {front: gcp, action: instances.aggregatedList}, when: {call: 3}, times: 1, what: {truncated_body: {fraction: 0.5}}}
  - {where: {front: gcp, action: instances.delete}, times: 1, what: {html_502: {after_effect: true}}}
"""

JOB = """name: gcp
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: random, num_trials: 4, max_resource: 3}
trial: {gpus: 1, timeout: 20s}
run: "epoch=$RB_RESOURCE_START; while [ $epoch -lt $RB_RESOURCE_END ]; do epoch=$((epoch + 1)); sleep 0.1; \\
  echo epoch=$epoch val_acc=0.$RB_TRIAL_ID$epoch; done; echo $epoch >$RB_CHECKPOINT_DIR/epoch"
checkpoint: {dir: ckpt}
resources:
  infra: [gcp/us-central1]
  instance_types: ["n1-standard-8+nvidia-tesla-t4:2"]
  image_id: {gcp/us-central1: projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64}
  max_nodes: 2
deadline: 10m
confidence: 0.5
"""

def check_cloud(instances, report):
    mine = [i for i in instances if i["tags"].get("rb-run") == report["run"]]
    assert len(mine) == len(instances), "an instance of no run"
    assert not [i["name"] for i in mine if i["state"] not in ("terminated", "shutting-down")], "instances left"
    assert report["leak_check"]["instances_left"] == 0
    names = sorted("%s.%s" % (i["name"], i["zone"]) for i in mine)
    assert names == sorted(n["id"] for n in report["nodes"]), "a launch was made twice, or is unknown"
    assert sum(i["cost_uusd"] for i in mine) == report["cost_uusd"]["actual"]


def check_secrets(folder, written):
    with open(os.path.join(folder, "key.json"), encoding="utf-8") as f:
        key = json.load(f)["private_key"].splitlines()[5]
    secrets = [key, "Bearer ", "assertion=", "access_token"]
    for root, _, names in os.walk(os.path.join(folder, "state")):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                written += f.read().decode("latin-1")
    for secret in secrets:
        assert secret not in written, "a secret was written: %s..." % secret[:12]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)
    with tempfile.TemporaryDirectory(prefix="rb-gcp-") as folder:
        run, key = RealRun(bin_dir, folder, RB_TRACE="provider,launcher,journal"), os.path.join(folder, "key.json")
        run.write("work/job.yaml", JOB)  # copied to the nodes: the key file is not in it
        run.write("profile.yaml", profile("gcp", 0.15))
        options = ["--gcp", "0", "--credentials-out", key, "--chaos", run.write("chaos.yaml", CHAOS)]
        with MockCloud(bin_dir, folder, *options, prices=PRICES, infra="*") as cloud:
            run.on(cloud, key)
            run.make_plan("work/job.yaml")
            killed = run.say("rbrun", "plan.json", "--json", "--state-dir", "state", expect=-signal.SIGKILL,
                             RB_TEST_DIE_AFTER="6")
            done = run.say("rbrun", "resume", "--json", "--state-dir", "state")
            report = json.loads(done.stdout.splitlines()[-1])
            assert report["outcome"] == "complete", report["outcome"]
            check_cloud(cloud.ledger()["instances"], report)
            check_secrets(folder, killed.stdout + killed.stderr + done.stdout + done.stderr)
            print("%d nodes, %s" % (len(report["nodes"]), report["outcome"]))


main()
