#!/usr/bin/env python3
"""The wheel: built twice, from two paths and under two umasks, it has the same bytes; installed by pip, it plans like rbplan.
Usage: wheel.py --bin BUILD --root SOURCE. Exit 77, a skip, where a module that builds wheels is missing."""
import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

MODULES = {"build": "python3-build", "setuptools": "python3-setuptools", "wheel": "python3-wheel", "pip": "python3-pip"}
PARTS = ("python", "tools", "include", "LICENSE")
PROGRAM = """import json, sys, rubberband, rubberband_trial
job, profile, prices = sys.argv[1:]
plan = rubberband.load(job, deadline="2h").plan(profile=profile, prices=prices)
print(json.dumps([rubberband.__file__, rubberband_trial.__file__, plan.estimate.json]))
"""


def run(argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit("%s: exit %d\n%s%s" % (argv, done.returncode, done.stdout, done.stderr))
    return done.stdout


def build(root, place, umask):
    """The bytes of the wheel of a copy of the sources at that place, without version control."""
    os.makedirs(place)
    for part in PARTS:
        source, target = os.path.join(root, part), os.path.join(place, part)
        if os.path.isdir(source):
            shutil.copytree(source, target, copy_function=shutil.copyfile, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    env = dict(os.environ, SOURCE_DATE_EPOCH="1700000000", PYTHON=sys.executable)
    made = run(["sh", os.path.join(place, "python", "wheel"), os.path.join(place, "out")], env=env, umask=umask, cwd="/").strip()
    with open(made, "rb") as f:
        return made, f.read()


def check_content(path, root):
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        expected = {"rubberband/" + name for name in os.listdir(os.path.join(root, "python", "rubberband")) if name.endswith((".py", "typed"))}
        assert names == expected | {"rubberband/_prototypes.py", "rubberband_trial.py"}, names
        metadata = wheel.read([n for n in wheel.namelist() if n.endswith("METADATA")][0]).decode()
    with open(os.path.join(root, "meson.build"), encoding="utf-8") as f:
        version = re.search(r"version: '([0-9.]+)'", f.read()).group(1)
    assert "\nVersion: %s\n" % version in metadata, metadata
    assert "Requires-Dist" not in metadata, metadata


def check_use(path, root, bin_dir, folder):
    site = os.path.join(folder, "site")
    run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-cache-dir", "--disable-pip-version-check", "--target", site,
         path], env=dict(os.environ, PIP_ROOT_USER_ACTION="ignore"))
    examples = os.path.join(root, "examples")
    inputs = [os.path.join(examples, name) for name in ("bert/job.yaml", "bert/profile.yaml", "prices/aws-us-east-1.csv")]
    files = json.loads(run([sys.executable, "-c", PROGRAM, *inputs], env={"PYTHONPATH": site, "PATH": bin_dir}, cwd="/"))
    assert all(name.startswith(site) for name in files[:2]), files
    planned = run([os.path.join(bin_dir, "rbplan"), "--json", "--deadline=2h", "--profile-file", inputs[1], "--prices", inputs[2], inputs[0]])
    assert '"estimate":%s,' % files[2] in planned, files[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--root", required=True)
    args = parser.parse_args()
    missing = [package for module, package in MODULES.items() if not importlib.util.find_spec(module)]
    if missing:
        print("not tried: apt-get install " + " ".join(missing))
        sys.exit(77)
    root, bin_dir = os.path.abspath(args.root), os.path.abspath(args.bin)
    with tempfile.TemporaryDirectory(prefix="rb-wheel-") as folder:
        first, one = build(root, os.path.join(folder, "a"), 0o022)
        _, two = build(root, os.path.join(folder, "another", "longer place"), 0o077)
        assert one == two, "two builds differ: compare them with diffoscope"
        for place in (folder.encode(), root.encode()):
            assert place not in one, "the wheel names %r" % place
        check_content(first, root)
        check_use(first, root, bin_dir, folder)
        print("%s: %d bytes, twice the same; it plans like rbplan" % (os.path.basename(first), len(one)))


if __name__ == "__main__":
    main()
