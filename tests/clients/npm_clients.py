#!/usr/bin/env python3
"""npm's clients against rbmock (npm_clients.mjs). They come from npm and not from Debian, so tools/npm_clients.sh fetches
them into a folder that RB_NODE_MODULES names; without it this test is skipped. Usage: npm_clients.py RBMOCK"""
import os
import shutil
import subprocess
import sys

from rbmock import RbMock, skip

PACKAGES = ("@aws-sdk/client-ec2", "@google-cloud/compute")

modules = os.environ.get("RB_NODE_MODULES", "/usr/local/lib/node_modules")
missing = [p for p in PACKAGES if not os.path.isdir(os.path.join(modules, p))]
if not shutil.which("node"):
    skip("node is not installed")
if missing:
    skip("%s: not in %s; run tools/npm_clients.sh DIR and set RB_NODE_MODULES=DIR/node_modules" % (
        " and ".join(missing), modules))
with RbMock(sys.argv[1]) as cloud:
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npm_clients.mjs")
    done = subprocess.run(["node", "--no-warnings", script, cloud.ec2, cloud.gcp, cloud.account, modules,
                           *cloud.keys.values()], timeout=100, check=False)
    if done.returncode != 0:
        sys.exit("FAILED: npm_clients.mjs")
print("@aws-sdk/client-ec2 and @google-cloud/compute drive rbmock")
