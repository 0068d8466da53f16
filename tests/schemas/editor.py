#!/usr/bin/env python3
"""An editor's view of job.yaml, through yaml-language-server (npm): diagnostics, completion, and hover for every key.

Skipped where it is not installed: `npm install yaml-language-server`, and RB_YAML_LANGUAGE_SERVER names its bin file."""
import json
import os
import shutil
import subprocess
import sys

SKIP = 77
JOB = """# yaml-language-server: $schema=%s
name: cifar
metric: {name: val_acc, goal: maximize, format: auto}
parameters:
  lr: {distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}
scheduler:
  type: sha
  num_trials: 27
  max_resource: 27
trial:
  gpus: 1
  stop: self
checkpoint:
  dir: ckpt
resources:
  infra: [local]
  spot: never
run: python train.py $RB_ARGS
deadline: 2h
budget: 40
"""


class Server:
    def __init__(self, path):
        self.process = subprocess.Popen(["node", path, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.number, self.diagnostics = 0, {}

    def send(self, message):
        body = json.dumps(dict(message, jsonrpc="2.0")).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self):
        length = 0
        while True:
            line = self.process.stdout.readline().strip()
            if not line:
                break
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def take(self):
        message = self.read()
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "id" in message and "method" in message:  # workspace/configuration and the like
            empty = [{} for _ in message["params"]["items"]] if message["method"] == "workspace/configuration" else None
            self.send({"id": message["id"], "result": empty})
        return message

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.take()
            if message.get("id") == self.number and "method" not in message:
                return message.get("result")

    def open(self, uri, text):
        self.send({"method": "textDocument/didOpen",
                   "params": {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}}})
        while uri not in self.diagnostics:
            self.take()
        return self.diagnostics[uri]


def keys_of(text):
    """(line, column, key) of every key that stands at the beginning of a line."""
    for number, line in enumerate(text.splitlines()):
        word = line.strip().split(":")[0]
        if ":" in line and not line.startswith("#") and word != "lr":
            yield number, len(line) - len(line.lstrip()) + 1, word


def without_description(node, path=""):
    """Keys that an editor would show without a word."""
    if isinstance(node, list):
        return [found for item in node for found in without_description(item, path)]
    if not isinstance(node, dict):
        return []
    found = []
    for key, value in node.items():
        if key == "properties":
            found += [path + "." + name for name, of in value.items()
                      if isinstance(of, dict) and "description" not in of and "const" not in of and "/oneOf" not in path]
            found += [f for name, of in value.items() for f in without_description(of, path + "." + name)]
        else:
            found += without_description(value, path + "/" + key)
    return found


def null_defaults(node, path=""):
    """yaml-language-server 1.25 offers no key after one with such a default, and null says no more than no default."""
    if isinstance(node, list):
        return [found for item in node for found in null_defaults(item, path)]
    if not isinstance(node, dict):
        return []
    found = [path] if "default" in node and node["default"] is None else []
    return found + [f for key, value in node.items() for f in null_defaults(value, path + "/" + key)]


def main():
    schema = os.path.abspath(sys.argv[1])
    with open(schema, encoding="utf-8") as f:
        document = json.load(f)
    missing = without_description(document)
    assert not missing, missing
    assert not null_defaults(document), null_defaults(document)
    path = os.environ.get("RB_YAML_LANGUAGE_SERVER")
    if not path or not os.path.exists(path) or not shutil.which("node"):
        print("skipped: no yaml-language-server; RB_YAML_LANGUAGE_SERVER names its bin file")
        return SKIP
    server = Server(path)
    server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    server.send({"method": "initialized", "params": {}})
    text = JOB % schema
    good = server.open("file:///tmp/good.yaml", text)
    assert good == [], good
    bad = server.open("file:///tmp/bad.yaml", text + "dedline: 3h\n")
    assert any("dedline" in d["message"] for d in bad), bad
    for line, column, key in keys_of(text):
        hover = server.ask("textDocument/hover", {"textDocument": {"uri": "file:///tmp/good.yaml"},
                                                  "position": {"line": line, "character": column}})
        assert hover and hover["contents"]["value"].strip(), "no hover for %s" % key
    server.open("file:///tmp/new.yaml", "# yaml-language-server: $schema=%s\nname: a\n\n" % schema)
    offered = server.ask("textDocument/completion", {"textDocument": {"uri": "file:///tmp/new.yaml"},
                                                     "position": {"line": 2, "character": 0}})
    labels = {item["label"] for item in offered["items"]}
    assert {"metric", "scheduler", "deadline", "guess", "sinks", "notify"} <= labels, labels
    server.process.kill()
    print("diagnostics, completion and hover of %d keys" % len(list(keys_of(text))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
