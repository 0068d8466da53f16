#!/usr/bin/env python3
"""Google's own command line, unmodified but for two endpoints, drives the Compute Engine front: it signs in with the service
account that rbmock wrote, creates, lists, labels and deletes. Skipped where gcloud is not installed; Debian has no package
of it. Usage: gcloud_client.py RBMOCK"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from rbmock import RbMock, require, skip

ZONE = "us-central1-a"
gcloud = shutil.which("gcloud", path="/usr/bin:/usr/local/bin:/snap/bin:/bin")
if not gcloud:
    skip("gcloud is not installed")


def run(*words, code=0):
    done = subprocess.run([gcloud, *words, "--format=json"], capture_output=True, text=True, timeout=60, check=False)
    require((done.returncode == 0) == (code == 0), "gcloud %s: exit %d\n%s" % (" ".join(words), done.returncode, done.stderr))
    return json.loads(done.stdout) if done.stdout.strip() and code == 0 else done.stderr


with RbMock(sys.argv[1]) as cloud, tempfile.TemporaryDirectory(prefix="rbmock-gcloud-") as config:
    os.environ.update(CLOUDSDK_CONFIG=config, CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=cloud.gcp + "/compute/v1/",
                      CLOUDSDK_AUTH_TOKEN_HOST=cloud.gcp + "/token", CLOUDSDK_CORE_PROJECT="test",
                      CLOUDSDK_CORE_DISABLE_PROMPTS="1", CLOUDSDK_CORE_DISABLE_USAGE_REPORTING="1",
                      CLOUDSDK_CORE_DISABLE_FILE_LOGGING="1")
    run("auth", "activate-service-account", "--key-file", cloud.account)
    create = ("compute", "instances", "create", "g1", "--zone", ZONE, "--machine-type", "g2-standard-4", "--image-project",
              "debian-cloud", "--image", "debian-12", "--maintenance-policy", "TERMINATE", "--labels", "rb-run=x")
    made = run(*create)
    require(made[0]["status"] == "RUNNING", made)
    require("already exists" in run(*create, code=1), "a name is taken once")
    run("compute", "instances", "add-labels", "g1", "--zone", ZONE, "--labels", "more=y")
    listed = run("compute", "instances", "list", "--filter", "labels.rb-run=x")
    require([i["name"] for i in listed] == ["g1"] and listed[0]["labels"] == {"rb-run": "x", "more": "y"}, listed)
    run("compute", "instances", "delete", "g1", "--zone", ZONE)
    require(run("compute", "instances", "list") == [], "nothing is left")
    types = {o["operationType"] for o in run("compute", "operations", "list")}
    require(types == {"insert", "setLabels", "delete"}, types)
    print("gcloud drives the Compute Engine front")
