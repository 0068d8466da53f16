#!/usr/bin/env python3
"""npm's @kubernetes/client-node against rbmock's Kubernetes front (kubernetes_npm.mjs): commands in a pod. tools/npm_clients.sh fetches
it into a folder that RB_NODE_MODULES names; without it this test is skipped. Usage: kubernetes_npm.py RBMOCK"""
import json
import os
import shutil
import subprocess
import sys

from rbmock import POD, RbMock, skip

PACKAGE = "@kubernetes/client-node"

modules = os.environ.get("RB_NODE_MODULES", "/usr/local/lib/node_modules")
if not shutil.which("node"):
    skip("node is not installed")
if not os.path.isdir(os.path.join(modules, PACKAGE)):
    skip("%s: not in %s; run tools/npm_clients.sh DIR and set RB_NODE_MODULES=DIR/node_modules" % (PACKAGE, modules))
with RbMock(sys.argv[1], "--k8s", "0") as cloud:
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kubernetes_npm.mjs")
    done = subprocess.run(["node", "--no-warnings", script, cloud.kubeconfig, modules, json.dumps(POD)], timeout=100, check=False)
    if done.returncode != 0:
        sys.exit("FAILED: kubernetes_npm.mjs")
print(PACKAGE + " drives rbmock")
