"""Every parameter we send must exist in the model of the EC2 API that botocore ships, with a value of its type.

usage: check_requests.py PROGRAM     (PROGRAM prints one form body a line)
Exit status 77 (skipped) where botocore's model is not installed.
"""
import glob
import gzip
import json
import re
import subprocess
import sys
import urllib.parse

MODELS = [
    "/usr/lib/python3/dist-packages/botocore/data/ec2/2016-11-15/service-2.json*",
    "/usr/lib/python3*/site-packages/botocore/data/ec2/2016-11-15/service-2.json*",
]


def load_model():
    for pattern in MODELS:
        for path in glob.glob(pattern):
            opener = gzip.open if path.endswith(".gz") else open
            with opener(path, "rt", encoding="utf-8") as f:
                return json.load(f)
    return None


def wire_name(member_name, member):
    """The "ec2" protocol: queryName, else locationName with a capital first letter, else the member's own name."""
    if "queryName" in member:
        return member["queryName"]
    name = member.get("locationName", member_name)
    return name[0].upper() + name[1:]


def check_scalar(shape, value):
    kind = shape["type"]
    if kind == "boolean":
        return value in ("true", "false")
    if kind in ("integer", "long"):
        return re.fullmatch(r"-?\d+", value) is not None
    if kind == "timestamp":
        return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value) is not None
    if "enum" in shape:
        return value in shape["enum"]
    return kind in ("string", "blob")


def check(model, shape_name, path, value):
    """None, or what is wrong with the parameter whose remaining path is that."""
    shape = model["shapes"][shape_name]
    if shape["type"] == "structure":
        if not path:
            return "is a structure, not a value"
        for name, member in shape["members"].items():
            if wire_name(name, member) == path[0]:
                return check(model, member["shape"], path[1:], value)
        return f"{path[0]} is not a member of {shape_name}"
    if shape["type"] == "list":
        if not path or not re.fullmatch(r"[1-9]\d*", path[0]):
            return f"{shape_name} is a list: expected a number from 1"
        return check(model, shape["member"]["shape"], path[1:], value)
    if path:
        return f"{shape_name} has no members"
    return None if check_scalar(shape, value) else f"{value!r} is no {shape_name}"


def check_body(model, body):
    pairs = urllib.parse.parse_qsl(body, keep_blank_values=True, strict_parsing=True)
    names = [name for name, _ in pairs]
    action = dict(pairs)["Action"]
    errors = [f"{action}: {n} is given twice" for n in names if names.count(n) > 1]
    if dict(pairs)["Version"] != model["metadata"]["apiVersion"]:
        errors.append(f"{action}: wrong Version")
    root = model["operations"][action]["input"]["shape"]
    for name, value in pairs:
        if name not in ("Action", "Version"):
            wrong = check(model, root, name.split("."), value)
            if wrong:
                errors.append(f"{action}: {name}: {wrong}")
    sent = {n.split(".")[0] for n in names}
    members = model["shapes"][root]["members"]
    for required in model["shapes"][root].get("required", []):
        if wire_name(required, members[required]) not in sent:
            errors.append(f"{action}: {required} is required")
    return len(pairs), errors


def main():
    model = load_model()
    if model is None:
        print("skipped: no botocore model of EC2 (Debian package python3-botocore)")
        return 77
    output = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    n_parameters, errors = 0, []
    for body in output.splitlines():
        n, wrong = check_body(model, body)
        n_parameters += n
        errors += wrong
    errors += [] if n_parameters > 50 else [f"only {n_parameters} parameters were checked"]
    print("\n".join(errors) or f"{n_parameters} parameters exist in the model")
    return 1 if errors else 0


sys.exit(main())
