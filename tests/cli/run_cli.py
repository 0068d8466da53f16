#!/usr/bin/env python3
"""Runs text files of command lines and compares what they print, byte by byte.

    = title               a new case: an empty directory, an empty HOME
    @ FILE                makes FILE of the `| ` lines below it
    | text
    $ command             run by sh, with the build directory first in PATH; $ROOT is the source tree
    > line                expected on stdout; without any such line stdout must be empty
    ! line                expected on stderr; likewise
    ? code                expected exit code; without it: 0

`...` inside a line stands for any text within the line, a line of its own for any number of lines. `#` begins a comment.
A command that exits with 2 (usage or bad input) must have changed nothing on disk; that is checked every time.

Usage: run_cli.py --bin BUILD_DIR --root SOURCE_ROOT FILE...
"""
import argparse
import difflib
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 60
KEPT_VARIABLES = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH", "TMPDIR")


class Command:
    def __init__(self, text, where):
        self.text, self.where = text, where
        self.out, self.err, self.code = [], [], 0


class Case:
    def __init__(self, title, where):
        self.title, self.where = title, where
        self.steps = []  # ("file", name, text) or Command


def parse(path):
    """The cases of a file; a line that means nothing is an error, so that no expectation is skipped in silence."""
    cases = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").split("\n"), 1):
        where = "%s:%d" % (os.path.basename(path), number)
        mark, rest = line[:1], line[2:]
        steps = cases[-1].steps if cases else None
        last = steps[-1] if steps else None
        if not line.strip() or mark == "#":
            continue
        if line[1:2] not in ("", " "):
            sys.exit("%s: expected a space after %r" % (where, mark))
        if mark == "=":
            cases.append(Case(rest, where))
        elif steps is None:
            sys.exit("%s: expected `= title` first" % where)
        elif mark == "@":
            steps.append(["file", rest, ""])
        elif mark == "|" and isinstance(last, list):
            last[2] += rest + "\n"
        elif mark == "$":
            steps.append(Command(rest, where))
        elif mark == ">" and isinstance(last, Command):
            last.out.append(rest)
        elif mark == "!" and isinstance(last, Command):
            last.err.append(rest)
        elif mark == "?" and isinstance(last, Command):
            last.code = int(rest)
        else:
            sys.exit("%s: cannot read %r here" % (where, line))
    return cases


def pattern(lines):
    text = ""
    for line in lines:
        if line == "...":
            text += r"(?:[^\n]*\n)*"
        else:
            text += r"[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.compile(text)


def snapshot(folder):
    """Every file below a folder: its size, its content, when it was last written."""
    seen = {}
    for parent, folders, names in os.walk(folder):
        for name in folders:
            seen[os.path.join(parent, name)] = "folder"
        for name in names:
            path = os.path.join(parent, name)
            st = os.lstat(path)
            whole = os.path.isfile(path) and st.st_size < 64 << 20  # a sparse giant is recognised by its size and time
            digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() if whole else None
            seen[path] = (st.st_size, st.st_mtime_ns, digest)
    return seen


def changes(before, after):
    return sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))


def without_waiting(text):
    """Standard error without the line of a command that has run for half a minute: that depends on the machine."""
    return re.sub(r"(?m)^(planning|simulating): [\d.]+ (s|m|m [\d.]+ s); .*\n", "", text)


def environment(bin_dir, root, home):
    env = {k: os.environ[k] for k in KEPT_VARIABLES if k in os.environ}
    env.update(PATH=bin_dir + ":/usr/bin:/bin", HOME=home, ROOT=root, LC_ALL="C.UTF-8", TERM="dumb")
    return env


def compare(what, expected, text):
    if pattern(expected).fullmatch(text):
        return []
    got = text.splitlines()
    return ["%s differs:" % what] + ["  " + l for l in difflib.unified_diff(expected, got, "expected", "got", lineterm="")]


def run(command, work, env, top):
    before = snapshot(top)
    try:
        p = subprocess.run(["sh", "-c", command.text], cwd=work, env=env, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return ["no end after %d s" % TIMEOUT_S]
    out, err = p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")
    problems = []
    if p.returncode != command.code:
        problems.append("exit code %d, expected %d" % (p.returncode, command.code))
    problems += compare("stdout", command.out, out) + compare("stderr", command.err, without_waiting(err))
    if p.returncode == 2:
        problems += ["exit code 2, but changed on disk: %s" % os.path.relpath(p, top)
                     for p in changes(before, snapshot(top))]
    return problems


def run_case(case, bin_dir, root):
    problems, n = [], 0
    with tempfile.TemporaryDirectory(prefix="rb-cli-") as top:
        work, home = os.path.join(top, "work"), os.path.join(top, "home")
        os.mkdir(work)
        os.mkdir(home)
        env = environment(bin_dir, root, home)
        for step in case.steps:
            if isinstance(step, Command):
                n += 1
                found = run(step, work, env, top)
                problems += ["%s: $ %s" % (step.where, step.text)] + ["    " + p for p in found] if found else []
                continue
            path = os.path.join(work, step[1])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(step[2])
    return problems, n


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", required=True, help="where the programs are")
    options.add_argument("--root", required=True, help="the source tree")
    options.add_argument("files", nargs="+")
    args = options.parse_args()
    n_commands = n_cases = 0
    failed = []
    for path in args.files:
        for case in parse(path):
            problems, n = run_case(case, os.path.abspath(args.bin), os.path.abspath(args.root))
            n_cases += 1
            n_commands += n
            if problems:
                failed.append(case.title)
                print("FAILED %s: %s" % (case.where, case.title))
                print("\n".join("  " + p for p in problems))
    print("%d cases, %d commands, %d cases failed" % (n_cases, n_commands, len(failed)))
    if n_commands == 0:
        sys.exit("no command was run")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
