"""A cluster of Kubernetes of a test's own: rbmock's front, a kubeconfig that leads to it, a job for it, and what must hold
when a run is over."""
import json
import os
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import ONE_GPU, RealRun, profile  # noqa: E402

PRICES = """k8s/lab,g2,T4,2,16,8,30,on_demand,1.08,test,2026-07-20T00:00:00Z
k8s/lab,g2/1,T4,1,16,4,15,on_demand,0.54,test,2026-07-20T00:00:00Z
"""
NAMESPACE = "rb"
TAIL = "  - {infra: k8s, instance_type: '*', market: '*', queue_s: 0.2, init_s: 0.2, capacity_failure: 0, release_s: %d}\n"
MORE = "kubernetes: {namespace: rb%s}\n"

JOB = """name: k8s
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: random, num_trials: %d, max_resource: %d}
trial: {gpus: {min: %d, max: %d}, max_nodes: %d, timeout: 20s}
setup: "touch set-up"
run: "test -e set-up || exit 9; epoch=$(cat $RB_RESUME_FROM/epoch 2>/dev/null || echo 0); while [ $epoch -lt $RB_RESOURCE_END ]; do epoch=$((epoch + 1)); \\
  sleep %g; echo $epoch >$RB_CHECKPOINT_DIR/epoch; echo epoch=$epoch val_acc=0.$RB_TRIAL_ID$epoch; \\
  if [ -e $RB_PREEMPT_FILE ]; then exit 75; fi; done"
checkpoint: {dir: ckpt}
image: registry.example/train@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
resources:
  infra: [k8s/lab]
  instance_types: ["g2"]%s
  max_nodes: %d
  kubernetes: {namespace: rb, cpus_per_gpu: 1%s}
deadline: 10m
confidence: 0.5
"""

KUBECONFIG = """apiVersion: v1
kind: Config
contexts: [{name: lab, context: {cluster: mock, user: me}}]
clusters: [{name: mock, cluster: {server: "%s"}}]
users: [{name: me, user: {token: "%s"}}]
"""


def group_of(kind):
    return {"leases": "/apis/coordination.k8s.io/v1", "jobs": "/apis/batch/v1"}.get(kind, "/api/v1")


class Cluster(MockCloud):
    """Use with `with`; .k8s_url is the API server."""

    def __init__(self, bin_dir, folder, *options, kubernetes="", capacity=10, prices="", release_s=0):
        """prices: further rows; release_s: for how long a machine is billed after its pod."""
        machines = TAIL % release_s if release_s else ""
        super().__init__(bin_dir, folder, "--k8s", "0", *options, more=machines + MORE % kubernetes, prices=PRICES + prices,
                         infra="mock" if release_s else "*",
                         capacity=", g2: %d" % capacity, shutdown_s=2)  # the object outlives its container, as it does in a real cluster

    def objects(self, kind):
        """All of a kind ("pods", "leases") in the namespace."""
        request = urllib.request.Request("%s%s/namespaces/%s/%s" % (self.k8s_url, group_of(kind), NAMESPACE, kind), headers={
            "Authorization": "Bearer " + self.customer["AWS_SECRET_ACCESS_KEY"]})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["items"]

    def await_no_pods(self):
        """A pod's object outlives its container for a while."""
        until = time.monotonic() + 30
        while self.objects("pods"):
            assert time.monotonic() < until, "pods left"
            time.sleep(0.1)

    def status_of(self, path, method="GET", body=None):
        """The status of the answer."""
        headers = {"Authorization": "Bearer " + self.customer["AWS_SECRET_ACCESS_KEY"], "Content-Type": "application/json"}
        request = urllib.request.Request(self.k8s_url + path, json.dumps(body).encode() if body else None, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            e.close()
            return e.code

    def create(self, kind, body):
        return self.status_of("%s/namespaces/%s/%s" % (group_of(kind), NAMESPACE, kind), "POST", body)

    def delete(self, kind, name):
        assert self.status_of("%s/namespaces/%s/%s/%s" % (group_of(kind), NAMESPACE, kind, name), "DELETE") in (200, 202)

    def evict(self, name, **options):
        """options: of its deletion."""
        assert self.status_of("/api/v1/namespaces/%s/pods/%s/eviction" % (NAMESPACE, name), "POST", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE},
            "deleteOptions": options}) == 201

    def delete_pod(self, name):
        self.delete("pods", name)


def run_on(bin_dir, folder, cluster, trials=4, resource=3, epoch_s=0.1, gpus=1, nodes=2, kubernetes="", resources="", extra="", **env):
    """A RealRun with its job and a plan for it. resources: further lines of the job's; extra: of the profile's provisioning."""
    run = RealRun(bin_dir, folder, **{"KUBECONFIG": os.path.join(folder, "kubeconfig"), **env})
    run.write("kubeconfig", KUBECONFIG % (cluster.k8s_url, cluster.customer["AWS_SECRET_ACCESS_KEY"]))
    run.write("work/job.yaml", JOB % (trials, resource, gpus, gpus, nodes, epoch_s, resources, nodes, kubernetes))
    run.write("profile.yaml", profile("k8s", epoch_s + 0.05, ONE_GPU, "{gpus: 4, nodes: 2, speedup: 3.0}", "{gpus: 8, nodes: 4, speedup: 5.0}").replace("provisioning:", "provisioning:" + extra))
    run.make_plan("work/job.yaml")
    return run


def node_of(pod):
    """The id of the plan's node that a pod of the ledger is, or is of: "NAME.UID" of its Job where it has one."""
    tags = pod["tags"]
    return "%s.%s" % (tags.get("batch.kubernetes.io/job-name", pod["name"]), tags.get("batch.kubernetes.io/controller-uid", pod["id"]))


def check_over(cluster, report, complete=True, estimated=()):
    """Nothing is left, nothing was launched twice, and the bill is the cluster's; estimated: ids of those of which the cluster
    has forgotten when they ended, for which the report says no less."""
    if complete:
        assert report["outcome"] == "complete", report["outcome"]
    cluster.await_no_pods()
    assert cluster.objects("leases") == [], "the run's lease is left"
    assert report["leak_check"]["instances_left"] == 0
    mine = [i for i in cluster.ledger()["instances"]]
    assert len(mine) == len(report["nodes"]), "%d instances, %d nodes" % (len(mine), len(report["nodes"]))
    bills, paid = {node_of(i): i["cost_uusd"] for i in mine}, {n["id"]: n["cost_uusd"] for n in report["nodes"]}
    for node in estimated:
        assert paid[node] >= bills[node], "the cluster bills %d for %s, the report says %d" % (bills[node], node, paid[node])
        bills[node] = paid[node]
    assert bills == paid and sum(paid.values()) == report["cost_uusd"]["actual"], "the cluster bills %s, the report says %s" % (
        bills, report["cost_uusd"])


def check_secrets(cluster, folder, written):
    """The token stands in no file of the run and in no output."""
    for root, _, names in os.walk(os.path.join(folder, "state")):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                written += f.read().decode("latin-1")
    assert cluster.customer["AWS_SECRET_ACCESS_KEY"] not in written, "the token was written"
