#!/usr/bin/env python3
"""Counts the results of `meson test` from its JSON log; the last line is `N passed, N failed, N skipped`."""
import json
import os
import sys

log = sys.argv[1]
passed, failed, skipped = [], [], []
with open(log) as f:
    for line in f:
        test = json.loads(line)
        where = {"OK": passed, "EXPECTEDFAIL": passed, "SKIP": skipped}.get(test["result"], failed)
        where.append(test["name"])
for name in skipped:
    print("skipped: " + name)
for name in failed:
    print("FAILED:  " + name)
summary = "%d passed, %d failed, %d skipped" % (len(passed), len(failed), len(skipped))
with open(os.path.join(os.path.dirname(log), "summary.txt"), "w") as f:
    f.write(summary + "\n")
sys.exit(1 if failed or not passed else 0)
