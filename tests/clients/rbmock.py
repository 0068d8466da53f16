"""An rbmock with both fronts for one test, and how a test that cannot run says so. Nodes never boot: clients ask for
instances, not for logins. With --k8s among the options pods do run, and cloud.kubeconfig leads to them."""
import os
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from mock_cloud import account, customer, read_exports  # noqa: E402

PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour
aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006
aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,spot,0.4125
aws/us-east-1,p4d.24xlarge,A100,8,40,96,1152,on_demand,21.957642
aws/us-east-1,c5.xlarge,CPU,1,0,4,8,on_demand,0.17
aws/us-east-1,disk,,,,,,,0.0001
gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.707
gcp/us-central1,g2-standard-4,L4,1,24,4,16,spot,0.397
gcp/us-central1,a2-highgpu-8g,A100,8,40,96,680,on_demand,29.39
gcp/us-central1,n1-standard-8+nvidia-tesla-t4:1,T4,1,16,8,30,on_demand,0.73
gcp/us-central1,disk,,,,,,,0.00014
k8s/lab,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006
"""
CLOUD = """format: rb-mock/1
prices: prices.csv
ssh_port: %d
shutdown_s: 0.2
provisioning:
  - {infra: k8s, instance_type: "*", market: "*", queue_s: 0.1, init_s: 0.1, capacity_failure: 0.0}
  - {infra: aws, instance_type: c5.xlarge, market: "*", queue_s: 1000.0, init_s: 1.0, capacity_failure: 0.0}
  - {infra: "*", instance_type: "*", market: "*", queue_s: 0.2, init_s: 1000.0, capacity_failure: 0.0}
pools:
  - {instance_type: a2-highgpu-8g, steps: [{after_s: 0, max: 0}]}
reservations:
  - {id: cr-0123456789abcdef0, zone: us-east-1a, instance_type: g5.xlarge, count: 2}
  - {id: cr-0123456789abcdef1, zone: us-east-1b, instance_type: g5.xlarge, count: 1, end_after_s: 90000, capacity_block: true}
quotas:
  - {name: "Running On-Demand P instances", infra: aws, instance_type: "p*", unit: vcpus, max: 96}
"""


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class RbMock:
    """with RbMock(path of the program) as cloud: cloud.ec2, cloud.gcp, cloud.account, cloud.keys (of EC2, as boto3 calls them)"""

    def __init__(self, program, *options, more=""):
        """options: further words for rbmock. Among them --key: nothing is written for cloud.account. more: of the cloud file."""
        self.program, self.options, self.more = program, options, more

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rbmock-clients-")
        path = lambda name: os.path.join(self.folder.name, name)  # noqa: E731
        with open(path("prices.csv"), "w", encoding="utf-8") as f:
            f.write(PRICES)
        with open(path("cloud.yaml"), "w", encoding="utf-8") as f:
            f.write(CLOUD % free_port() + self.more)
        self.account = path("account.json")
        self.process = subprocess.Popen(
            [self.program, "--cloud", path("cloud.yaml"), *account(os.path.dirname(self.program), self.options),
             *(() if "--key" in self.options else ("--credentials-out", self.account)), *self.options],
            stdout=subprocess.PIPE, text=True)
        words = dict(word.split("=", 1) for word in self.process.stdout.readline().split()[1:])
        self.ec2, self.gcp, self.k8s = words["ec2"], words["gcp"], words.get("k8s")
        self.exports = read_exports(self.process.stdout)
        self.kubeconfig = self.exports.get("KUBECONFIG")
        self.keys = {name.lower(): value for name, value in customer(self.exports).items() if "KEY" in name}
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()
        self.folder.cleanup()


# A pod that Pod Security accepts, as a client's user would write it.
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rb-1", "labels": {"rb.run-id": "R"}}, "spec": {
    "restartPolicy": "Never", "terminationGracePeriodSeconds": 5,
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [{
        "name": "node", "image": "x@sha256:00",
        "command": ["/bin/sh", "-c", "trap 'exit 0' TERM; echo hello; while :; do sleep 0.1; done"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "1", "memory": "1Gi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}}


def require(holds, what):
    if not holds:
        sys.exit("FAILED: %s" % (what,))
