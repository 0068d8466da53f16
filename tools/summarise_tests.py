#!/usr/bin/env python3
"""Counts the results of `meson test` from its JSON log, and repeats the end of each failed test's output beside its name."""
import json
import os
import sys

SHOWN = 25  # lines of a failed test

log = sys.argv[1]
passed, failed, skipped = [], [], []
last_words = {}
with open(log) as f:
    for line in f:
        test = json.loads(line)
        where = {"OK": passed, "EXPECTEDFAIL": passed, "SKIP": skipped}.get(test["result"], failed)
        where.append(test["name"])
        if where is failed:
            last_words[test["name"]] = (test.get("stdout", "") + test.get("stderr", "")).splitlines()[-SHOWN:]
for name in skipped:
    print("skipped: " + name)
for name in failed:
    print("FAILED:  " + name)
    for line in last_words[name]:
        print("    " + line[:200])
summary = "%d passed, %d failed, %d skipped" % (len(passed), len(failed), len(skipped))
with open(os.path.join(os.path.dirname(log), "summary.txt"), "w") as f:
    f.write(summary + "\n")
sys.exit(1 if failed or not passed else 0)
