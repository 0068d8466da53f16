#!/usr/bin/env python3
"""The Compute Engine front, asked as Google's REST reference says, with access tokens that Debian's google-auth fetches:
launch, operations, lists with paging, filters, labels, delete, and what goes wrong. Names and types of all fields are
looked up in Google's own description where @google-cloud/compute is installed. Usage: google_client.py RBMOCK"""
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from gcp_model import Model, find_protos
from rbmock import RbMock, require, skip

try:
    import google.auth
    import google.auth.transport
    from google.auth import exceptions
    from google.oauth2 import service_account
except ImportError:
    skip("python3-google-auth is not installed")

ZONE = "us-central1-a"
MODEL = Model(find_protos()) if find_protos() else None


class Transport(google.auth.transport.Request):
    """google-auth's own transports need python3-requests; this is the standard library's."""

    def __call__(self, url, method="GET", body=None, headers=None, timeout=None, **_):
        if isinstance(body, str):
            body = body.encode()
        request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as e:
            return Answer(e.code, e.headers, e.read())


class Answer(google.auth.transport.Response):
    status, headers, data = None, None, None

    def __init__(self, status, headers, data):
        self.status, self.headers, self.data = status, headers, data


class Compute:
    def __init__(self, cloud):
        self.base = cloud.gcp + "/compute/v1/projects/test/"
        self.credentials = service_account.Credentials.from_service_account_file(
            cloud.account, scopes=["https://www.googleapis.com/auth/compute"])
        self.credentials.refresh(Transport())

    def ask(self, method, path, kind=None, body=None, token=None, **query):
        url = (self.base + path).rstrip("/") + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": "Bearer " + (token or self.credentials.token), "Content-Type": "application/json"}
        answer = Transport()(url, method, json.dumps(body) if body is not None else None, headers)
        value = json.loads(answer.data)
        if kind and MODEL and answer.status == 200:
            MODEL.check(value, kind)
        return answer.status, value

    def wait(self, operation):
        for _ in range(100):
            status, operation = self.ask("POST", "zones/%s/operations/%s/wait" % (ZONE, operation["name"]), "Operation")
            require(status == 200, operation)
            if operation["status"] == "DONE":
                return operation
            time.sleep(0.05)
        sys.exit("FAILED: the operation never ends: %s" % operation)


def instance(name, machine="g2-standard-4", **more):
    return {"name": name, "machineType": "zones/%s/machineTypes/%s" % (ZONE, machine), "labels": {"rb-run": "r1"},
            "disks": [{"boot": True, "autoDelete": True, "initializeParams": {
                "sourceImage": "projects/debian-cloud/global/images/family/debian-12", "diskSizeGb": "50"}}],
            "networkInterfaces": [{"network": "global/networks/default",
                                   "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]}],
            "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE", "automaticRestart": False,
                           "instanceTerminationAction": "DELETE", "maxRunDuration": {"seconds": "3600"}},
            "metadata": {"items": [{"key": "startup-script", "value": "#!/bin/sh\ntrue\n"}]}, **more}


def insert(compute, body, **query):
    return compute.ask("POST", "zones/%s/instances" % ZONE, "Operation", body, **query)


def check_launches(compute):
    request_id = str(uuid.uuid4())
    status, operation = insert(compute, instance("one"), requestId=request_id)
    require(status == 200 and operation["status"] == "PENDING", operation)
    require(insert(compute, instance("one"), requestId=request_id)[1]["id"] == operation["id"], "one request, one operation")
    status, error = insert(compute, instance("one"))
    require(status == 409 and error["error"]["errors"][0]["reason"] == "alreadyExists", error)
    require("error" not in compute.wait(operation), "it starts")
    status, full = compute.ask("GET", "zones/%s/instances/one" % ZONE, "Instance")
    require(full["status"] == "RUNNING" and full["labels"] == {"rb-run": "r1"}, full)
    require(full["guestAccelerators"][0]["acceleratorCount"] == 1, "its GPU comes with its type")
    spot = instance("two", scheduling={"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"})
    t4 = instance("three", "n1-standard-8", guestAccelerators=[
        {"acceleratorType": "zones/%s/acceleratorTypes/nvidia-tesla-t4" % ZONE, "acceleratorCount": 1}])
    for body in spot, t4:
        require("error" not in compute.wait(insert(compute, body)[1]), body["name"])


def check_refusals(compute):
    none = compute.wait(insert(compute, instance("four", "a2-highgpu-8g"))[1])
    require(none["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED", none)
    require(compute.ask("GET", "zones/%s/instances/four" % ZONE)[0] == 404, "nothing is left of it")
    for body, reason in [(instance("Five"), "invalid"), (instance("six", colour="red"), "invalid"),
                         (instance("seven", scheduling={}), "invalid"), (instance("eight", "g9-none"), "invalid"),
                         (dict(instance("nine"), disks=[]), "invalid")]:
        status, error = insert(compute, body)
        require(status == 400 and error["error"]["errors"][0]["reason"] == reason, error)
    require(compute.ask("GET", "zones", token="stranger")[0] == 401, "an unknown token")
    require(compute.ask("GET", "zones", colour="red")[0] == 400, "an unknown parameter")


def check_gangs(compute):
    """Both or none, in the zone or wherever in the region there is room."""
    properties = instance("", guestAccelerators=[])
    properties.update(machineType="g2-standard-4", labels={"rb-run": "gang"})
    del properties["name"]
    body = {"count": "2", "minCount": "2", "perInstanceProperties": {"gang-0": {}, "gang-1": {}},
            "instanceProperties": properties}
    status, operation = compute.ask("POST", "zones/%s/instances/bulkInsert" % ZONE, "Operation", body)
    require(status == 200 and operation["operationType"] == "bulkInsert", operation)
    done = compute.wait(operation)
    require("error" not in done and "instancesBulkInsertOperationMetadata" in done, done)
    for name in body["perInstanceProperties"]:
        require(compute.ask("GET", "zones/%s/instances/%s" % (ZONE, name), "Instance")[1]["status"] == "RUNNING", name)
        compute.wait(compute.ask("DELETE", "zones/%s/instances/%s" % (ZONE, name))[1])
    body["instanceProperties"] = dict(properties, machineType="a2-highgpu-8g")
    none = compute.wait(compute.ask("POST", "zones/%s/instances/bulkInsert" % ZONE, "Operation", body)[1])
    require(none["error"]["errors"][0]["code"] == "VM_MIN_COUNT_NOT_REACHED", none)
    require(compute.ask("GET", "zones/%s/instances/gang-0" % ZONE)[0] == 404, "nothing is left of it")
    body.update(instanceProperties=properties, locationPolicy={"targetShape": "ANY_SINGLE_ZONE"})
    status, operation = compute.ask("POST", "regions/us-central1/instances/bulkInsert", "Operation", body)
    require(status == 200 and operation["region"].endswith("regions/us-central1"), operation)
    status, found = compute.ask("GET", "aggregated/instances", "InstanceAggregatedList", filter="labels.rb-run=gang")
    zones = [zone for zone, scope in found["items"].items() for i in scope.get("instances", [])]
    require(len(zones) == 2 and len(set(zones)) == 1, found)


def check_lists(compute):
    names, token = [], ""
    while token is not None:
        status, page = compute.ask("GET", "aggregated/instances", "InstanceAggregatedList", maxResults=2,
                                   filter="(labels.rb-run=r1) (status=RUNNING)", returnPartialSuccess="true", pageToken=token)
        require(status == 200, page)
        names += [i["name"] for scope in page["items"].values() for i in scope.get("instances", [])]
        token = page.get("nextPageToken")
    require(names == ["one", "two", "three"], "three instances over two pages: %s" % names)
    status, page = compute.ask("GET", "zones/%s/instances" % ZONE, "InstanceList", filter='name="t*"')
    require([i["name"] for i in page["items"]] == ["two", "three"], page)
    for path, kind in [("zones", "ZoneList"), ("regions", "RegionList"), ("regions/us-central1", "Region"),
                       ("zones/%s/machineTypes" % ZONE, "MachineTypeList"), ("", "Project"),
                       ("zones/%s/machineTypes/g2-standard-4" % ZONE, "MachineType"),
                       ("zones/%s/acceleratorTypes" % ZONE, "AcceleratorTypeList"),
                       ("aggregated/machineTypes", "MachineTypeAggregatedList"),
                       ("aggregated/operations", "OperationAggregatedList"),
                       ("zones/%s/operations" % ZONE, "OperationList")]:
        status, answer = compute.ask("GET", path, kind)
        require(status == 200, answer)


def check_labels_and_ends(compute):
    path = "zones/%s/instances/one" % ZONE
    fingerprint = compute.ask("GET", path)[1]["labelFingerprint"]
    change = {"labels": {"rb-run": "r2"}, "labelFingerprint": fingerprint}
    status, operation = compute.ask("POST", path + "/setLabels", "Operation", change)
    require(status == 200, operation)
    status, error = compute.ask("POST", path + "/setLabels", None, change)
    require(status == 412 and error["error"]["errors"][0]["reason"] == "conditionNotMet", error)
    status, operation = compute.ask("DELETE", path, "Operation", requestId=str(uuid.uuid4()))
    require(compute.ask("GET", path)[1]["status"] == "STOPPING", "it is going")
    require(insert(compute, instance("one"))[0] == 409, "its name is not free yet")
    compute.wait(operation)
    require(compute.ask("GET", path)[0] == 404, "it is gone")
    require(insert(compute, instance("one"))[0] == 200, "its name is free")


def check_key(cloud):
    """A token is for whom the key belongs to."""
    with open(cloud.account, encoding="utf-8") as f:
        account = json.load(f)
    account["client_email"] = "somebody@else.iam.gserviceaccount.com"
    other = service_account.Credentials.from_service_account_info(account, scopes=["https://www.googleapis.com/auth/compute"])
    try:
        other.refresh(Transport())
    except exceptions.RefreshError:
        return
    sys.exit("FAILED: a token for somebody else")


with RbMock(sys.argv[1]) as running:
    api = Compute(running)
    check_key(running)
    check_launches(api)
    check_refusals(api)
    check_gangs(api)
    check_lists(api)
    check_labels_and_ends(api)
    require(not (MODEL and MODEL.problems), "\n".join(sorted(set(MODEL.problems if MODEL else []))))
    print("google-auth drives the Compute Engine front; " + (
        "%d fields, all in Google's description" % MODEL.seen if MODEL
        else "field names not checked: @google-cloud/compute is not installed (RB_NODE_MODULES)"))
