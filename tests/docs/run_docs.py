#!/usr/bin/env python3
"""Follows pages of the documentation as a reader would, in order, and compares the output of each command with the page.

Every page starts in an empty home with a folder `rubberband` in it, a clone that has been built (examples/ is a copy, and other
folders are links). page.py explains the blocks, said.py the comparison. Ports that pages name are
replaced by free ones, in the pages and in the copied examples, so that pages run side by side.

Usage: run_docs.py --bin BUILD --root SOURCE [--slurm] [--sources] PAGE.md...
    --slurm    on a Slurm cluster that is started for the pages
    --sources  the clone has all sources, to be changed; relink.py replaces `ninja`
    --show   print what each command printed
    --write  put what is printed now into the page, where the page shows the whole output (no `...`); read the difference before you keep it
"""
import argparse
import glob
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import time

import page as pages
import said
from shell import Shell, TooLong

COMMAND_S = 120
BACKGROUND_S = 20
PORTS = ("8900", "8901", "2222", "8080")  # those that pages name
KEPT = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TMPDIR")
SKIPPED = 77


class Count:
    def __init__(self):
        self.pages = self.commands = self.outputs = self.files = self.failed = 0
        self.not_run = []


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = [str(s.getsockname()[1]) for s in sockets]
    for s in sockets:
        s.close()
    return found


def with_ports(text, ports):
    for named, free in ports.items():
        text = text.replace(named, free)
    return text


def clone(home, args, ports):
    """What a reader has after `git clone` and a build, as far as pages use it."""
    folder, build, root = os.path.join(home, "rubberband"), os.path.abspath(args.bin), os.path.abspath(args.root)
    os.mkdir(folder)
    for name in sorted(os.listdir(root)):
        if name.startswith((".git", "build")):
            continue
        own = name == "examples" or args.sources
        if own and os.path.isdir(os.path.join(root, name)):
            shutil.copytree(os.path.join(root, name), os.path.join(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        else:
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
    for path in pathlib.Path(folder, "examples").glob("*/*.yaml"):
        path.write_text(with_ports(path.read_text(encoding="utf-8"), ports), encoding="utf-8")
    os.mkdir(os.path.join(folder, "build"))
    for program in pages.PROGRAMS + ("python",):
        os.symlink(os.path.join(build, program), os.path.join(folder, "build", program))
    return folder


def sources_environment(home, args):
    """For pages that change the sources: another `ninja`."""
    if not args.sources:
        return {}
    tools = os.path.join(home, "tools")
    os.mkdir(tools)
    os.symlink(os.path.join(os.path.dirname(os.path.abspath(__file__)), "relink.py"), os.path.join(tools, "ninja"))
    path = os.environ.get("PATH", "/usr/bin:/bin")
    return {"PATH": tools + ":/usr/bin:/bin", "RB_DOCS_PATH": path, "RB_DOCS_BUILD": os.path.abspath(args.bin),
            "RB_DOCS_ROOT": os.path.abspath(args.root)}


def environment(home, more):
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env.update(HOME=home, PATH="/usr/bin:/bin:/usr/sbin", LC_ALL="C.UTF-8", TERM="dumb", LOGNAME="reader")
    return env | more


class Reader:
    """Follows one page."""

    def __init__(self, path, folder, env, count, args, ports):
        self.path, self.count, self.show, self.ports = path, count, args.show, ports
        self.rewritten = [] if args.write else None  # (command, lines)
        self.shell = Shell(folder, env)

    def fail(self, line, problems):
        self.count.failed += 1
        print("%s:%d: %s" % (self.path, line, problems[0]))
        print("".join("    %s\n" % p for p in problems[1:]), end="", flush=True)

    def save(self, file):
        self.count.files += 1
        where, _ = self.shell.run("pwd", COMMAND_S)
        path = os.path.join(where[0], file.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(with_ports(file.text, self.ports))

    def type(self, command):
        self.count.commands += 1
        began = time.monotonic()
        try:
            printed, code = self.shell.run(with_ports(command.text, self.ports), COMMAND_S)
            if command.text.rstrip().endswith("&") and command.expected:
                printed = self.shell.wait_for(lambda got: self.is_as_said(command, got), BACKGROUND_S)
        except TooLong:
            self.fail(command.line, ["$ %s" % command.text, "no end; so far it printed:", *self.shell.said])
            return False
        if self.show:
            print("%6.1f s  %s:%d: $ %s\n%s" % (time.monotonic() - began, self.path, command.line, command.text, "\n".join(printed)), flush=True)
        return self.judge(command, printed, code)

    def is_as_said(self, command, printed):
        return said.agrees(command.expected, self.as_named(printed), command.measured)

    def as_named(self, printed):
        """With the ports that the page names."""
        named = {free: name for name, free in self.ports.items()}
        return [with_ports(line, named) for line in printed]

    def judge(self, command, printed, code):
        printed = self.as_named(printed)
        problems = []
        if code != 0 and not command.code_is_shown:
            problems += ["exit code %d; the page does not show it with `echo $?`. It printed:" % code] + printed[-30:]
        self.count.outputs += 1
        if not self.is_as_said(command, printed):
            if self.rewritten is not None and not any("..." in line for line in command.expected):
                self.rewritten.append((command, said.trimmed(printed)))
                return True
            problems += said.difference(command.expected, printed, command.measured)
        if problems:
            self.fail(command.line, ["$ " + command.text] + problems)
        return not problems

    def follow(self, text):
        """Stops at the first thing that goes wrong: what follows rests on it."""
        for step in pages.steps(text):
            if isinstance(step, pages.File):
                self.save(step)
            elif isinstance(step, pages.NotRun):
                self.count.not_run.append((self.path, step))
            elif not self.type(step):
                return


def rewrite(path, rewritten):
    """From the last to the first, so that line numbers stay true."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    for command, printed in reversed(rewritten):
        first = command.line + command.text.count("\n")
        lines[first:first + len(command.expected)] = printed
    pathlib.Path(path).write_text("\n".join(lines), encoding="utf-8")


def read_page(path, args, count, more_env):
    count.pages += 1
    with tempfile.TemporaryDirectory(prefix="rb-docs-") as home:
        ports = dict(zip(PORTS, free_ports(len(PORTS))))
        folder = clone(home, args, ports)
        more_env = more_env | sources_environment(home, args)
        name = os.path.relpath(path, args.root)
        try:
            text = pathlib.Path(path).read_text(encoding="utf-8")
            reader = Reader(name, folder, environment(home, more_env), count, args, ports)
            try:
                reader.follow(text)
            finally:
                reader.shell.close()
            if reader.rewritten:
                rewrite(path, reader.rewritten)
                print("%s: %d outputs rewritten" % (name, len(reader.rewritten)))
        except pages.Mistake as mistake:
            count.failed += 1
            print("%s: %s" % (name, mistake))


def report(count):
    for name, step in count.not_run:
        print("not run: %s:%d: %d command%s: %s" % (name, step.line, step.commands, "s" if step.commands > 1 else "", step.reason))
    print("%d pages, %d files saved, %d commands run, %d outputs compared, %d blocks not run, %d failed"
          % (count.pages, count.files, count.commands, count.outputs, len(count.not_run), count.failed))


def paths_of(args):
    """Pages are named from the root of the sources, with wildcards."""
    paths = []
    for pattern in args.pages:
        found = sorted(glob.glob(os.path.join(args.root, pattern)))
        if not found:
            sys.exit("there is no page %s" % pattern)
        paths += found
    return paths


def read_with_slurm(args, count):
    """The pages that speak of a Slurm cluster, on one that is started for them."""
    sys.path.insert(0, os.path.join(os.path.abspath(args.root), "tests", "slurm"))
    import cluster as slurm  # noqa: PLC0415: only where Slurm is asked for
    slurm.skip_unless_possible()
    with tempfile.TemporaryDirectory(prefix="rb-docs-slurm-") as folder:
        shared = os.path.join(folder, "shared")
        os.mkdir(shared)
        with slurm.Cluster(folder) as site:
            for path in paths_of(args):
                read_page(path, args, count, {"RB_SLURM_URL": site.url, "SLURM_JWT": site.token(), "SLURM_CONF": site.env["SLURM_CONF"],
                                              "SHARED": shared})


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", required=True, help="where the programs are")
    options.add_argument("--root", required=True, help="the source tree")
    options.add_argument("--slurm", action="store_true", help="on a Slurm cluster, started for the pages")
    options.add_argument("--sources", action="store_true", help="pages that change the sources")
    options.add_argument("--show", action="store_true", help="print every command with its time and output")
    options.add_argument("--write", action="store_true", help="put outputs that changed into the page")
    options.add_argument("pages", nargs="+", help="from the root of the sources; wildcards are ours to expand")
    args = options.parse_args()
    count = Count()
    if args.slurm:
        read_with_slurm(args, count)
    else:
        for path in paths_of(args):
            read_page(path, args, count, {})
    report(count)
    sys.exit(1 if count.failed or count.commands + len(count.not_run) == 0 else 0)


if __name__ == "__main__":
    main()
