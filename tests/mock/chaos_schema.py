#!/usr/bin/env python3
"""rbmock and docs/schemas/chaos.schema.json agree on what is rb-chaos/1. Usage: chaos_schema.py RBMOCK SCHEMA"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

WHATS = ["lost_response", "throttle", {"throttle": {}}, {"error": {"code": "X"}}, {"html_502": {"after_effect": True}},
         {"truncated_body": {"fraction": 0.5}}, {"partial_page": {"items": 0}}, {"slow_drip": {"bytes_per_s": 5}},
         {"clock_skew": {"by": "1h30m"}}, {"unreachable": {"zone": "z"}}, {"fails_to_start": {}}, {"dies_at": {"after": "7m"}},
         {"boots_slowly": {"factor": 1.5}}, {"interrupted": {}}, "never_boots", "wrong_market", "connection_reset",
         {"dropped_field": {"field": "spec.nodeSelector"}}, {"exec_cut": {"bytes": 0}}, "exec_cut", "no_status", {"replaced": {"after": "1m"}},
         "dropped_field", {"dropped_field": {}}, {"exec_cut": {"bytes": -1}}, {"no_status": {"bytes": 1}},
         "error", "explode", {}, {"throttle": {}, "html_502": {}}, {"error": {}}, {"error": {"code": "X", "status": 200}},
         {"throttle": {"by": "1s"}}, {"truncated_body": {"fraction": 1}}, {"partial_page": {"items": -1}},
         {"slow_drip": {"bytes_per_s": 0}}, {"clock_skew": {"by": 5}}, {"unreachable": {}}, {"boots_slowly": {"factor": -1}}]
RULES = [{"what": "throttle", **more} for more in (
    {"where": {}}, {"where": {"front": "gcp", "market": "spot", "zone": "z"}}, {"when": {"probability": 0, "call": 3}},
    {"times": 1, "name": "n"}, {"where": {"front": "k8s"}}, {"where": {"front": "s3"}}, {"where": {"zone": ""}}, {"where": {"colour": "red"}},
    {"when": {"probability": 2}}, {"when": {"every": 0}}, {"when": {"after": "soon"}}, {"times": 0}, {"name": ""}, {"colour": 1})]
DOCUMENTS = ([{"format": "rb-chaos/1", "rules": [{"what": w}]} for w in WHATS] +
             [{"format": "rb-chaos/1", "rules": [r]} for r in RULES] +
             [{"format": "rb-chaos/2", "rules": []}, {"format": "rb-chaos/1"}, {"rules": []},
              {"format": "rb-chaos/1", "rules": [], "colour": "red"}, {"format": "rb-chaos/1", "rules": [{}]}])


def rbmock_accepts(program, path):
    """The chaos file is read before the cloud's; that this one does not exist is the next thing it would say."""
    done = subprocess.run([program, "--chaos", path, "--cloud", "/nonexistent/cloud.yaml"], capture_output=True, text=True,
                          timeout=20, check=False)
    if "/nonexistent/cloud.yaml" in done.stderr:
        return True
    if done.returncode == 2 and path in done.stderr:
        return False
    sys.exit("rbmock: exit %d: %s" % (done.returncode, done.stderr))


def main():
    program, schema = sys.argv[1:]
    with open(schema, encoding="utf-8") as f:
        validator = jsonschema.Draft202012Validator(json.load(f))
    accepted, problems = 0, []
    with tempfile.TemporaryDirectory(prefix="rb-chaos-") as folder:
        path = os.path.join(folder, "chaos.yaml")
        for document in DOCUMENTS:
            with open(path, "w", encoding="utf-8") as f:
                json.dump(document, f)  # JSON is YAML
            says = rbmock_accepts(program, path)
            accepted += says
            if says != validator.is_valid(document):
                problems.append("rbmock %s, the schema does not agree: %s" % (
                    "accepts" if says else "refuses", json.dumps(document)))
    print("\n".join(problems))
    print("%d documents, %d of them good, %d problems" % (len(DOCUMENTS), accepted, len(problems)))
    sys.exit(1 if problems or accepted < 15 or accepted > len(DOCUMENTS) - 15 else 0)


main()
