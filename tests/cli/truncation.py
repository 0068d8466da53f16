#!/usr/bin/env python3
"""Documents cut short at many offsets: always exit 2, one error that names file and line, nothing changed on disk.
Usage: truncation.py --bin BUILD_DIR --root SOURCE_ROOT"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import run_cli

STEP = 97  # a prime, so that cuts fall at every place of a line


def offsets(n):
    """The first bytes, every STEP, and all of the last ones but the final newline, without which a document is whole."""
    return sorted(set(range(0, 8)) | set(range(0, n - 1, STEP)) | set(range(max(0, n - 24), n - 1)))


class World:
    def __init__(self, bin_dir, root, top):
        self.top, self.work = top, os.path.join(top, "work")
        home = os.path.join(top, "home")
        os.mkdir(self.work)
        os.mkdir(home)
        self.env = run_cli.environment(os.path.abspath(bin_dir), os.path.abspath(root), home)

    def run(self, command):
        return subprocess.run(["sh", "-c", command], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def make(self, command):
        p = self.run(command)
        if p.returncode != 0:
            sys.exit("cannot prepare the test: %s: %s" % (command, p.stderr))

    def check(self, command, name, offset):
        before = run_cli.snapshot(self.top)
        p = self.run(command)
        where = "%s, cut at byte %d" % (command, offset)
        if p.returncode != 2 or p.stdout:
            return ["%s: exit code %d, stdout %r, stderr %r" % (where, p.returncode, p.stdout, p.stderr)]
        problems = []
        if not re.fullmatch(r"(?:[^\n]*\n)*rb\w+[a-z ]*: %s:\d+:\d+: [^\n]+\n" % re.escape(name), p.stderr):
            problems.append("%s: no file and line in %r" % (where, p.stderr))
        changed = run_cli.changes(before, run_cli.snapshot(self.top))
        return problems + (["%s: changed on disk: %s" % (where, changed)] if changed else [])

    def check_cuts(self, name, commands):
        whole = pathlib.Path(self.work, name).read_bytes()
        problems, n = [], 0
        for offset in offsets(len(whole)):
            pathlib.Path(self.work, "cut.json").write_bytes(whole[:offset])
            for command in commands:
                problems += self.check(command, "cut.json", offset)
                n += 1
        return problems, n


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", required=True, help="where the programs are")
    options.add_argument("--root", required=True, help="the source tree")
    args = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="rb-cut-") as top:
        world = World(args.bin, args.root, top)
        world.make("rbplan $ROOT/examples/bert/job.yaml --samples 64 -o plan.json")
        world.make("rbprofile import $ROOT/examples/bert/profile.yaml")
        world.make("rbprofile export bert --json -o profile.json")
        world.make("rbplan explain plan.json && rbprofile import profile.json")  # whole ones are taken
        problems, n = world.check_cuts("plan.json", ["rbplan explain cut.json", "rbrun cut.json --dry-run"])
        more, m = world.check_cuts("profile.json", ["rbprofile import cut.json"])
    for problem in (problems + more)[:20]:
        print(problem)
    print("%d documents cut short, %d problems" % (n + m, len(problems) + len(more)))
    sys.exit(1 if problems or more or n < 100 else 0)


if __name__ == "__main__":
    main()
