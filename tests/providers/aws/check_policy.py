#!/usr/bin/env python3
"""docs/policies/aws.json against the code: every call that providers/ makes is allowed, and nothing beside.
Usage: check_policy.py SOURCE_ROOT"""
import glob
import json
import os
import re
import sys

root = sys.argv[1]
OF_TOKEN_SERVICE = {"AssumeRole", "AssumeRoleWithWebIdentity"}  # the role itself says who may assume it
# What no call of ours is called by: tags in a launch, spot requests of an account that never made one, a node's own role.
IMPLIED = {"iam:CreateServiceLinkedRole", "iam:PassRole"}
JSON_SERVICES = {"AmazonSSM.": "ssm", "AWSPriceListService.": "pricing", "ServiceQuotasV20190624.": "servicequotas"}


def calls():
    query, by_service, prefixes = set(), set(), set()
    for path in glob.glob(os.path.join(root, "providers", "[!m]*", "*.c")):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        query |= set(re.findall(r'ACTION\("(\w+)"', text)) | set(re.findall(r'"Action=(\w+)', text))
        for prefix in re.findall(r'\{"\w+", "(\w+\.)",', text):
            prefixes.add(prefix)
        if os.path.basename(os.path.dirname(path)) == "ec2":
            by_service |= set(re.findall(r'"((?:Get|List)\w+)"', text))
    if prefixes != set(JSON_SERVICES):
        sys.exit("services %s, expected %s: teach this test the new one" % (sorted(prefixes), sorted(JSON_SERVICES)))
    return {"ec2:" + c for c in query - OF_TOKEN_SERVICE}, by_service


def allowed():
    with open(os.path.join(root, "docs", "policies", "aws.json"), encoding="utf-8") as f:
        statements = json.load(f)["Statement"]
    actions = set()
    for s in statements:
        if s["Effect"] != "Allow":
            sys.exit("%s: expected Allow" % s["Sid"])
        if "*" in json.dumps(s["Action"]):
            sys.exit("%s: actions are named one by one" % s["Sid"])
        actions |= {s["Action"]} if isinstance(s["Action"], str) else set(s["Action"])
    return actions


ec2, others = calls()
policy = allowed()
problems = ["%s is called and not allowed" % a for a in sorted(ec2 - policy)]
problems += ["%s is allowed and never called" % a for a in sorted({a for a in policy if a.startswith("ec2:")} - ec2 - IMPLIED)]
known = {a.split(":")[1] for a in policy if a.split(":")[0] in JSON_SERVICES.values()}
problems += ["%s is called and not allowed" % c for c in sorted(others - known)]
problems += ["%s is allowed and never called" % c for c in sorted(known - others)]
print("\n".join(problems) or "%d calls, all allowed and nothing beside" % (len(ec2) + len(others)))
sys.exit(1 if problems or len(ec2) < 5 else 0)
