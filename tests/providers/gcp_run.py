"""A whole run on Compute Engine, as rbmock speaks it, while the cloud misbehaves and the controller is killed on the way:
one machine per launch, none left, the cloud's bill, and no secret in anything that was written.

    gcp_run.py --bin BUILD
"""
import argparse
import json
import os
import signal
import socket
import subprocess
import tempfile
import urllib.request

PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
gcp/us-central1,n1-standard-8+nvidia-tesla-t4:2,T4,2,16,8,30,on_demand,1.08,test,2026-07-20T00:00:00Z
"""

CLOUD = """format: rb-mock/1
prices: prices.csv
ssh_port: %d
shutdown_s: 0.1
provisioning:
  - {infra: gcp, instance_type: "*", market: "*", queue_s: 0.2, init_s: 0.2, capacity_failure: 0}
"""

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

PROFILE = """format: rb-profile/1
name: gcp
training:
  - {accelerator: T4, base_s: 0.15, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}
noise: {between: 1.0, within: 1.0}
startup_s: 0.3
checkpoint_s: 0.2
provisioning:
  - {infra: "*", instance_type: "*", market: "*", queue_s: 0.5, init_s: 1.0, capacity_failure: 0}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_cloud(bin_dir, folder):
    process = subprocess.Popen([os.path.join(bin_dir, "rbmock"), "--ec2", "0", "--gcp", "0", "--cloud", "cloud.yaml", "--chaos",
                                "chaos.yaml", "--credentials-out", "key.json"], stdout=subprocess.PIPE, text=True, cwd=folder)
    ready = process.stdout.readline()
    assert "gcp=" in ready, ready
    return process, ready.split("gcp=")[1].split()[0]


def run(bin_dir, folder, env, argv, expect=0):
    done = subprocess.run([os.path.join(bin_dir, argv[0])] + argv[1:], capture_output=True, text=True, timeout=100, env=env,
                          cwd=folder)
    assert done.returncode == expect, "%s: exit %d, expected %d\n%s" % (argv, done.returncode, expect, done.stderr[-3000:])
    return done


def check_cloud(url, report):
    with urllib.request.urlopen(url + "/_rbmock/ledger", timeout=10) as answer:
        instances = json.load(answer)["instances"]
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
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "work"))  # copied to the nodes: the key file is not in it
        for name, text in (("prices.csv", PRICES), ("cloud.yaml", CLOUD), ("chaos.yaml", CHAOS), ("work/job.yaml", JOB),
                           ("profile.yaml", PROFILE)):
            port = free_port()
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text % port if name == "cloud.yaml" else text)
            if name == "cloud.yaml":
                ssh_port = port
        cloud, url = start_cloud(bin_dir, folder)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GOOGLE_", "GCLOUD_", "CLOUDSDK_", "GCE_", "RB_"))}
        env.update(HOME=folder, RB_DB=os.path.join(folder, "none.db"), RB_SSH_PORT=str(ssh_port), RB_SSH_USER=user,
                   RB_GCP_COMPUTE_ENDPOINT=url, GOOGLE_APPLICATION_CREDENTIALS=os.path.join(folder, "key.json"),
                   RB_TRACE="provider,launcher,journal")
        try:
            run(bin_dir, folder, env, ["rbplan", "work/job.yaml", "--planner", "static", "--profile-file", "profile.yaml",
                                       "--prices", "prices.csv", "-o", "plan.json"])
            killed = run(bin_dir, folder, dict(env, RB_TEST_DIE_AFTER="6"),
                         ["rbrun", "plan.json", "--json", "--state-dir", "state"], expect=-signal.SIGKILL)
            done = run(bin_dir, folder, env, ["rbrun", "resume", "--json", "--state-dir", "state"])
            report = json.loads(done.stdout.splitlines()[-1])
            assert report["outcome"] == "complete", report["outcome"]
            check_cloud(url, report)
            check_secrets(folder, killed.stdout + killed.stderr + done.stdout + done.stderr)
            print("%d nodes, %s" % (len(report["nodes"]), report["outcome"]))
        finally:
            cloud.terminate()
            cloud.wait(20)
            cloud.stdout.close()


main()
