#!/usr/bin/env python3
"""The command line of a program as one JSON document: what `--help=json` says of it and of each of its subcommands.
Usage: help_tree.py PROGRAM OUTPUT.json. Man pages (tools/man_page.py) and completions (tools/completions.py) are made from it."""
import json
import os
import subprocess
import sys


def ask(program, words):
    # A subcommand that is an option, as `rbrun --pool FILE`, takes a value.
    words = [w + "=x" if w.startswith("--") else w for w in words]
    done = subprocess.run([program, *words, "--help=json"], capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
    if done.returncode != 0:
        sys.exit("%s %s --help=json: exit %d: %s" % (program, " ".join(words), done.returncode, done.stderr))
    tree = json.loads(done.stdout)
    if words and words[-1].startswith("--"):
        tree["subcommands"] = []
    for sub in tree["subcommands"]:
        sub["command"] = ask(program, [*words, sub["name"]])
    return tree


program, output = sys.argv[1:3]
text = json.dumps(ask(program, []), indent=1)
with open(output, "w", encoding="utf-8") as f:
    f.write(text + "\n")
