#!/usr/bin/env python3
"""Every answer of rbmock's Kubernetes front against the API's own description of its types (kubernetes_model.py): objects, lists,
the events of a watch, discovery, refusals. Usage: kubernetes_answers.py RBMOCK"""
import copy
import json
import os
import sys
import time

from kubernetes_model import Model
from rbmock import POD, RbMock, require

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mock"))
from k8s_client import Cluster  # noqa: E402

MORE = """kubernetes: {granted: [list nodes, list limitranges, create pods/eviction, get namespaces, list namespaces,
    create jobs, get jobs, list jobs, delete jobs],
  quota: {requests.nvidia.com/gpu: "4", pods: "9"}, limits: {nvidia.com/gpu: "4"}}
"""
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "rb-run"},
         "spec": {"holderIdentity": "me", "leaseDurationSeconds": 60, "renewTime": "2026-08-01T00:00:00.000000Z"}}
QUESTION = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"namespace": "rb", "verb": "list", "resource": "pods"}}}


class Checked(Cluster):
    """Looks at each answer that comes in; .watched: at the objects of a watch."""

    def __init__(self, *args):
        super().__init__(*args)
        self.model = Model()

    def ask(self, method, path, body=None, **options):
        answer = super().ask(method, path, body, **options)
        if path == "/version":
            self.model.check_as("io.k8s.apimachinery.pkg.version.Info", answer.json)
        elif "watch=true" in path:
            for line in answer.text.splitlines():
                change = json.loads(line)
                require(set(change) == {"type", "object"}, change)
                if change["type"] != "BOOKMARK":  # a pod with nothing but a version
                    self.model.check(change["object"])
        else:
            self.model.check(answer.json)
        return answer


def member(name, **spec):
    pod = copy.deepcopy(POD)
    pod["metadata"].update(name=name, annotations={"rb.token": name},
                           ownerReferences=[{"apiVersion": LEASE["apiVersion"], "kind": "Lease", "name": "rb-run", "uid": spec.pop("owner")}])
    pod["spec"].update(spec)
    return pod


def job(name, **spec):
    one = copy.deepcopy(POD)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"rb.run-id": "R"}},
            "spec": {"backoffLimit": 0, "template": {"metadata": {"labels": {"rb.run-id": "R"}}, "spec": one["spec"]}, **spec}}


def check_jobs(ask):
    """Jobs that go on, end, are refused and deleted."""
    jobs = "/apis/batch/v1/namespaces/rb/jobs"
    rules = {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    ask("GET", "/apis/batch/v1")
    ask("POST", jobs + "?dryRun=All", job("rbj-1"))
    for body in (job("rbj-1", podReplacementPolicy="Failed", podFailurePolicy=rules), job("rbj-1"), job("rbj-2", parallelism=3)):
        ask("POST", jobs, body)
    listed = ask("GET", "/api/v1/namespaces/rb/pods?labelSelector=batch.kubernetes.io/job-name%3Drbj-1").json["items"]
    require(len(listed) == 1, listed)
    name = listed[0]["metadata"]["name"]
    ask("POST", "/api/v1/namespaces/rb/pods/%s/eviction" % name, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "rb"}})
    until = time.monotonic() + 20
    while "conditions" not in ask("GET", jobs + "/rbj-1").json["status"]:
        require(time.monotonic() < until, "the Job does not end")
    require(ask("GET", jobs).json["items"], "jobs")
    ask("DELETE", jobs + "/rbj-1", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"})


def check_the_model():
    """What is wrong must be found."""
    good = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "creationTimestamp": None}, "spec": {"containers": [{"name": "node"}]}}
    for key, value in (("kind", "Pot"), ("spec", {}), ("spec", None), ("spec", {"containers": {}}), ("metadata", {"nome": "a"}),
                       ("metadata", {"creationTimestamp": "now"}), ("metadata", {"generation": "1"}), ("metadata", {"labels": {"a": 1}})):
        model = Model()
        model.check({**good, key: value})
        require(len(model.problems) == 1, (key, value, model.problems))
    model = Model()
    model.check(good)
    require(not model.problems, model.problems)


check_the_model()
with RbMock(sys.argv[1], "--k8s", "0", "--key", "id:secret", more=MORE) as cloud:
    cluster = Checked(cloud.k8s, "secret")
    ask, pods, leases = cluster.ask, cluster.pods, cluster.leases
    began = ask("GET", pods).json["metadata"]["resourceVersion"]
    for path in ("/version", "/api", "/apis", "/api/v1", "/apis/coordination.k8s.io", "/apis/coordination.k8s.io/v1", "/apis/authorization.k8s.io/v1",
                 "/api/v1/namespaces", "/api/v1/namespaces/rb", "/api/v1/nowhere"):
        ask("GET", path)
    owner = ask("POST", leases, LEASE).json
    ask("POST", pods + "?dryRun=All", member("rb-0", owner=owner["metadata"]["uid"]))
    for name in ("rb-1", "rb-2", "rb-3"):
        ask("POST", pods, member(name, owner=owner["metadata"]["uid"]))
    ask("POST", pods, member("rb-4", owner="", nodeSelector={"node.kubernetes.io/instance-type": "none"}))
    for refused in (member("rb-1", owner="1"), member("UPPER", owner="1"), member("rb-9", owner="1", securityContext={}), {"kind": "Nonsense"}):
        require(ask("POST", pods, refused).status >= 400, refused)
    for name in ("rb-1", "rb-2", "rb-3"):
        cluster.wait_running(name)
    ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", QUESTION)
    for kind in ("pods?limit=2", "events", "resourcequotas", "limitranges"):
        require(ask("GET", "/api/v1/namespaces/rb/" + kind).json["items"], kind)
    require(ask("GET", "/api/v1/nodes").json["items"], "nodes")
    ask("PUT", leases + "/rb-run", dict(LEASE, metadata={"name": "rb-run", "resourceVersion": owner["metadata"]["resourceVersion"]}))
    ask("PUT", leases + "/rb-run", dict(LEASE, metadata={"name": "rb-run", "resourceVersion": "1"}))
    ask("GET", leases)
    ask("POST", pods + "/rb-1/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "rb-1", "namespace": "rb"}})
    ask("DELETE", pods + "/rb-2", {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "1"}})
    ask("DELETE", pods + "/rb-2", {"apiVersion": "v1", "kind": "DeleteOptions"})
    cluster.wait("rb-2", lambda pod: pod is None)
    ask("DELETE", leases + "/rb-run")
    cluster.wait("rb-3", lambda pod: pod is None)
    check_jobs(ask)
    ask("GET", pods, token="wrong")
    watched = ask("GET", "%s?watch=true&timeoutSeconds=1&resourceVersion=%s" % (pods, began)).text
    require('"DELETED"' in watched and '"MODIFIED"' in watched, watched)
    model = cluster.model
    require(not model.problems, "\n".join(sorted(set(model.problems))))
    wanted = {"Pod", "PodList", "Lease", "LeaseList", "EventList", "NodeList", "ResourceQuotaList", "LimitRangeList", "NamespaceList", "Status",
              "Namespace", "APIGroupList", "APIGroup", "APIResourceList", "APIVersions", "SelfSubjectAccessReview", "Info",
              "Job", "JobList"}
    require(wanted <= model.kinds, wanted - model.kinds)
    print("%d members of %d kinds are as Kubernetes describes them" % (model.seen, len(model.kinds)))
