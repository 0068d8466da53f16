#!/usr/bin/env python3
"""The man pages: mandoc finds nothing to warn of, every option of every command is in its page with its help, so is every exit
status, every page that another names is there, and every page of docs/formats has become one.
Usage: man_pages.py FOLDER SOURCE_ROOT (folder: of the built pages and *.help.json).
Exit 77, a skip, where mandoc is missing: then what needs it has not been looked at."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

folder, root = sys.argv[1:3]
pages = sorted(p for p in glob.glob(folder + "/*.[135]"))
names = {os.path.basename(p) for p in pages}
problems = []
if len(pages) < 20:
    sys.exit("only %d pages in %s" % (len(pages), folder))


def plain(text):
    text = re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
    return re.sub(r"\s+", " ", text.replace("\\(aq", "'").replace("\\(ga", "`").replace("\\(ha", "^").replace("\\(ti", "~"))


def commands(node):
    yield node
    for sub in node["subcommands"]:
        yield from commands(sub["command"])


n_options = 0
for tree_file in sorted(glob.glob(folder + "/*.help.json")):
    tree = json.load(open(tree_file, encoding="utf-8"))
    page = open(os.path.join(folder, tree["name"] + ".1"), encoding="utf-8").read()
    parts = re.split(r'^\.SS "(.*)"$|^\.SH (.*)$', page, flags=re.M)
    sections = {plain(parts[i] or parts[i + 1] or ""): plain(parts[i + 2]) for i in range(1, len(parts) - 2, 3)}
    for command in commands(tree):
        text = sections.get("OPTIONS" if command is tree else command["name"], "")
        for o in command["options"]:
            n_options += 1
            term = "--%s%s" % (o["name"], " " + o["metavar"] if o["metavar"] else "")
            said = o["help"].replace("`", "")  # what is typed is bold there
            if term + " " not in text or plain(said) not in text:
                problems.append("%s(1): no %s with its help under %s" % (tree["name"], term, command["name"]))
    for status in ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130"):
        if not re.search(r"(^| )%s " % status, sections["EXIT STATUS"]):
            problems.append("%s(1): exit status %s is missing" % (tree["name"], status))
for page in pages:
    for name, section in re.findall(r"\b((?:rb|lib)[a-z-]+)\(([135])\)", plain(open(page, encoding="utf-8").read())):
        if "%s.%s" % (name, section) not in names:
            problems.append("%s names %s(%s), which is not there" % (os.path.basename(page), name, section))
if n_options < 100:
    problems.append("only %d options were looked for" % n_options)
mandoc = shutil.which("mandoc")
if mandoc:
    lint = subprocess.run([mandoc, "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True)
    problems += (lint.stdout + lint.stderr).splitlines()
    for page in pages:
        shown = subprocess.run([mandoc, "-T", "utf8", page], capture_output=True, text=True).stdout
        if re.search(r"\\[(&f]|^\.(SH|PP|TP|nf)", re.sub(".\b", "", shown), re.M):
            problems.append("%s: roff shows through" % page)
for path in glob.glob(root + "/docs/formats/*.md"):
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem != "README" and "rb-%s.5" % stem not in names:
        problems.append("docs/formats/%s.md has no page: add it to packaging/meson.build" % stem)
for p in problems:
    print(p)
print("%d pages, %d options, %d problems%s" % (len(pages), n_options, len(problems), "" if mandoc else
                                               "; mandoc is not installed: not linted"))
sys.exit(1 if problems else 0 if mandoc else 77)
