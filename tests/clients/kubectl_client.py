#!/usr/bin/env python3
"""kubectl against rbmock's Kubernetes front: Debian's 1.20 for all but exec, which it speaks SPDY for only; newer ones for exec, too.
Usage: kubectl_client.py RBMOCK"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

from rbmock import POD, RbMock, require, skip

kubectl = os.environ.get("RB_KUBECTL", "kubectl")
if not shutil.which(kubectl):
    skip("kubectl: install kubernetes-client")
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "rbj-1"}, "spec": {"template": {"spec": POD["spec"]}}}


def rows(table):
    """The words of a printed table, line by line; a column's name may be two words."""
    return [line.split() for line in table.splitlines()]


with RbMock(sys.argv[1], "--k8s", "0", more="kubernetes: {granted: [patch pods, create jobs, get jobs, list jobs, delete jobs]}\n") as cloud:
    env = {**os.environ, "KUBECONFIG": cloud.kubeconfig, "HOME": cloud.folder.name, "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true"}

    def run(*words, stdin=None):
        return subprocess.run([kubectl, *words], capture_output=True, text=True, input=stdin, env=env, timeout=60, check=False)

    def says(*words, stdin=None):
        done = run(*words, stdin=stdin)
        require(done.returncode == 0, (words, done.stdout, done.stderr))
        return done.stdout

    version = json.loads(says("version", "-o", "json"))
    require(version["serverVersion"]["minor"] == "30", version)
    create = ("create", "--validate=false", "-f", "-")
    says(*create, stdin=json.dumps(POD))
    twice = run(*create, stdin=json.dumps(POD))
    require(twice.returncode == 1 and "AlreadyExists" in twice.stderr, twice)
    bare = {**POD, "metadata": {"name": "bare"}, "spec": {**POD["spec"], "securityContext": {}}}
    refused = run(*create, stdin=json.dumps(bare))
    require("violates PodSecurity" in refused.stderr and "seccompProfile" in refused.stderr, refused)
    says("wait", "--for=condition=Ready", "pod/rb-1", "--timeout=30s")
    require(says("get", "pods", "-l", "rb.run-id=R", "-o", "name") == "pod/rb-1\n", "get by label")
    require(says("get", "pods", "-o", "name", "--chunk-size=1") == "pod/rb-1\n", "get in pages")
    require(json.loads(says("get", "pod", "rb-1", "-o", "json"))["status"]["phase"] == "Running", "get -o json")
    head, row = rows(says("get", "pods"))
    require(head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"] and row[:4] == ["rb-1", "1/1", "Running", "0"], (head, row))
    require(re.fullmatch(r"\d+s", row[4]), row)
    one = rows(says("get", "pod", "rb-1"))
    require([one[0], one[1][:4]] == [head, row[:4]] and re.fullmatch(r"\d+s", one[1][4]), one)  # its age goes on
    wide = rows(says("get", "pods", "-o", "wide"))
    require(wide[0] == [*head, "IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES"] and wide[1][7:] == ["<none>"] * 2, wide)
    require(rows(says("get", "pods", "-L", "rb.run-id"))[1][-1] == "R", "labels beside the columns")
    require(rows(says("get", "pods", "--chunk-size=1"))[0] == head, "pages")
    says(*create, stdin=json.dumps(JOB))
    head, row = rows(says("get", "jobs"))
    require([w for w in head if w != "STATUS"] == ["NAME", "COMPLETIONS", "DURATION", "AGE"] and row[:2] == ["rbj-1", "0/1"], (head, row))
    says("delete", "job", "rbj-1")
    says("label", "pod", "rb-1", "team=a", "gone=b")
    says("label", "pod", "rb-1", "gone-")
    says("annotate", "pod", "rb-1", "note=some words")
    says("patch", "pod", "rb-1", "--patch", '{"metadata": {"labels": {"more": "c"}}}')
    says("patch", "pod", "rb-1", "--type=json", "--patch", '[{"op": "replace", "path": "/metadata/labels/more", "value": "d"}]')
    meta = json.loads(says("get", "pod", "rb-1", "-o", "json"))["metadata"]
    require(meta["labels"] == {"rb.run-id": "R", "team": "a", "more": "d"} and meta["annotations"] == {"note": "some words"}, meta)
    require(run("patch", "pod", "rb-1", "--patch", '{"spec": {"hostname": "x"}}').returncode == 1, "a spec stays as it is")
    require(says("logs", "rb-1") == "hello\n", "logs")
    require("Scheduled" in says("get", "events", "-o", "json"), "events")
    require(says("auth", "can-i", "create", "pods", "--subresource=exec").strip() == "yes", "can-i")
    require(run("auth", "can-i", "list", "nodes").stdout.strip() == "no", "can-i")
    nodes = run("get", "nodes")
    require(nodes.returncode == 1 and "Forbidden" in nodes.stderr, nodes)
    require("No resources" in run("get", "quota").stderr, "quota")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "rb-run"}, "spec": {"holderIdentity": "me"}}
    says(*create, stdin=json.dumps(lease))
    head, row = rows(says("get", "leases"))
    require(head == ["NAME", "HOLDER", "AGE"] and row[:2] == ["rb-run", "me"], (head, row))
    says("delete", "lease", "rb-run")
    client = version["clientVersion"]
    if int(re.sub(r"\D", "", client["minor"])) >= 30:
        done = run("exec", "-i", "rb-1", "--", "sh", "-c", "cat; exit 5", stdin="typed\n")
        require((done.returncode, done.stdout) == (5, "typed\n"), done)
    began = time.monotonic()
    says("delete", "pod", "rb-1")
    require(time.monotonic() - began < 20, "delete waits on a watch")
    require("No resources found" in run("get", "pods").stderr, "none")
with RbMock(sys.argv[1], "--k8s", "0", more="kubernetes: {granted: [list nodes], quota: {pods: '3'}}\n") as cloud:
    env["KUBECONFIG"] = cloud.kubeconfig
    says(*create, stdin=json.dumps(POD))
    says("wait", "--for=condition=Ready", "pod/rb-1", "--timeout=30s")
    head, row = rows(says("get", "nodes"))
    require(head == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"] and row[1:3] == ["Ready", "<none>"] and row[4] == "v1.30.0-rbmock", (head, row))
    require(rows(says("get", "quota"))[0] == ["NAME", "CREATED", "AT"], "a kind without columns of its own")
    print("kubectl %s drives rbmock" % client["gitVersion"])
