"""The same requests to a real API server and to rbmock's: the answers must agree in all that a client of ours acts upon: the
status, a refusal's reason, what it is about and the fields that it names; and rbmock's objects have no member that real ones
do not have. Texts differ, and rbmock may refuse more."""
import http.client
import json
import ssl

PODS, LEASES = "/api/v1/namespaces/rb/pods", "/apis/coordination.k8s.io/v1/namespaces/rb/leases"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
STRANGER = "00000000-0000-4000-8000-000000000000"


def pod(name="rb-1", image="x", meta=None, container=None, **spec):
    node = {"name": "node", "image": image, "command": ["/bin/sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.1; done"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "rb", "mountPath": "/rb"}], **(container or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"rb.run-id": "R"}, **(meta or {})}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "automountServiceAccountToken": False,
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [node], "volumes": [{"name": "rb", "emptyDir": {}}], **spec}}


def lease(name="rb-run", spec=None, **meta):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, **meta},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 60, "renewTime": "2026-08-01T00:00:00.000000Z"} if spec is None else spec}


def options(**more):
    return {"apiVersion": "v1", "kind": "DeleteOptions", **more}


def question(**attributes):
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}


def requests(image):
    """Method, path, body; None: until the pod runs."""
    def wrong(**how):
        return ("POST", PODS, pod(image=image, **how))
    yield "GET", "/version", None
    yield "GET", "/api", None
    yield "GET", "/apis/coordination.k8s.io", None
    yield "GET", "/apis/kueue.x-k8s.io/v1beta1", None
    yield "DELETE", "/apis/kueue.x-k8s.io/v1beta1/namespaces/rb/workloads/w", None
    yield "GET", "/api/v1/namespaces/other/pods", None
    yield "GET", "/api/v1/nodes", None
    yield "PATCH", PODS + "/rb-1", {}
    yield "GET", PODS + "/none", None
    yield "DELETE", PODS + "/none", options()
    yield "GET", PODS + "?labelSelector=rb.run-id%3DX", None
    yield "GET", PODS + "?labelSelector=a%3D%3D%3Db", None
    yield "GET", PODS + "?fieldSelector=spec.foo%3Db", None
    yield "GET", PODS + "?limit=1&continue=zzz", None
    yield "GET", PODS + "?limit=x", None
    yield wrong(restartPolicy=7)
    yield wrong(name="UPPER")
    yield wrong(meta={"labels": {"a": "x" * 64}})
    yield wrong(meta={"labels": {"a b": "x"}})
    yield wrong(meta={"annotations": {"a b": "x"}})
    yield wrong(meta={"resourceVersion": "7"})
    yield wrong(meta={"namespace": "other"})
    yield wrong(containers=[])
    yield wrong(container={"image": ""})
    yield wrong(restartPolicy="Sometimes")
    yield wrong(container={"resources": {"limits": {"cpu": "lots"}}})
    yield wrong(container={"resources": {"requests": {"nvidia.com/gpu": "1"}}})
    yield wrong(container={"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}})
    yield wrong(container={"volumeMounts": [{"name": "none", "mountPath": "/x"}]})
    yield wrong(activeDeadlineSeconds=0)
    yield wrong(tolerations=[{"key": "a", "operator": "Exists", "value": "x"}])
    yield wrong(priorityClassName="none")
    yield wrong(serviceAccountName="none")
    yield "POST", PODS + "?dryRun=All&fieldValidation=Strict", pod(image=image, nonsense=1)
    yield "POST", PODS + "?dryRun=All", pod(image=image)
    yield "GET", PODS + "/rb-1", None
    yield "POST", PODS, pod(image=image)
    yield "POST", PODS, pod(image=image)
    yield "POST", PODS + "?dryRun=All", pod(image=image)
    yield None
    yield "GET", PODS + "/rb-1", None
    yield "GET", PODS, None
    yield "GET", PODS + "/rb-1/exec?command=true&stdout=true", None
    yield "GET", PODS + "/none/exec?command=true&stdout=true", None
    yield "DELETE", PODS + "/rb-1", options(preconditions={"uid": STRANGER})
    yield "POST", PODS + "/rb-1/eviction", {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "rb-1"}}
    yield "DELETE", PODS + "/rb-1", options()
    yield "POST", PODS, pod(image=image)  # its name is taken until it has gone
    yield "POST", LEASES, lease()
    yield "POST", LEASES, lease()
    yield "GET", LEASES + "/rb-run", None
    yield "GET", LEASES + "?labelSelector=rb.run-id", None
    yield "POST", LEASES, lease("rb-x", {"renewTime": "yesterday"})
    yield "POST", LEASES, lease("rb-x", {"renewTime": "2026-08-01T00:00:00Z"})
    yield "POST", LEASES, lease("rb-x", {"leaseDurationSeconds": 0})
    yield "POST", LEASES + "?dryRun=All", lease("rb-x", {})
    yield "PUT", LEASES + "/rb-run", lease()
    yield "PUT", LEASES + "/rb-run", lease(resourceVersion="1")
    yield "PUT", LEASES + "/rb-run", lease(resourceVersion="1", uid=STRANGER)
    yield "PUT", LEASES + "/rb-run", lease("rb-y", resourceVersion="1")
    yield "DELETE", LEASES + "/rb-run", options(preconditions={"uid": STRANGER})
    yield "DELETE", LEASES + "/rb-run", options(propagationPolicy="Background")
    yield "DELETE", LEASES + "/rb-run", options()
    yield "PUT", LEASES + "/rb-run", lease(resourceVersion="1", uid=STRANGER)
    yield "PUT", LEASES + "/rb-run", lease(resourceVersion="1")
    yield "DELETE", LEASES + "/rb-run", options()
    yield "POST", REVIEWS, question(namespace="rb", verb="list", resource="pods")
    yield "POST", REVIEWS, question(namespace="rb", verb="list", resource="secrets")
    yield "GET", "/api/v1/namespaces/rb/resourcequotas", None


class Side:
    """context: of TLS; None: without."""

    def __init__(self, host, token, context=None):
        self.host, self.token, self.context = host, token, context

    def ask(self, method, path, body):
        kind = {"GET": None, "PATCH": "application/merge-patch+json"}.get(method, "application/json")
        connection = http.client.HTTPSConnection(self.host, context=self.context, timeout=30) if self.context else http.client.HTTPConnection(
            self.host, timeout=30)
        connection.request(method, path, None if body is None else json.dumps(body), {
            "Authorization": "Bearer " + self.token, **({"Content-Type": kind} if kind else {})})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, json.loads(text) if text.startswith("{") else text

    def phase(self):
        return self.ask("GET", PODS + "/rb-1", None)[1]["status"]["phase"]


def essence(answer):
    status, body = answer
    if not isinstance(body, dict) or body.get("kind") != "Status" or body["status"] == "Success":
        return status, body if isinstance(body, str) else body.get("kind")
    details = body.get("details") or {}
    return (status, body["code"], body.get("reason"), details.get("kind"), details.get("group"), details.get("name"),
            [(c["reason"], c["field"]) for c in details.get("causes", [])])


def members(value, where=""):
    """Paths of all members; those of maps with keys of one's own are left out."""
    found = set()
    for key, item in value.items() if isinstance(value, dict) else []:
        found.add(where + "." + key)
        if key not in ("labels", "annotations", "limits", "requests", "managedFields"):
            found |= members(item, where + "." + key)
    for item in value if isinstance(value, list) else []:
        found |= members(item, where + "[]")
    return found


def differences(real, mock, image, wait):
    """wait(holds): until it is so."""
    found = []
    for request in requests(image):
        if request is None:
            for side in (real, mock):
                wait(lambda side=side: side.phase() == "Running")
            continue
        theirs, ours = real.ask(*request), mock.ask(*request)
        if essence(theirs) != essence(ours):
            found.append("%s %s %.300s\n  real %s\n  mock %s" % (request[0], request[1], json.dumps(request[2]), essence(theirs), essence(ours)))
        elif theirs[0] < 300 and members(ours[1]) - members(theirs[1]):
            found.append("%s %s: rbmock alone has %s" % (request[0], request[1], sorted(members(ours[1]) - members(theirs[1]))))
    return found


def tls(folder):
    return ssl.create_default_context(cafile=folder + "/ca.crt")
