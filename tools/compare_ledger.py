#!/usr/bin/env python3
"""compare_ledger.py LEDGER.json REPORT.json: the mock cloud's bill of a run beside the run's own. Exit 1 if they differ, or
if an instance is left."""
import json
import sys

ledger, report = (json.load(open(path)) for path in sys.argv[1:3])
ours = report["cost_uusd"]["actual"]
theirs = sum(i["cost_uusd"] for i in ledger["instances"] if i["tags"].get("rb:run-id") == report["run"])
left = ledger["instances_left"]
print("rbmock's own ledger: %d instances left; it charges $%.6f for this run, rbrun's report says $%.6f" % (left, theirs / 1e6, ours / 1e6))
sys.exit(0 if left == 0 and ours == theirs else 1)
