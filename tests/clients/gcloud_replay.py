#!/usr/bin/env python3
"""gcloud 528 creates, looks at, changes, stops and deletes instances: the requests that it sent to a Compute Engine were recorded,
and are sent here to rbmock in that order, with what gcloud reads of the answers checked. Batches are read as apitools, gcloud's
library, reads them. gcloud itself is in no package registry. Usage: gcloud_replay.py RBMOCK"""
import email.parser
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from gcp_model import Model, find_protos
from rbmock import RbMock, require

TOKEN = "replayed-token"
ZONE = "projects/test/zones/us-central1-a"
SCOPES = ["https://www.googleapis.com/auth/" + s for s in (
    "devstorage.read_only", "logging.write", "monitoring.write", "pubsub", "service.management.readonly", "servicecontrol",
    "trace.append")]
UBUNTU = "projects/ubuntu-os-cloud/zones/-/imageFamilyViews/ubuntu-2204-lts"  # --image-family ubuntu-2204-lts
DEBIAN = "projects/debian-cloud/zones/-/imageFamilyViews/debian-12"  # no image was named
OWN = "projects/rbmock/global/images/rbmock-linux"
ON_DEMAND = {"automaticRestart": True, "onHostMaintenance": "TERMINATE"}
SPOT = {"automaticRestart": False, "instanceTerminationAction": "DELETE", "onHostMaintenance": "TERMINATE", "preemptible": True,
        "provisioningModel": "SPOT"}
FOR_TWO_HOURS = dict(ON_DEMAND, instanceTerminationAction="DELETE", maxRunDuration={"seconds": "7200"})
PAGE = {"alt": "json", "includeAllScopes": "True", "maxResults": "500", "returnPartialSuccess": "True"}
MODEL = Model(find_protos()) if find_protos() else None


class Gcloud:
    def __init__(self, cloud):
        self.url = cloud.gcp + "/compute/v1/"
        self.root = cloud.gcp

    def send(self, method, url, body, content_type):
        request = urllib.request.Request(url, body, method=method, headers={
            "Authorization": "Bearer " + TOKEN, "Content-Type": content_type, "Accept": "application/json",
            "User-Agent": "google-cloud-sdk gcloud/528.0.0"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers["Content-Type"], e.read()

    def ask(self, method, path, body=None, kind=None, **query):
        data = json.dumps(body).encode() if body is not None else b"" if method == "POST" else None
        query = urllib.parse.urlencode(query or {"alt": "json"})
        status, _, text = self.send(method, self.url + path + "?" + query, data, "application/json")
        answer = json.loads(text)
        if MODEL and kind and status == 200:
            MODEL.check(answer, kind)
        return status, answer

    def good(self, method, path, body=None, kind=None, **query):
        status, answer = self.ask(method, path, body, kind, **query)
        require(status == 200, "%s %s: %d %s" % (method, path, status, answer))
        return answer

    def wait(self, operation):
        """operations wait, until it is done: Google answers early, too."""
        end = time.monotonic() + 30
        while operation["status"] != "DONE":
            require(time.monotonic() < end, "in time: %s" % operation)
            time.sleep(0.1)
            operation = self.good("POST", ZONE + "/operations/%s/wait" % operation["name"], kind="Operation")
        require("error" not in operation, operation)
        return operation

    def body(self, name, image, machine_type="g2-standard-4", scheduling=None, **more):
        link = lambda path: self.url + path  # noqa: E731
        return dict({
            "canIpForward": False, "deletionProtection": False,
            "disks": [{"autoDelete": True, "boot": True, "initializeParams": {"sourceImage": link(image)}, "mode": "READ_WRITE",
                       "type": "PERSISTENT"}],
            "machineType": link("%s/machineTypes/%s" % (ZONE, machine_type)), "metadata": {}, "name": name,
            "networkInterfaces": [{"accessConfigs": [{"name": "external-nat", "type": "ONE_TO_ONE_NAT"}],
                                   "network": link("projects/test/global/networks/default")}],
            "scheduling": scheduling or ON_DEMAND, "serviceAccounts": [{"email": "default", "scopes": SCOPES}]}, **more)

    def create(self, *args, **more):
        """instances create: zone and project, insert, wait, look."""
        require(self.good("GET", ZONE)["status"] == "UP", "the zone")
        self.good("GET", "projects/test")
        body = self.body(*args, **more)
        self.wait(self.good("POST", ZONE + "/instances", body, kind="Operation"))
        made = self.look(body["name"])
        require(made["status"] == "RUNNING", made)
        return made

    def look(self, name):
        return self.good("GET", ZONE + "/instances/" + name, kind="Instance")

    def batch(self, *requests):
        """Status and answer of every part, in the order of the requests."""
        boundary = "===============4191211872675373060=="
        parts = ["--%s\nContent-Type: application/http\nMIME-Version: 1.0\nContent-Transfer-Encoding: binary\n"
                 "Content-ID: <67c5c1e4-c494-4604-84f9-8e47d6e61b61+%d>\n\n%s %s HTTP/1.1\nContent-Type: application/json\n"
                 "MIME-Version: 1.0\ncontent-length: 0\nuser-agent: google-cloud-sdk\naccept: application/json\n"
                 "accept-encoding: gzip, deflate\nHost: %s\n\n\n" % (boundary, k, method, path, self.root[7:])
                 for k, (method, path) in enumerate(requests)]
        status, kind, text = self.send("POST", self.root + "/batch/compute/v1",
                                       ("".join(parts) + "--%s--" % boundary).encode(),
                                       'multipart/mixed; boundary="%s"' % boundary)
        require(status == 200 and kind.startswith("multipart/mixed"), "a batch: %d %s %s" % (status, kind, text[:300]))
        message = email.parser.Parser().parsestr("content-type: %s\r\n\r\n" % kind + text.decode())
        answers = {}
        for part in message.get_payload():
            marked = part["Content-ID"]
            require(marked.startswith("<response-67c5c1e4-") and marked.endswith(">") and "+" in marked, marked)
            status_line, rest = part.get_payload().split("\n", 1)
            _, code, _ = status_line.split(" ", 2)
            answers[int(marked[1:-1].rsplit("+", 1)[1])] = int(code), json.loads(rest.split("\r\n\r\n", 1)[1])
        require(sorted(answers) == list(range(len(requests))), "an answer a part: %s" % sorted(answers))
        return [answers[k] for k in range(len(requests))]


def check_creation(g):
    one = g.create("g1", UBUNTU, labels={"exp": "e1"}, metadata={"items": [{"key": "k", "value": "v"}]})
    require(one["labels"] == {"exp": "e1"} and one["metadata"]["items"] == [{"key": "k", "value": "v"}], one)
    require(g.create("g2", OWN, scheduling=SPOT)["scheduling"]["provisioningModel"] == "SPOT", "spot")
    t4 = {"acceleratorCount": 1, "acceleratorType": "%s%s/acceleratorTypes/nvidia-tesla-t4" % (g.url, ZONE)}
    three = g.create("g3", OWN, "n1-standard-8", FOR_TWO_HOURS, guestAccelerators=[t4])
    require(three["scheduling"]["maxRunDuration"] == {"seconds": "7200"} and three["guestAccelerators"][0]["acceleratorCount"] == 1,
            three)
    g.create("g4", DEBIAN)
    status, answer = g.ask("POST", ZONE + "/instances", g.body("g2", OWN))
    require(status == 409 and answer["error"]["errors"][0]["reason"] == "alreadyExists", answer)
    for bad, words in ((g.body("g5", OWN, "nope-1"), "machine type"),
                       (g.body("g5", "projects/unknown/zones/-/imageFamilyViews/x"), "not found"),
                       (g.body("g5", "projects/debian-cloud/zones/europe-west4-a/imageFamilyViews/debian-12"), "not found")):
        status, answer = g.ask("POST", ZONE + "/instances", bad)
        require(status in (400, 404) and words in answer["error"]["message"], answer)


def check_listing(g):
    scopes = g.good("GET", "projects/test/aggregated/instances", kind="InstanceAggregatedList", **PAGE)["items"]
    require([i["name"] for i in scopes["zones/us-central1-a"]["instances"]] == ["g1", "g2", "g3", "g4"], scopes)
    disks = g.good("GET", "projects/test/aggregated/disks", kind="DiskAggregatedList", **PAGE)["items"]["zones/us-central1-a"]["disks"]
    require([d["users"][0].rsplit("/", 1)[1] for d in disks] == ["g1", "g2", "g3", "g4"], "a disk an instance: %s" % disks)
    require(disks[0]["sourceImage"].endswith("ubuntu-os-cloud/global/images/family/ubuntu-2204-lts"), disks[0])
    require(disks[3]["sourceImage"].endswith("debian-cloud/global/images/family/debian-12"), "the default image: %s" % disks[3])
    wanted = r'name eq ".*\bg2\-standard\-4\b.*"'
    types = g.good("GET", ZONE + "/machineTypes", alt="json", filter=wanted, maxResults="500")["items"]
    require([t["name"] for t in types] == ["g2-standard-4"], "by the older filter: %s" % types)
    rest = g.good("GET", ZONE + "/machineTypes", alt="json", filter=wanted.replace("eq", "ne"), maxResults="500")["items"]
    require(rest and "g2-standard-4" not in [t["name"] for t in rest], "and without it: %s" % rest)
    require(g.ask("GET", ZONE + "/machineTypes", alt="json", filter='name eq "(a|b)+"')[0] == 400, "no other expressions")
    for path, query in (("aggregated/acceleratorTypes", PAGE), ("zones", {"alt": "json", "maxResults": "500"}), ("regions/us-central1", {}),
                        ("aggregated/operations", {"alt": "json", "maxResults": "500", "returnPartialSuccess": "True"})):
        g.good("GET", "projects/test/" + path, **query)
    images = g.batch(*[("GET", "/compute/v1/projects/%s/global/images?alt=json&maxResults=2" % p)
                       for p in ("centos-cloud", "debian-cloud", "rbmock")])
    require([s for s, _ in images] == [200] * 3 and [i["name"] for i in images[2][1]["items"]] == ["rbmock-linux"], images)


def check_changes(g):
    at = ZONE + "/instances/g2"
    g.wait(g.good("POST", at + "/setLabels", {"labelFingerprint": g.look("g2")["labelFingerprint"], "labels": {"a": "b"}}))
    require(g.look("g2")["labels"] == {"a": "b"}, "its labels")
    old = g.look("g2")["metadata"]["fingerprint"]
    change = {"fingerprint": old, "items": [{"key": "x", "value": "y"}]}
    g.wait(g.good("POST", at + "/setMetadata", change, kind="Operation"))
    new = g.look("g2")["metadata"]
    require(new["items"] == change["items"] and new["fingerprint"] != old, new)
    require(g.ask("POST", at + "/setMetadata", change)[0] == 412, "somebody else was faster")
    status, answer = g.ask("POST", at + "/setMetadata", {"fingerprint": new["fingerprint"], "items": [{"key": "ssh-keys", "value": "u:k"}]})
    require(status == 400 and "ssh-keys" in answer["error"]["message"], "what a node reads at its boot stays: %s" % answer)
    console = g.good("GET", at + "/serialPort", kind="SerialPortOutput", alt="json", port="1")
    require(isinstance(console["contents"], str) and console["next"].isdigit(), console)
    require(g.ask("GET", at + "/serialPort", alt="json", port="2")[0] == 400, "one port")
    operation = g.wait(g.good("POST", ZONE + "/instances/g3/stop", kind="Operation"))
    require(operation["operationType"] == "stop" and g.look("g3")["status"] == "TERMINATED", operation)
    require(g.wait(g.good("POST", ZONE + "/instances/g3/stop"))["status"] == "DONE", "twice is as good")
    require(g.ask("POST", ZONE + "/instances/g3/start")[0] == 404, "nothing starts it again here")


def check_deletion(g):
    names = ("g1", "g2", "g3", "gone", "g4")
    answers = g.batch(*[("DELETE", "/compute/v1/%s/instances/%s?alt=json" % (ZONE, n)) for n in names])
    require([s for s, _ in answers] == [200, 200, 200, 404, 200], "each on its own: %s" % answers)
    require(answers[3][1]["error"]["errors"][0]["reason"] == "notFound", answers[3])
    for status, operation in answers:
        if status == 200:
            g.wait(operation)
    scopes = g.good("GET", "projects/test/aggregated/instances", **PAGE)["items"]
    require(not any("instances" in s for s in scopes.values()), "nothing is left: %s" % scopes)


def check_bad_batches(g):
    line = "Content-Type: application/http\n\nGET /compute/v1/projects/test HTTP/1.1\n\n"
    for kind, body in (("application/json", "{}"), ("multipart/mixed", "--x\n%s--x--" % line), ("multipart/mixed; boundary=x", ""),
                       ("multipart/mixed; boundary=x", "--x\n" + line), ("multipart/mixed; boundary=x", "--x--"),
                       ("multipart/mixed; boundary=x", "--x\n%s--x--" % line.replace("/compute/v1/", "/token?")),
                       ("multipart/mixed; boundary=x", "--x\n%s--x--" % line.replace("HTTP/1.1", "")),
                       ("multipart/mixed; boundary=x", "--x\n\nGET /compute/v1/projects/test HTTP/1.1\n\n--x--")):
        status, _, text = g.send("POST", g.root + "/batch/compute/v1", body.encode(), kind)
        require(status == 400 and "error" in json.loads(text), "%s %r: %d" % (kind, body, status))


with RbMock(sys.argv[1], "--key", "replay:" + TOKEN) as cloud:
    api = Gcloud(cloud)
    check_creation(api)
    check_listing(api)
    check_changes(api)
    check_deletion(api)
    check_bad_batches(api)
    require(not (MODEL and MODEL.problems), "\n".join(sorted(set(MODEL.problems if MODEL else []))))
    print("gcloud's requests; " + ("%d fields, all in Google's description" % MODEL.seen if MODEL else
                                   "field names not checked: @google-cloud/compute is not installed (RB_NODE_MODULES)"))
