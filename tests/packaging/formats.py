#!/usr/bin/env python3
"""--version lists exactly the formats that the sources speak of, in order, and says the same in text and in JSON.
Usage: formats.py SOURCE_ROOT BIN"""
import json
import os
import re
import subprocess
import sys

root, programs = sys.argv[1:3]
spoken = set()
for layer in ("base", "profiles", "engine", "simulator", "planner", "providers", "executor", "views", "commands", "library"):
    for folder, _, names in os.walk(os.path.join(root, layer)):
        for name in names:
            if name.endswith((".c", ".h")) and name != "version.c":
                text = open(os.path.join(folder, name), encoding="utf-8").read()
                text = re.sub(r"//.*", "", text)
                spoken |= set(re.findall(r'\brb-[a-z-]+/[0-9]+\b', text))
spoken.add("rb-version/1")  # spoken of in version.c itself
if len(spoken) < 20:
    sys.exit("only %d formats were found: is %s the source tree?" % (len(spoken), root))
for program in ("rbplan", "rbprofile", "rbrun", "rbsearch", "rbsim", "rbmock", "rbmcp"):
    def run(*args):
        return subprocess.run([os.path.join(programs, program), *args], capture_output=True, text=True, check=True).stdout
    document = json.loads(run("--version", "--json"))
    text = run("--version")
    assert list(document) == ["format", "program", "version", "build", "compiler", "formats"], document
    assert document["format"] == "rb-version/1" and document["program"] == program, document
    assert document["formats"] == sorted(document["formats"]), "not sorted"
    missing, extra = spoken - set(document["formats"]), set(document["formats"]) - spoken
    if missing or extra:
        sys.exit("commands/version.c: missing %s, not spoken %s" % (sorted(missing), sorted(extra)))
    assert text.split()[:2] == [program, document["version"]], text
    assert text.split("formats ")[1].split() == document["formats"], text
print("%d formats, seven programs" % len(spoken))
