"""Runs npm_clients.mjs where RB_MCP_NPM names a folder with the clients, else is skipped. Usage: npm_clients.py --bin BUILD --root
SOURCE"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--bin", required=True)
options.add_argument("--root", required=True)
o = options.parse_args()
modules, node = os.environ.get("RB_MCP_NPM"), shutil.which("node")
if not modules or not node or not os.path.isdir(os.path.join(modules, "node_modules", "@modelcontextprotocol", "client")):
    print("skipped: no npm clients: RB_MCP_NPM names no folder with @modelcontextprotocol/client and /sdk")
    sys.exit(77)
with tempfile.TemporaryDirectory() as home:
    env = dict(os.environ, HOME=home, RB_DB=os.path.join(home, "none.db"))
    sys.exit(subprocess.run([node, os.path.join(os.path.dirname(os.path.abspath(__file__)), "npm_clients.mjs"), modules,
                             os.path.join(os.path.abspath(o.bin), "rbmcp"), os.path.join(o.root, "examples", "practice")],
                            env=env, check=False).returncode)
