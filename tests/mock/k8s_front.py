#!/usr/bin/env python3
"""rbmock's Kubernetes front, asked as the API is asked and not through a client of ours: refusals, lists, watches, leases, commands
over WebSocket, the life of pods and their bill. Usage: k8s_front.py RBMOCK [TEST..]"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from k8s_client import STATUS, STDERR, STDOUT, V4, V5, Cluster  # noqa: E402
from mock_cloud import free_port, read_exports  # noqa: E402

PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour
k8s/lab,one.gpu,T4,1,16,4,16,on_demand,0.50
k8s/lab,four.gpus,T4,4,16,16,64,on_demand,2.00
k8s/lab,four.gpus/2,T4,2,16,8,32,on_demand,1.01
k8s/lab,spot.gpu,T4,1,16,4,16,spot,0.20
"""
CLOUD = """format: rb-mock/1
prices: prices.csv
ssh_port: %d
shutdown_s: 0.1
provisioning:
  - {infra: k8s, instance_type: "*", market: "*", queue_s: 0.05, init_s: 0.05, capacity_failure: 0}
"""
KEEPER = "trap 'echo term; exit 3' TERM; echo hello; while :; do sleep 0.05; done"


def pod(name="rb-1", command=KEEPER, gpus=1, kind="one.gpu", grace=5, owner=None, labels=None, annotations=None, **spec):
    """A pod that Pod Security accepts."""
    meta = {"name": name, "labels": {"rb.run-id": "R", **(labels or {})}, "annotations": {"rb.token": "token-" + name, **(annotations or {})}}
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "name": owner["metadata"]["name"],
                                    "uid": owner["metadata"]["uid"]}]
    container = {
        "name": "node", "image": "x@sha256:00", "command": ["/bin/sh", "-c", command], "env": [{"name": "HOME", "value": "/rb"}],
        "resources": {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"cpu": "1000m", "memory": "1024Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "rb", "mountPath": "/rb"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": grace,
        "nodeSelector": {"node.kubernetes.io/instance-type": kind},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container], "volumes": [{"name": "rb", "emptyDir": {}}], **spec}}


def lease(name="rb-run", **meta):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, **meta},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 60, "renewTime": "2026-08-01T00:00:00.000000Z"}}


def ended(p):
    return p is None or "terminated" in p["status"]["containerStatuses"][0]["state"]


class Front(unittest.TestCase):
    """kubernetes, more: of the cloud file; chaos: rules; speed: of its clock."""
    kubernetes, more, chaos, speed = "", "", "", "1"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="k8s-front-")
        self.addCleanup(self.folder.cleanup)
        files = {"prices.csv": PRICES, "cloud.yaml": CLOUD % free_port() + self.more,
                 "chaos.yaml": "format: rb-chaos/1\nrules: [%s]\n" % self.chaos}
        if self.kubernetes:
            files["cloud.yaml"] += "kubernetes: {%s}\n" % self.kubernetes
        for name, text in files.items():
            with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as f:
                f.write(text)
        self.process = subprocess.Popen(
            [RBMOCK, "--cloud", os.path.join(self.folder.name, "cloud.yaml"), "--chaos", os.path.join(self.folder.name, "chaos.yaml"),
             "--key", "id:secret", "--k8s", "0", "--speed", self.speed, "--state", os.path.join(self.folder.name, "state")],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.url = dict(w.split("=", 1) for w in self.process.stdout.readline().split()[1:])["k8s"]
        self.exports = read_exports(self.process.stdout)
        self.cluster = Cluster(self.url, "secret")

    def stop(self):
        self.process.terminate()
        self.assertEqual(self.process.wait(20), 0)
        self.process.stdout.close()

    def control(self, what, method="GET"):
        with urllib.request.urlopen(urllib.request.Request(self.url + "/_rbmock/" + what, method=method), timeout=10) as answer:
            return json.load(answer)

    def refused(self, answer, status, reason, *words):
        self.assertEqual(answer.status, status, answer.text)
        self.assertEqual((answer.json["kind"], answer.json["status"], answer.json["code"]), ("Status", "Failure", status))
        self.assertEqual(answer.json["reason"], reason)
        for word in words:
            self.assertIn(word, answer.json["message"])
        return answer

    def create(self, body=None, query=""):
        return self.cluster.ask("POST", self.cluster.pods + query, body or pod())

    def created(self, *args, **options):
        answer = self.create(pod(*args, **options))
        self.assertEqual(answer.status, 201, answer.text)
        return answer.json

    def delete(self, name="rb-1", **options):
        return self.cluster.ask("DELETE", self.cluster.pods + "/" + name, {"kind": "DeleteOptions", "apiVersion": "v1", **options})

    def gone(self, name="rb-1"):
        self.cluster.wait(name, lambda p: p is None)


JOBS = "/apis/batch/v1/namespaces/rb/jobs"
ON_DISRUPTION = {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def job(name="rbj-1", owner=None, command=KEEPER, backoffLimit=0, **spec):
    """A Job with such a pod."""
    one = pod(name, command=command, owner=owner)
    template = {"metadata": {k: one["metadata"][k] for k in ("labels", "annotations")}, "spec": one["spec"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": one["metadata"], "spec": {"backoffLimit": backoffLimit, "template": template, **spec}}


class JobCase(Front):
    kubernetes = "granted: [create jobs, get jobs, list jobs, delete jobs, create pods/eviction]"

    def make(self, *args, query="", **options):
        return self.cluster.ask("POST", JOBS + query, job(*args, **options))

    def made(self, *args, **options):
        answer = self.make(*args, **options)
        self.assertEqual(answer.status, 201, answer.text)
        return answer.json

    def job(self, name="rbj-1"):
        return self.cluster.ask("GET", JOBS + "/" + name).json

    def pods(self, name="rbj-1"):
        """Its pods that are there, the oldest first."""
        listed = self.cluster.ask("GET", self.cluster.pods + "?labelSelector=batch.kubernetes.io/job-name%3D" + name)
        return listed.json["items"]

    def until(self, holds, seconds=20):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "not so after %d s" % seconds)
            time.sleep(0.05)

    def running(self, n=1, name="rbj-1"):
        """Waits until n of its pods run, and returns the newest."""
        self.until(lambda: sum(p["status"]["phase"] == "Running" for p in self.pods(name)) == n)
        return self.pods(name)[-1]

    def condition(self, name="rbj-1"):
        """Waits for its end: its type and reason."""
        self.until(lambda: self.job(name)["status"].get("conditions"))
        return [(c["type"], c["reason"]) for c in self.job(name)["status"]["conditions"]]


class Jobs(JobCase):
    def test_a_job_makes_one_pod_and_ends_with_it(self):
        made = self.made(command="exit 0")
        self.assertEqual(made["spec"]["selector"]["matchLabels"], {"batch.kubernetes.io/controller-uid": made["metadata"]["uid"]})
        self.refused(self.make(), 409, "AlreadyExists", 'jobs.batch "rbj-1" already exists')
        self.assertEqual(self.condition(), [("Complete", "CompletionsReached")])
        self.assertEqual((self.job()["status"]["succeeded"], self.job()["status"].get("active")), (1, None))
        [one] = self.pods()
        self.assertRegex(one["metadata"]["name"], "^rbj-1-[a-z0-9]{5}$")
        self.assertEqual(one["metadata"]["annotations"]["rb.token"], "token-rbj-1")
        self.assertEqual(one["metadata"]["ownerReferences"], [{"apiVersion": "batch/v1", "kind": "Job", "name": "rbj-1", "uid": made["metadata"]["uid"],
                                                               "controller": True, "blockOwnerDeletion": True}])
        listed = self.cluster.ask("GET", JOBS + "?labelSelector=rb.run-id%3DR").json
        self.assertEqual(([i["metadata"]["name"] for i in listed["items"]], listed["kind"]), (["rbj-1"], "JobList"))
        self.refused(self.cluster.ask("GET", JOBS + "/other"), 404, "NotFound", 'jobs.batch "other" not found')
        failed = self.made("rbj-2", command="exit 3")
        self.assertEqual(self.condition("rbj-2"), [("Failed", "BackoffLimitExceeded")])
        self.assertEqual((failed["spec"]["backoffLimit"], len(self.pods("rbj-2"))), (0, 1))

    def test_a_deleted_pod_is_replaced_at_once_unless_only_ended_ones_are(self):
        self.made(backoffLimit=3, command="trap 'sleep 1.5; exit 1' TERM; while :; do sleep 0.05; done")
        first = self.running()
        self.delete(first["metadata"]["name"])
        second = self.running(2)  # the first one is still there
        self.assertNotEqual(second["metadata"]["uid"], first["metadata"]["uid"])
        self.made("rbj-2", podReplacementPolicy="Failed")
        self.delete(self.running(name="rbj-2")["metadata"]["name"])
        self.assertEqual(self.condition("rbj-2"), [("Failed", "BackoffLimitExceeded")])  # it has ended, and no second one may be made
        self.until(lambda: not self.pods("rbj-2"))
        self.assertEqual(self.job("rbj-2")["status"]["failed"], 1)

    def test_a_disruption_fails_the_job(self):
        self.made(backoffLimit=5, podReplacementPolicy="Failed", podFailurePolicy=ON_DISRUPTION)
        name = self.running()["metadata"]["name"]
        self.cluster.ask("POST", "%s/%s/eviction" % (self.cluster.pods, name), {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "rb"}})
        self.assertEqual(self.condition(), [("Failed", "PodFailurePolicy")])
        self.until(lambda: not self.pods())

    def test_the_end_of_a_job(self):
        made, other = self.made(), {"preconditions": {"uid": "1"}}
        self.running()
        self.refused(self.cluster.ask("DELETE", JOBS + "/rbj-1", other), 409, "Conflict", 'jobs.batch "rbj-1"')
        self.assertEqual(self.cluster.ask("DELETE", JOBS + "/rbj-1", {"preconditions": {"uid": made["metadata"]["uid"]}, "propagationPolicy": "Background"}).status, 200)
        self.until(lambda: not self.pods())
        self.made("rbj-2")
        self.running(name="rbj-2")
        orphaned = self.cluster.ask("DELETE", JOBS + "/rbj-2")
        self.assertIn("child pods are preserved by default", orphaned.warnings[0])
        self.assertEqual([self.running(name="rbj-2")["status"]["phase"]], ["Running"])
        owner = self.cluster.ask("POST", self.cluster.leases, lease()).json
        self.made("rbj-3", owner=owner)
        self.running(name="rbj-3")
        self.cluster.ask("DELETE", self.cluster.leases + "/rb-run")  # the Lease takes the Job, and the Job its pod
        self.until(lambda: not self.pods("rbj-3"))
        self.assertEqual(self.cluster.ask("GET", JOBS + "/rbj-3").status, 404)
        self.made("rbj-4", owner=owner)  # its owner is gone
        self.until(lambda: self.cluster.ask("GET", JOBS + "/rbj-4").status == 404 and not self.pods("rbj-4"))

    def test_what_a_job_may_not_be(self):
        for field, spec in (("spec.parallelism", {"parallelism": 2}), ("spec.completions", {"completions": 0}), ("spec.backoffLimit", {"backoffLimit": -1}),
                            ("spec.suspend", {"suspend": True}), ("spec.completionMode", {"completionMode": "Indexed"}),
                            ("spec.podReplacementPolicy", {"podReplacementPolicy": "Never"}),
                            ("spec.podReplacementPolicy", {"podReplacementPolicy": "TerminatingOrFailed", "podFailurePolicy": ON_DISRUPTION}),
                            ("spec.podFailurePolicy", {"podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type": "x"}]}]}}),
                            ("spec.template.spec.containers", {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}),
                            ("spec.template.spec.restartPolicy", {"template": {"spec": {"containers": [{"name": "node", "image": "x"}]}}})):
            self.refused(self.make(**spec), 422, "Invalid", 'Job.batch "rbj-1" is invalid: ' + field)
        self.refused(self.make("x" * 64), 422, "Invalid", "no more than 63 characters")
        self.refused(self.make(query="?fieldValidation=Strict", ttlSecondsAfterFinished=1), 400, "BadRequest", "ttlSecondsAfterFinished")
        self.assertEqual(self.make(query="?dryRun=All").status, 201)
        self.assertEqual(self.cluster.ask("GET", JOBS).json["items"], [])


class JobsThatGetNoPod(JobCase):
    """Neither a quota nor Pod Security keeps a Job from being made; the pod is refused, and an event says so."""
    kubernetes = JobCase.kubernetes + ', quota: {pods: "1"}, version: "1.28"'

    def why(self, name):
        events = self.cluster.ask("GET", "/api/v1/namespaces/rb/events?fieldSelector=involvedObject.uid%%3D%s" % self.job(name)["metadata"]["uid"])
        return [(e["reason"], e["message"]) for e in events.json["items"]]

    def test_quota_and_security(self):
        self.made()
        self.running()
        self.made("rbj-2")
        self.until(lambda: self.why("rbj-2"))
        self.assertEqual(self.why("rbj-2")[0][0], "FailedCreate")
        self.assertIn("exceeded quota: rb", self.why("rbj-2")[0][1])
        self.cluster.ask("DELETE", JOBS + "/rbj-1?propagationPolicy=Background")
        self.running(name="rbj-2")  # there is room now
        bare = job("rbj-3")
        del bare["spec"]["template"]["spec"]["securityContext"]
        answer = self.cluster.ask("POST", JOBS, bare)
        self.assertEqual(answer.status, 201)
        self.assertIn('would violate PodSecurity \\"restricted:latest\\"', answer.warnings[0])
        self.until(lambda: self.why("rbj-3"))
        self.assertIn("violates PodSecurity", self.why("rbj-3")[0][1])

    def test_an_old_server_drops_the_policy(self):
        made = self.made(podReplacementPolicy="Failed")
        self.assertNotIn("podReplacementPolicy", made["spec"])


class Requests(Front):
    def test_who_may_do_what(self):
        ask = self.cluster.ask
        self.refused(ask("GET", self.cluster.pods, token="wrong"), 401, "Unauthorized")
        self.refused(ask("GET", "/api/v1/namespaces/other/pods"), 403, "Forbidden", 'cannot list resource "pods"', 'namespace "other"')
        self.refused(ask("GET", "/api/v1/nodes"), 403, "Forbidden", "at the cluster scope")
        for path in ("/apis/kueue.x-k8s.io/v1beta1", "/apis/kueue.x-k8s.io/v1beta1/namespaces/rb/workloads/w", "/apis/apps/v1/namespaces/rb/deployments"):
            answer = ask("GET", path)
            self.assertEqual((answer.status, answer.json, answer.text), (404, None, "404 page not found\n"))
        self.refused(ask("PATCH", self.cluster.pods + "/rb-1", {}), 403, "Forbidden", "cannot patch")
        self.refused(ask("PATCH", self.cluster.pods, {}), 405, "MethodNotAllowed")
        self.refused(ask("GET", self.cluster.pods + "?nonsense=1"), 400, "BadRequest", "nonsense")
        self.refused(ask("GET", self.cluster.pods + "/rb-1"), 404, "NotFound", '"rb-1" not found')

        def may(verb, resource, sub=""):
            answer = ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
                "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {"namespace": "rb", "verb": verb, "resource": resource, "subresource": sub}}})
            self.assertEqual(answer.status, 201, answer.text)
            return answer.json["status"]["allowed"]
        self.assertTrue(may("create", "pods") and may("create", "pods", "exec") and may("delete", "leases"))
        self.assertFalse(may("list", "nodes") or may("patch", "pods") or may("create", "secrets"))

    def test_the_kubeconfig_is_private_and_goes(self):
        path = self.exports["KUBECONFIG"]
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.process.terminate()
        self.process.wait(20)
        self.assertFalse(os.path.exists(path))

    def test_tables(self):
        def table(path):
            answer = self.cluster.ask("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
            self.assertEqual((answer.json["kind"], answer.json["apiVersion"]), ("Table", "meta.k8s.io/v1"))
            self.assertTrue(all(r["object"]["kind"] == "PartialObjectMetadata" and len(r["cells"]) == len(answer.json["columnDefinitions"])
                                for r in answer.json["rows"]))
            return [r["cells"] for r in answer.json["rows"]]
        self.created("never", kind="none")
        self.created("ended", command="exit 0")
        self.created("failed", command="exit 3")
        self.created("slow", command="trap 'sleep 2; exit' TERM; while :; do sleep 0.05; done")
        for name in ("ended", "failed"):
            self.cluster.wait(name, lambda p: p["status"]["phase"] in ("Succeeded", "Failed"))
        self.cluster.wait_running("slow")
        self.assertEqual([r[:4] for r in table(self.cluster.pods)], [
            ["never", "0/1", "Pending", "0"], ["ended", "0/1", "Completed", "0"], ["failed", "0/1", "Error", "0"], ["slow", "1/1", "Running", "0"]])
        self.delete("slow")
        self.assertEqual(table(self.cluster.pods + "/slow")[0][2], "Terminating")
        self.refused(self.cluster.ask("GET", self.cluster.pods + "/other", accept="application/json;as=Table;v=v1;g=meta.k8s.io"), 404, "NotFound")

    def test_discovery(self):
        self.assertEqual(self.cluster.ask("GET", "/version").json["minor"], "30")
        self.assertEqual(self.cluster.ask("GET", "/api").json["versions"], ["v1"])
        groups = [g["name"] for g in self.cluster.ask("GET", "/apis").json["groups"]]
        self.assertEqual(groups, ["coordination.k8s.io", "authorization.k8s.io", "batch"])
        names = [r["name"] for r in self.cluster.ask("GET", "/api/v1").json["resources"]]
        self.assertIn("pods/exec", names)

    def test_every_violation_is_named(self):
        body = pod()
        del body["spec"]["securityContext"], body["spec"]["containers"][0]["securityContext"]
        body["spec"]["volumes"].append({"name": "host", "hostPath": {"path": "/etc"}})
        self.refused(self.create(body), 403, "Forbidden", 'violates PodSecurity "restricted:latest"', "hostPath volumes",
                     "allowPrivilegeEscalation != false", "unrestricted capabilities", "runAsNonRoot != true", "seccompProfile")

    def test_objects_without_sense(self):
        def change(fn):
            body = pod()
            fn(body)
            return body
        for fn, word in (
                (lambda b: b["metadata"].update(name="Rb_1"), "RFC 1123"),
                (lambda b: b["metadata"]["labels"].update(owner="me@home"), "a valid label"),
                (lambda b: b["metadata"]["labels"].update(long="x" * 64), "a valid label"),
                (lambda b: b["spec"].update(restartPolicy="Always"), "restartPolicy"),
                (lambda b: b["spec"]["containers"].append(dict(b["spec"]["containers"][0], name="two")), "one container"),
                (lambda b: b["spec"].update(activeDeadlineSeconds=0), "greater than or equal to 1"),
                (lambda b: b["spec"]["volumes"].clear(), "volumeMounts"),
                (lambda b: b["spec"]["containers"][0]["resources"]["requests"].update({"nvidia.com/gpu": "2"}), "limit of 1")):
            answer = self.refused(self.create(change(fn)), 422, "Invalid", word)
            self.assertTrue(answer.json["details"]["causes"][0]["field"])
        for fn, reason in ((lambda b: b["spec"]["containers"].clear(), "Required"), (lambda b: b["spec"].update(restartPolicy="No"), "NotSupported"),
                           (lambda b: b["spec"]["volumes"].clear(), "NotFound"), (lambda b: b["spec"].update(activeDeadlineSeconds=0), "Invalid")):
            cause = self.create(change(fn)).json["details"]["causes"][0]
            self.assertEqual(cause["reason"], "FieldValue" + reason)
        self.refused(self.create(change(lambda b: b["spec"].update(activeDeadlineSeconds="5"))), 400, "BadRequest", "a whole number")
        self.refused(self.create(change(lambda b: b.update(kind="Job"))), 400, "BadRequest")

    def test_a_copy_of_an_object_is_no_new_object(self):
        answer = self.create(self.created("rb-2"))
        self.assertEqual((answer.status, answer.json.get("reason")), (500, None))
        self.assertIn("resourceVersion should not be set", answer.json["message"])

    def test_unknown_fields(self):
        body = pod()
        body["spec"]["activeDedlineSeconds"] = 5
        self.refused(self.create(body, "?fieldValidation=Strict"), 400, "BadRequest", 'unknown field "spec.activeDedlineSeconds"')
        answer = self.create(body)
        self.assertEqual(answer.status, 201)
        self.assertIn('unknown field \\"spec.activeDedlineSeconds\\"', answer.warnings[0])
        self.assertNotIn("activeDedlineSeconds", answer.json["spec"])

    def test_what_the_answer_adds(self):
        answer = self.create(query="?dryRun=All")
        self.assertEqual(answer.status, 201)
        self.assertEqual(self.cluster.ask("GET", self.cluster.pods).json["items"], [])
        self.assertEqual(self.control("ledger")["instances"], [])
        spec = answer.json["spec"]
        self.assertEqual(spec["containers"][0]["resources"], {
            "limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}})
        self.assertEqual([t["key"] for t in spec["tolerations"]],
                         ["nvidia.com/gpu", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"])
        self.assertEqual(spec["schedulerName"], "default-scheduler")

    def test_the_same_name_twice(self):
        first = self.created()
        self.refused(self.create(), 409, "AlreadyExists", "already exists")
        self.assertEqual(self.cluster.pod("rb-1").json["metadata"]["uid"], first["metadata"]["uid"])
        self.assertEqual(self.cluster.pod("rb-1").json["metadata"]["annotations"]["rb.token"], "token-rb-1")

    def test_lists(self):
        for k in range(5):
            self.created("rb-%d" % k, labels={"rb.run-id": "R" if k < 3 else "S"})

        def names(query):
            answer = self.cluster.ask("GET", self.cluster.pods + "?" + urllib.parse.urlencode(query))
            self.assertEqual(answer.status, 200, answer.text)
            return [p["metadata"]["name"] for p in answer.json["items"]], answer.json["metadata"]
        self.assertEqual(names({"labelSelector": "rb.run-id=R"})[0], ["rb-0", "rb-1", "rb-2"])
        self.assertEqual(names({"labelSelector": "rb.run-id!=R"})[0], ["rb-3", "rb-4"])
        self.assertEqual(names({"labelSelector": "rb.run-id in (S, T),!missing"})[0], ["rb-3", "rb-4"])
        self.assertEqual(names({"labelSelector": "rb.run-id notin (S)"})[0], ["rb-0", "rb-1", "rb-2"])
        self.assertEqual(names({"fieldSelector": "metadata.name=rb-4"})[0], ["rb-4"])
        page, meta = names({"limit": 2})
        self.assertEqual((page, meta["remainingItemCount"]), (["rb-0", "rb-1"], 3))
        page, meta = names({"limit": 2, "continue": meta["continue"]})
        page, meta = names({"limit": 2, "continue": meta["continue"]})
        self.assertEqual(page, ["rb-4"])
        self.assertNotIn("continue", meta)
        self.refused(self.cluster.ask("GET", self.cluster.pods + "?limit=2&continue=mine"), 400, "BadRequest")
        self.refused(self.cluster.ask("GET", self.cluster.pods + "?fieldSelector=spec.image%3Dx"), 400, "BadRequest", "field label not supported: spec.image")

    def test_watches(self):
        before = self.cluster.ask("GET", self.cluster.pods).json["metadata"]["resourceVersion"]
        request = urllib.request.Request(self.url + self.cluster.pods + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=20"
                                         "&labelSelector=rb.run-id%3DR&resourceVersion=" + before,
                                         headers={"Authorization": "Bearer secret"})
        with urllib.request.urlopen(request, timeout=20) as stream:
            self.created("rb-other", labels={"rb.run-id": "S"})
            self.created()
            seen = []
            while not seen or seen[-1]["object"]["status"]["phase"] != "Running":
                seen.append(json.loads(stream.readline()))
            self.assertEqual(seen[0]["type"], "ADDED")
            self.assertEqual({e["object"]["metadata"]["name"] for e in seen}, {"rb-1"})
            self.delete(gracePeriodSeconds=1)
            while seen[-1]["type"] != "DELETED":
                seen.append(json.loads(stream.readline()))
        request.full_url = self.url + self.cluster.pods + "?watch=true&timeoutSeconds=1&resourceVersion=3"
        with urllib.request.urlopen(request, timeout=20) as stream:
            event = json.loads(stream.readline())
            self.assertEqual((event["type"], event["object"]["code"], stream.readline()), ("ERROR", 410, b""))


class Leases(Front):
    def test_compare_and_swap(self):
        path = self.cluster.leases + "/rb-run"
        first = self.cluster.ask("POST", self.cluster.leases, lease(labels={"rb.owner": "me"})).json
        self.refused(self.cluster.ask("POST", self.cluster.leases, lease()), 409, "AlreadyExists")
        self.refused(self.cluster.ask("PUT", path, lease()), 422, "Invalid", "resourceVersion")
        version = first["metadata"]["resourceVersion"]
        second = self.cluster.ask("PUT", path, lease(resourceVersion=version))
        self.assertEqual(second.status, 200, second.text)
        self.refused(self.cluster.ask("PUT", path, lease(resourceVersion=version)), 409, "Conflict", "has been modified")
        self.assertEqual(self.cluster.ask("GET", path).json["spec"]["renewTime"], "2026-08-01T00:00:00.000000Z")
        items = self.cluster.ask("GET", self.cluster.leases + "?labelSelector=rb.owner%3Dme").json["items"]
        self.assertEqual(items, [], "an update replaces the labels")
        answer = self.refused(self.cluster.ask("DELETE", self.cluster.leases + "/none"), 404, "NotFound", 'leases.coordination.k8s.io "none" not found')
        self.assertEqual(answer.json["details"], {"name": "none", "group": "coordination.k8s.io", "kind": "leases"})

    def test_an_update_makes_what_is_not_there(self):
        """Unless it says which one it means: as seen on a server of 1.20."""
        put = lambda **meta: self.cluster.ask("PUT", self.cluster.leases + "/rb-run", lease(**meta))  # noqa: E731
        answer = self.refused(put(resourceVersion="7", uid="00000000-0000-4000-a000-000000000000"), 409, "Conflict", "Precondition failed: UID in precondition")
        self.assertEqual(answer.json["details"]["group"], "coordination.k8s.io")
        self.assertEqual(put(resourceVersion="7").status, 201)
        self.refused(put(uid="00000000-0000-4000-a000-000000000000"), 409, "Conflict", "Precondition failed: UID in precondition")

    def test_times_have_six_decimals(self):
        def post(**spec):
            return self.cluster.ask("POST", self.cluster.leases, {**lease(), "spec": spec})
        for when in ("yesterday", "2026-08-01T00:00:00Z", "2026-08-01T00:00:00.123Z"):
            self.refused(post(renewTime=when), 400, "BadRequest", "renewTime")
        self.refused(post(leaseDurationSeconds=0), 422, "Invalid", 'Lease.coordination.k8s.io "rb-run" is invalid', "must be greater than 0")
        self.assertEqual(post(renewTime="2026-08-01T00:00:00.123456Z").status, 201)

    def test_what_it_owns_goes_with_it(self):
        owner = self.cluster.ask("POST", self.cluster.leases, lease()).json
        self.created(owner=owner)
        self.cluster.wait_running("rb-1")
        self.assertEqual(self.cluster.ask("DELETE", self.cluster.leases + "/rb-run?propagationPolicy=Background").status, 200)
        self.gone()
        late = self.create(pod("rb-late", owner=owner))
        self.assertEqual(late.status, 201)
        self.gone("rb-late")
        self.assertEqual(self.control("ledger")["instances_left"], 0)


class Patches(Front):
    kubernetes = "granted: [patch pods, patch leases]"

    def patch(self, kind, body, path=None, query=""):
        return self.cluster.ask("PATCH", (path or self.cluster.pods + "/rb-1") + query, body,
                                content_type="application/%s+json" % kind)

    def labels(self):
        return self.cluster.pod("rb-1").json["metadata"]["labels"]

    def test_labels_and_annotations(self):
        self.created()
        version = self.cluster.pod("rb-1").json["metadata"]["resourceVersion"]
        answer = self.patch("merge-patch", {"metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"note": "long text"}}})
        self.assertEqual(answer.status, 200, answer.text)
        self.assertEqual(self.labels(), {"rb.run-id": "R", "a": "1", "b": "2"})
        self.assertEqual(answer.json["metadata"]["annotations"], {"rb.token": "token-rb-1", "note": "long text"})
        self.assertNotEqual(answer.json["metadata"]["resourceVersion"], version)
        self.patch("strategic-merge-patch", {"metadata": {"labels": {"a": None, "b": "3"}}})
        self.assertEqual(self.labels(), {"rb.run-id": "R", "b": "3"})
        self.patch("json-patch", [{"op": "test", "path": "/metadata/labels/b", "value": "3"}, {"op": "remove", "path": "/metadata/labels/b"},
                                  {"op": "add", "path": "/metadata/labels/x~1y", "value": "4"}])
        self.assertEqual(self.labels(), {"rb.run-id": "R", "x/y": "4"})
        self.assertEqual(self.cluster.ask("GET", self.cluster.pods + "?labelSelector=x%2Fy%3D4").json["items"][0]["metadata"]["name"], "rb-1")
        self.patch("merge-patch", {"metadata": {"labels": {"c": "5"}}}, query="?dryRun=All")
        self.assertNotIn("c", self.labels())

    def test_of_leases(self):
        path = self.cluster.leases + "/rb-run"
        self.cluster.ask("POST", self.cluster.leases, lease())
        self.assertEqual(self.patch("merge-patch", {"metadata": {"annotations": {"a": "b"}}}, path).json["metadata"]["annotations"], {"a": "b"})
        self.assertEqual(self.cluster.ask("GET", path).json["spec"]["holderIdentity"], "me")

    def test_refusals(self):
        self.created()
        before = self.cluster.pod("rb-1").json
        self.refused(self.patch("json", {}), 415, "UnsupportedMediaType")
        self.refused(self.patch("merge-patch", {"spec": {"activeDeadlineSeconds": 5}}), 422, "Invalid", "not spec")
        self.refused(self.patch("merge-patch", {"metadata": {"finalizers": []}}), 422, "Invalid", "not metadata.finalizers")
        self.refused(self.patch("merge-patch", {"metadata": {"labels": {"a": 1}}}), 400, "BadRequest", "expected a string")
        self.refused(self.patch("merge-patch", {"metadata": {"labels": {"a": "x" * 64}}}), 422, "Invalid", "a valid label")
        for op in ({"op": "replace", "path": "/metadata/labels/none", "value": "x"}, {"op": "remove", "path": "/metadata/labels/none"},
                   {"op": "test", "path": "/metadata/labels/rb.run-id", "value": "S"}, {"op": "add", "path": "/spec/nodeName", "value": "x"},
                   {"op": "add", "path": "/metadata/labels", "value": "x"}):
            self.refused(self.patch("json-patch", [op]), 422, "Invalid")
        self.refused(self.patch("json-patch", [{"op": "sing", "path": "/metadata/labels/a"}]), 400, "BadRequest")
        self.refused(self.patch("json-patch", {}), 400, "BadRequest")
        self.refused(self.patch("merge-patch", {}, self.cluster.pods + "/none"), 404, "NotFound")
        self.assertEqual(self.cluster.pod("rb-1").json["metadata"]["labels"], before["metadata"]["labels"])


class Life(Front):
    def exit_code_after(self, marked):
        """Of a pod that is being deleted. Its object soon goes once it has ended; a watch sees every state of it."""
        request = urllib.request.Request(self.url + self.cluster.pods + "?watch=true&timeoutSeconds=20&resourceVersion="
                                         + marked["metadata"]["resourceVersion"], headers={"Authorization": "Bearer secret"})
        with urllib.request.urlopen(request, timeout=20) as stream:
            states = [e["object"]["status"]["containerStatuses"][0]["state"] for e in self.until_deleted(stream)]
        return [s["terminated"]["exitCode"] for s in states if "terminated" in s][0]

    @staticmethod
    def until_deleted(stream):
        for line in stream:
            event = json.loads(line)
            yield event
            if event["type"] == "DELETED":
                return

    def test_from_the_request_to_the_bill(self):
        self.assertEqual(self.created()["status"]["phase"], "Pending")
        p = self.cluster.wait_running("rb-1")
        conditions = {c["type"]: c for c in p["status"]["conditions"]}
        self.assertEqual(conditions["PodScheduled"]["status"], "True")
        self.assertEqual(self.cluster.ask("GET", self.cluster.pods + "/rb-1/log").text, "hello\n")
        events = self.cluster.ask("GET", "/api/v1/namespaces/rb/events?fieldSelector=involvedObject.name%3Drb-1").json["items"]
        self.assertLessEqual({"TriggeredScaleUp", "Scheduled", "Pulled", "Started"}, {e["reason"] for e in events})
        uid = p["metadata"]["uid"]
        self.refused(self.delete(preconditions={"uid": "00000000-0000-4000-a000-000000000000"}), 409, "Conflict", "the UID in the precondition")
        marked = self.delete(preconditions={"uid": uid}, propagationPolicy="Background").json
        self.assertIn("deletionTimestamp", marked["metadata"])
        self.assertEqual(self.exit_code_after(marked), 3)
        self.gone()
        [i] = self.control("ledger")["instances"]
        self.assertEqual((i["id"], i["name"], i["infra"], i["instance_type"], i["token"], i["state"], i["cause"]),
                         (uid, "rb-1", "k8s/lab", "one.gpu", "token-rb-1", "terminated", "user"))
        self.assertEqual(i["running_us"] % 1000000 + i["ended_us"] % 1000000, 0)
        self.assertEqual(i["uusd_per_hour"], 500000)

    def test_shares_of_a_machine(self):
        for k, gpus in enumerate((2, 1, 1)):
            self.created("rb-%d" % k, gpus=gpus, kind="four.gpus")
        nodes = {self.cluster.wait_running("rb-%d" % k)["spec"]["nodeName"] for k in range(3)}
        self.assertEqual(len(nodes), 1)
        bills = {i["instance_type"]: i["uusd_per_hour"] for i in self.control("ledger")["instances"]}
        self.assertEqual(bills, {"four.gpus/2": 1010000, "four.gpus/1": 500000})

    def test_the_grace_period(self):
        self.created(command="trap '' TERM; while :; do sleep 0.05; done", grace=1)
        self.cluster.wait_running("rb-1")
        began = time.monotonic()
        marked = self.delete().json
        self.assertIn("running", marked["status"]["containerStatuses"][0]["state"])
        self.assertEqual(self.exit_code_after(marked), 137)
        self.assertGreater(time.monotonic() - began, 0.9)
        self.gone()

    def test_grace_zero_ends_the_object_and_not_the_process(self):
        self.created(command="trap '' TERM; while :; do sleep 0.05; done", grace=2)
        self.cluster.wait_running("rb-1")
        self.delete(gracePeriodSeconds=0)
        self.refused(self.cluster.pod("rb-1"), 404, "NotFound")
        self.assertEqual(self.control("ledger")["instances_left"], 1)
        end = time.monotonic() + 20
        while self.control("ledger")["instances_left"] and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.control("ledger")["instances_left"], 0)

    def test_it_ends_by_itself(self):
        self.created(command="exit 0")
        p = self.cluster.wait("rb-1", lambda p: p["status"]["phase"] == "Succeeded")
        self.assertEqual(p["status"]["containerStatuses"][0]["state"]["terminated"]["reason"], "Completed")
        self.assertEqual(self.control("ledger")["instances_left"], 1, "its object is still there")
        self.delete()
        self.gone()

    def test_the_deadline(self):
        self.created(command="trap '' TERM; while :; do sleep 0.05; done", grace=3, activeDeadlineSeconds=1)
        p = self.cluster.wait("rb-1", lambda p: p["status"]["phase"] == "Failed")
        self.assertEqual(p["status"]["reason"], "DeadlineExceeded")
        self.assertIn("running", p["status"]["containerStatuses"][0]["state"])
        self.cluster.wait("rb-1", ended)
        self.assertEqual(self.control("ledger")["instances"][0]["cause"], "expired")

    def test_eviction(self):
        self.created()
        self.cluster.wait_running("rb-1")
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "rb-1"}}
        self.refused(self.cluster.ask("POST", self.cluster.pods + "/rb-1/eviction", body), 403, "Forbidden")

    def test_no_command_no_machine_no_toleration(self):
        body = pod("rb-image")
        del body["spec"]["containers"][0]["command"]
        self.create(body)
        body = pod("rb-taint")
        del body["spec"]["tolerations"]
        self.create(body)
        self.created("rb-large", gpus=9, kind="four.gpus")

        def waiting(p):
            return p["status"].get("containerStatuses", [{"state": {}}])[0]["state"].get("waiting", {}).get("reason")
        self.cluster.wait("rb-image", lambda p: waiting(p) == "CreateContainerError")
        for name in ("rb-taint", "rb-large"):
            p = self.cluster.pod(name).json
            condition = [c for c in p["status"]["conditions"] if c["type"] == "PodScheduled"][0]
            self.assertEqual((condition["status"], condition["reason"]), ("False", "Unschedulable"))
            self.delete(name)
            self.gone(name)
        bills = {i["name"]: i["machine_uusd"] for i in self.control("ledger")["instances"]}
        self.assertEqual((bills["rb-taint"], bills["rb-large"]), (0, 0))


class Commands(Front):
    def setUp(self):
        super().setUp()
        self.created()
        self.cluster.wait_running("rb-1")

    def test_what_comes_back(self):
        for protocol in (V5, V4):
            code, out, err = self.cluster.run("rb-1", ["sh", "-c", "head -c 6; echo out; echo err >&2; exit 7"], b"input\n",
                                              protocols=protocol)
            self.assertEqual((code, out, err), (7, b"input\nout\n", b"err\n"))
        self.assertEqual(self.cluster.run("rb-1", ["true"])[0], 0)
        self.assertEqual(self.cluster.run("rb-1", ["sh", "-c", "kill -9 $$"])[0], 137)
        self.assertEqual(self.cluster.run("rb-1", ["nonsense"])[0]["reason"], "InternalError")
        with self.cluster.exec("rb-1", ["true"], method="POST") as e:
            self.assertEqual((e.status, e.finish()[0]), (101, 0))

    def test_the_first_message_is_empty(self):
        with self.cluster.exec("rb-1", ["cat"]) as e:
            self.assertEqual(e.frame(), (2, bytes([STDOUT])))

    def test_half_closing(self):
        with self.cluster.exec("rb-1", ["cat"], protocols=V5) as e:
            e.send(b"all")
            e.end_stdin()
            self.assertEqual(e.finish(), (0, b"all", b""))
        with self.cluster.exec("rb-1", ["sh", "-c", "cat; echo never"], protocols=V4) as e:
            e.send(b"all")
            e.send_frame(2, b"\xff\x00")  # means nothing in v4
            e.read_until(b"all")
            e.socket.settimeout(0.5)
            self.assertRaises(TimeoutError, e.read)

    def test_much_of_everything(self):
        data = os.urandom(1 << 16) * 128
        code, out, _ = self.cluster.run("rb-1", ["sh", "-c", "cat > /rb/data; sha256sum < /rb/data"], data)
        self.assertEqual((code, out.split()[0].decode()), (0, hashlib.sha256(data).hexdigest()))
        self.assertEqual(self.cluster.run("rb-1", ["cat", "/rb/data"])[1], data)

    def test_the_connection_is_closed_behind_the_last_frame(self):
        with self.cluster.exec("rb-1", ["true"]) as e:
            e.finish()
            self.assertEqual(e.socket.recv(1), b"")
        self.assertEqual(self.cluster.run("rb-1", ["false"], bytes(1 << 24))[0], 1, "much is sent to who has ended")

    def test_pings(self):
        with self.cluster.exec("rb-1", ["cat"]) as e:
            self.assertEqual(e.frame()[0], 2)
            e.send_frame(9, b"there?")
            self.assertEqual(e.frame(), (10, b"there?"))

    def test_refusals(self):
        for protocols, code in (("v3.channel.k8s.io", 403), ("", 403)):
            with self.cluster.exec("rb-1", ["true"], protocols=protocols) as e:
                self.assertEqual((e.status, e.refusal["kind"], e.refusal["code"]), (code, "Status", code))
        self.refused(self.cluster.ask("GET", self.cluster.pods + "/rb-1/exec?command=true&stdout=true"), 400, "BadRequest", "Upgrade")
        with self.cluster.exec("rb-2", ["true"]) as e:
            self.assertEqual(e.refusal["reason"], "NotFound")
        self.created("rb-far", gpus=9, kind="four.gpus")
        with self.cluster.exec("rb-far", ["true"]) as e:
            self.assertEqual((e.status, e.refusal["message"]), (400, "pod rb-far does not have a host assigned"))

    def test_against_the_protocol(self):
        with self.cluster.exec("rb-1", ["cat"]) as e:
            e.socket.sendall(b"\x82\x02\x00a")  # not masked
            while e.read():
                pass
            self.assertTrue(e.closed)

    def alive(self, mark):
        return self.cluster.run("rb-1", ["sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"])[1].count(mark)

    def test_a_client_that_goes_ends_nothing(self):
        lost = self.cluster.exec("rb-1", ["sh", "-c", "echo up; sleep 1001; echo $?"])
        guarded = self.cluster.exec("rb-1", ["sh", "-c", "sleep 1002 & t=$!; echo up; cat >/dev/null; kill $t"])
        for e in (lost, guarded):
            e.read_until(b"up\n")
            e.socket.close()
        end = time.monotonic() + 10
        while self.alive(b"sleep 1002 ") and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.alive(b"sleep 1002 "), 0)
        self.assertGreater(self.alive(b"sleep 1001 "), 0)
        self.delete(gracePeriodSeconds=1)
        self.gone()
        with open("/proc/self/cmdline", "rb"):
            left = subprocess.run(["pgrep", "-f", "^sleep 1001"], capture_output=True, check=False).stdout
        self.assertEqual(left, b"", "nothing outlives its container")

    def test_home_is_the_volume(self):
        code, out, _ = self.cluster.run("rb-1", ["sh", "-c", "cd \"$HOME\" && echo kept > file && cat \"$HOME/file\" && echo $HOME"])
        self.assertEqual((code, out.split()[0]), (0, b"kept"))
        if os.getuid() == 0:
            self.assertEqual(out.split()[1], b"/rb")

    def test_while_it_is_terminating(self):
        self.created("rb-slow", command="trap 'sleep 1; exit 0' TERM; while :; do sleep 0.05; done", grace=10)
        self.cluster.wait_running("rb-slow")
        self.delete("rb-slow")
        self.assertEqual(self.cluster.run("rb-slow", ["echo", "saved"])[1], b"saved\n")
        self.gone("rb-slow")


class OldServer(Front):
    kubernetes = 'version: "1.20", exec_while_terminating: false, granted: [list nodes, create pods/eviction], denied: [get pods/log]'

    def test_it_is_old(self):
        body = pod()
        body["spec"]["misspelt"] = 1
        answer = self.create(body, "?fieldValidation=Strict")
        self.assertEqual((answer.status, answer.warnings, "misspelt" in answer.json["spec"]), (201, [], False))
        self.cluster.wait_running("rb-1")
        with self.cluster.exec("rb-1", ["true"], protocols=V5) as e:
            self.assertEqual(e.status, 403)
        with self.cluster.exec("rb-1", ["true"]) as e:
            self.assertEqual(e.protocol, V4)
        self.refused(self.cluster.ask("GET", self.cluster.pods + "/rb-1/log"), 403, "Forbidden")
        [node] = self.cluster.ask("GET", "/api/v1/nodes").json["items"]
        self.assertEqual(node["metadata"]["labels"]["node.kubernetes.io/instance-type"], "one.gpu")
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "rb-1"}}
        self.created("rb-slow", command="trap 'sleep 1; exit 0' TERM; while :; do sleep 0.05; done", grace=10)
        self.cluster.wait_running("rb-slow")
        self.assertEqual(self.cluster.ask("POST", self.cluster.pods + "/rb-slow/eviction", body).status, 201)
        p = self.cluster.pod("rb-slow").json
        self.assertIn("EvictionByEvictionAPI", [c.get("reason") for c in p["status"]["conditions"]])
        with self.cluster.exec("rb-slow", ["true"]) as e:
            self.assertEqual((e.status, e.refusal["reason"]), (500, "InternalError"))


class Quota(Front):
    kubernetes = "quota: {requests.nvidia.com/gpu: 2, pods: 10}, limits: {nvidia.com/gpu: 3}"
    more = "capacity: {one.gpu: 1}\n"

    def test_quota_and_room(self):
        self.refused(self.create(pod(gpus=4, kind="four.gpus")), 403, "Forbidden", "maximum nvidia.com/gpu usage per Container is 3")
        self.created("rb-1")
        self.created("rb-2")
        self.refused(self.create(pod("rb-3")), 403, "Forbidden", "exceeded quota: rb", "used: requests.nvidia.com/gpu=2")
        self.refused(self.create(pod("rb-1")), 403, "Forbidden", "exceeded quota")  # quota comes before the store
        [quota] = self.cluster.ask("GET", "/api/v1/namespaces/rb/resourcequotas").json["items"]
        self.assertEqual(quota["status"]["used"], {"requests.nvidia.com/gpu": "2", "pods": "2"})
        self.cluster.wait_running("rb-1")
        self.assertEqual(self.cluster.pod("rb-2").json["status"]["phase"], "Pending")
        self.delete("rb-1", gracePeriodSeconds=1)
        self.cluster.wait_running("rb-2")


class Sidecar(Front):
    kubernetes = "sidecar: proxy"

    def test_it_is_first_and_stays(self):
        self.assertEqual([c["name"] for c in self.created(command="exit 3")["spec"]["containers"]], ["proxy", "node"])
        p = self.cluster.wait("rb-1", lambda p: len(p["status"].get("containerStatuses", [])) == 2 and
                              "terminated" in p["status"]["containerStatuses"][1]["state"])
        self.assertIn("running", p["status"]["containerStatuses"][0]["state"])
        self.assertEqual(p["status"]["phase"], "Running")


class Accidents(Front):
    speed = "20"

    def test_poweroff(self):
        uid = self.created()["metadata"]["uid"]
        self.cluster.wait_running("rb-1")
        with self.cluster.exec("rb-1", ["sh", "-c", "echo up; cat"]) as e:
            e.read_until(b"up\n")
            self.control("nodes/%s/poweroff" % uid, "POST")
            e.socket.settimeout(0.5)
            self.assertRaises(TimeoutError, e.read)
        self.assertEqual(self.cluster.pod("rb-1").json["status"]["phase"], "Running", "the cluster knows nothing yet")

        def ready(p):
            return [c["status"] for c in p["status"]["conditions"] if c["type"] == "Ready"][0]
        self.cluster.wait("rb-1", lambda p: ready(p) == "False")
        self.assertNotIn("deletionTimestamp", self.cluster.pod("rb-1").json["metadata"])

    def test_freeze(self):
        uid = self.created(command="while :; do echo tick; sleep 0.05; done")["metadata"]["uid"]
        self.cluster.wait_running("rb-1")
        log = self.cluster.pods + "/rb-1/log"
        self.control("nodes/%s/freeze" % uid, "POST")
        time.sleep(0.3)
        before = self.cluster.ask("GET", log).text
        time.sleep(0.3)
        self.assertEqual(self.cluster.ask("GET", log).text, before)
        self.control("nodes/%s/thaw" % uid, "POST")
        end = time.monotonic() + 10
        while self.cluster.ask("GET", log).text == before and time.monotonic() < end:
            time.sleep(0.05)
        self.assertGreater(len(self.cluster.ask("GET", log).text), len(before))


class Queue(Front):
    kubernetes = "queue: {name: lq, gpus: 3}, granted: [list localqueues]"

    def member(self, k, n):
        return self.create(pod("rb-%d" % k, labels={"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/pod-group-name": "gang%d" % n},
                               annotations={"kueue.x-k8s.io/pod-group-total-count": str(n)}))

    def test_all_or_none(self):
        workload = "/apis/kueue.x-k8s.io/v1beta1/namespaces/rb/workloads/gang"
        for k in range(3):
            self.refused(self.cluster.ask("GET", workload + "3"), 404, "NotFound")
            self.assertEqual(self.member(k, 3).json["spec"]["schedulingGates"], [{"name": "kueue.x-k8s.io/admission"}])
        for k in range(3):
            self.cluster.wait_running("rb-%d" % k)
        for k in range(4, 8):
            self.member(k, 4)
        time.sleep(0.3)
        p = self.cluster.pod("rb-4").json
        self.assertEqual([c.get("reason") for c in p["status"]["conditions"]], ["SchedulingGated"])
        [queue] = self.cluster.ask("GET", "/apis/kueue.x-k8s.io/v1beta1/namespaces/rb/localqueues").json["items"]
        self.assertEqual((queue["status"]["pendingWorkloads"], queue["status"]["admittedWorkloads"]), (4, 3))
        self.delete("rb-0", gracePeriodSeconds=1)
        self.cluster.wait("rb-0", ended)
        self.assertEqual(self.cluster.pod("rb-0").status, 200, "the finalizer keeps it")
        self.assertEqual(self.cluster.ask("DELETE", workload + "3").status, 200)
        self.assertEqual(self.cluster.ask("DELETE", workload + "4").status, 200)
        for k in (0, 1, 2, 4, 5, 6, 7):
            self.gone("rb-%d" % k)
        self.assertEqual(self.control("ledger")["instances_left"], 0)

    def test_a_group_that_was_never_whole_lets_its_pods_go(self):
        for k in range(2):
            self.member(k, 3)
        self.delete("rb-0")
        time.sleep(0.3)
        self.assertEqual(self.cluster.pod("rb-0").status, 200, "another member is not being deleted")
        self.delete("rb-1")
        for k in range(2):
            self.gone("rb-%d" % k)
        self.assertEqual(self.control("ledger")["instances_left"], 0)


class Faults(Front):
    chaos = """
  {where: {front: k8s, action: pods.create}, when: {call: 1}, times: 1, what: {error: {status: 409, code: Conflict, message: "Operation cannot be fulfilled on resourcequotas \\"rb\\": the object has been modified"}}},
  {where: {front: k8s, action: pods.create}, when: {call: 2}, times: 1, what: lost_response},
  {where: {front: k8s, action: pods.create}, when: {call: 4}, times: 1, what: {dropped_field: {field: spec.nodeSelector}}},
  {where: {front: k8s, action: pods.create}, when: {call: 5}, times: 1, what: {error: {status: 503, code: ServiceUnavailable, after_effect: true}}},
  {where: {front: k8s, action: pods.list}, when: {call: 1}, times: 1, what: {partial_page: {items: 1}}},
  {where: {front: k8s, action: pods.list}, when: {call: 2}, times: 1, what: {error: {status: 410, code: Expired}}},
  {where: {front: k8s, action: pods.delete}, times: 1, what: throttle},
  {where: {front: k8s, action: pods.exec}, when: {call: 1}, times: 1, what: {exec_cut: {bytes: 70000}}},
  {where: {front: k8s, action: pods.exec}, when: {call: 2}, times: 1, what: no_status}"""

    def test_faults_of_requests(self):
        self.refused(self.create(), 409, "Conflict", "resourcequotas")
        self.refused(self.cluster.pod("rb-1"), 404, "NotFound")
        with self.assertRaises(Exception):
            self.create()
        self.refused(self.create(), 409, "AlreadyExists")
        self.assertNotIn("nodeSelector", self.created("rb-2")["spec"])
        self.refused(self.create(pod("rb-3")), 503, "ServiceUnavailable")
        self.assertEqual(self.cluster.pod("rb-3").status, 200)
        first = self.cluster.ask("GET", self.cluster.pods).json
        self.assertEqual(len(first["items"]), 1)
        self.refused(self.cluster.ask("GET", self.cluster.pods + "?continue=" + first["metadata"]["continue"]), 410, "Expired")
        answer = self.refused(self.delete("rb-3"), 429, "TooManyRequests")
        self.assertEqual((answer.headers["Retry-After"], answer.json["details"]["retryAfterSeconds"]), ("1", 1))

        self.cluster.wait_running("rb-1")
        with self.cluster.exec("rb-1", ["head", "-c", "200000", "/dev/zero"]) as e:
            with self.assertRaises((ConnectionResetError, EOFError)):
                e.finish()
            self.assertLessEqual(len(e.out[STDOUT]), 70000)
        with self.cluster.exec("rb-1", ["echo", "out"]) as e:
            while e.read():
                pass
            self.assertEqual((bytes(e.out[STDOUT]), bytes(e.out[STATUS]), bytes(e.out[STDERR])), (b"out\n", b"", b""))


class Fates(Front):
    speed = "20"
    chaos = """
  {where: {front: k8s}, when: {call: 1}, times: 1, what: {interrupted: {after: 6s}}},
  {where: {front: k8s}, when: {call: 2}, times: 1, what: never_boots},
  {where: {front: k8s}, when: {call: 3}, times: 1, what: fails_to_start},
  {where: {front: k8s}, when: {call: 4}, times: 1, what: {replaced: {after: 10s}}},
  {where: {front: k8s}, when: {call: 5}, times: 1, what: {dies_at: {after: 20s}}}"""
    kubernetes = "unreachable_s: 20"

    def test_faults_of_pods(self):
        pods = [self.created("rb-%d" % k, grace=20, command="trap 'sleep 0.5; exit 0' TERM; while :; do sleep 0.05; done")
                for k in range(5)]
        p = self.cluster.wait("rb-0", lambda p: p is None or "deletionTimestamp" in p["metadata"])
        self.assertIn("PreemptionByScheduler", [c.get("reason") for c in p["status"]["conditions"]])
        self.gone("rb-0")
        self.cluster.wait("rb-1", lambda p: p["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ErrImagePull")
        self.assertEqual(self.cluster.pod("rb-2").json["status"]["phase"], "Pending")
        self.cluster.wait("rb-3", lambda p: p and p["metadata"]["uid"] != pods[3]["metadata"]["uid"])
        # The machine dies: silence, then Unknown, then marked, and gone only with its Node.
        p = self.cluster.wait("rb-4", lambda p: p is None or "deletionTimestamp" in p["metadata"])
        self.assertIn("DeletionByTaintManager", [c.get("reason") for c in p["status"]["conditions"]])
        self.assertIn("running", p["status"]["containerStatuses"][0]["state"])
        with self.cluster.exec("rb-4", ["true"]) as e:
            self.assertEqual(e.status, 500)
        self.gone("rb-4")
        causes = {i["id"]: i["cause"] for i in self.control("ledger")["instances"]}
        self.assertEqual(causes[pods[0]["metadata"]["uid"]], "interrupted")



class Shrinking(Front):
    speed = "20"
    more = "pools:\n  - {instance_type: spot.gpu, market: spot, steps: [{after_s: 0, max: 1}, {after_s: 40, max: 0}]}\n"

    def test_spot_machines_go(self):
        self.created(kind="spot.gpu", grace=5)
        self.cluster.wait_running("rb-1")
        self.gone()
        [i] = self.control("ledger")["instances"]
        self.assertEqual((i["market"], i["cause"], i["uusd_per_hour"]), ("spot", "interrupted", 200000))


RBMOCK = sys.argv[1]
if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
