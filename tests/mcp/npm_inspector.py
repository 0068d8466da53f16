#!/usr/bin/env python3
"""Is rbmcp a server for the MCP inspector, a client that other people debug servers with? Its command line lists the tools, calls
`check` on a job that is right and on one that is not, and reads an error's page. RB_MCP_NPM names the folder in which npm installed
it; without it skipped. Usage: npm_inspector.py --bin BUILD --root SOURCE"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = {"check", "estimate", "explain", "what_if", "pareto", "approve", "run", "status", "report", "stop"}
NPM, NODE = os.environ.get("RB_MCP_NPM", ""), shutil.which("node")
INSPECTOR = os.path.join(NPM, "node_modules", ".bin", "mcp-inspector")


class Inspector(unittest.TestCase):
    def ask(self, method, *more):
        """What the inspector prints of the answer: it starts a server of its own for each."""
        with tempfile.TemporaryDirectory() as home:
            env = dict(os.environ, HOME=home, RB_DB=os.path.join(home, "none.db"))
            server = [os.path.join(os.path.abspath(o.bin), "rbmcp"), "--root", o.practice]
            # What follows a method's options is an option of the inspector; so the server comes first.
            done = subprocess.run([NODE, INSPECTOR, "--cli", *server, "--method", method, *more], env=env, capture_output=True,
                                  text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def check(self, job):
        return self.ask("tools/call", "--tool-name", "check", "--tool-arg", "job=" + job)

    def test_tools_are_listed(self):
        tools = {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}
        self.assertEqual(set(tools) & TOOLS, TOOLS)
        self.assertIs(tools["check"]["inputSchema"]["additionalProperties"], False)

    def test_a_tool_is_called(self):
        answer = self.check("job.yaml")
        self.assertFalse(answer.get("isError", False), answer)
        self.assertEqual(json.loads(answer["content"][0]["text"]), answer["structuredContent"])

    def test_a_failure_says_what_to_do(self):
        answer = self.check("jbo.yaml")
        self.assertTrue(answer["isError"], answer)
        error = json.loads(answer["content"][0]["text"])
        self.assertEqual(error["format"], "rb-error/1")
        self.assertTrue(error["remedy"])


options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--bin", required=True)
options.add_argument("--root", required=True)
o = options.parse_args()
o.practice = os.path.join(os.path.abspath(o.root), "examples", "practice")
if not NODE or not os.path.exists(INSPECTOR):
    print("skipped: no MCP inspector; npm install --prefix DIR @modelcontextprotocol/inspector@0.15.0, and RB_MCP_NPM=DIR")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
