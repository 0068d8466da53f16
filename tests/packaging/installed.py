#!/usr/bin/env python3
"""Installs the build below a scratch root, and builds and runs examples/library against what was installed, and only that:
as C99 and as C++, with the shared and with the static library. Its numbers are those of the installed rbplan.
Usage: installed.py BUILD SANITIZER. Exit 77, a skip, where the build has a sanitizer: programs that know nothing of it cannot
use such a library."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

build, sanitizer = sys.argv[1:3]
if sanitizer != "none":
    print("built with -fsanitize=%s: not tried" % sanitizer)
    sys.exit(77)


def run(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit("%s: exit %d\n%s%s" % (" ".join(argv), done.returncode, done.stdout, done.stderr))
    return done.stdout


scratch = tempfile.mkdtemp(prefix="rb-installed-")
try:
    run("meson", "install", "-C", build, "--no-rebuild", "--destdir", scratch)
    pc = glob.glob(scratch + "/**/rubberband.pc", recursive=True)
    assert len(pc) == 1, pc
    prefix = scratch + re.search(r"^prefix=(.*)$", open(pc[0]).read(), re.M).group(1)
    libdir = os.path.dirname(os.path.dirname(pc[0]))
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc[0]), PKG_CONFIG_SYSROOT_DIR=scratch, LD_LIBRARY_PATH=libdir,
               PATH=prefix + "/bin:" + os.environ["PATH"], LC_ALL="C")
    env.pop("MALLOC_PERTURB_", None)
    flags = {s: run("pkg-config", *s, "--cflags", "--libs", "rubberband", env=env).split() for s in ((), ("--static",))}
    assert run("pkg-config", "--modversion", "rubberband", env=env).strip() == \
        run("rbplan", "--version", env=env).split()[1]
    for folder in ("man/man1", "rubberband/examples", "doc/rubberband", "bash-completion/completions"):
        if not os.path.isdir(os.path.join(prefix, "share", folder)):
            sys.exit("share/%s was not installed" % folder)
    example = os.path.join(prefix, "share/rubberband/examples/library")
    inputs = [os.path.join(prefix, "share/rubberband/examples", f)
              for f in ("bert/job.yaml", "bert/profile.yaml", "prices/aws-us-east-1.csv")]
    source = os.path.join(example, "estimate.c")
    static = [f for f in flags[("--static",)] if f != "-lrubberband"]
    ways = {
        "C99": ["gcc", "-std=c99", "-pedantic", source, *flags[()]],
        "C++98": ["g++", "-x", "c++", "-std=c++98", "-pedantic", "-Wno-long-long", "-Wno-variadic-macros", source,
                  "-x", "none", *flags[()]],
        "C99, static": ["gcc", "-std=c99", "-pedantic", source, os.path.join(libdir, "librubberband.a"), *static],
    }
    outputs = set()
    for name, argv in ways.items():
        program = os.path.join(scratch, "estimate")
        run(argv[0], "-Wall", "-Wextra", "-Werror", *argv[1:], "-o", program, env=env)
        needs = run("readelf", "-d", program)
        assert ("librubberband.so.0" in needs) == (name != "C99, static"), name + "\n" + needs
        outputs.add(run(program, *inputs, "deadline=2h", "budget=100", env=env))
    run("make", "-C", example, env=env)
    outputs.add(run(os.path.join(example, "estimate"), *inputs, "deadline=2h", "budget=100", env=env))
    assert len(outputs) == 1, outputs
    text = outputs.pop()
    plan = json.loads(run("rbplan", "--json", "--deadline", "2h", "--budget", "100", "--threads", "1", "--profile-file",
                          inputs[1], "--prices", inputs[2], inputs[0], env=env))
    e = plan["estimate"]
    first = "cheapest plan: %d us (p95 %d), %d micro-dollars (p95 %d), P(both) %.17g" % (
        e["time_us"]["mean"], e["time_us"]["p95"], e["cost_uusd"]["mean"], e["cost_uusd"]["p95"], e["p_both"])
    lines = text.splitlines()
    assert lines[0].rsplit(" ", 1)[0] == first.rsplit(" ", 1)[0], text + first
    assert abs(float(lines[0].rsplit(" ", 1)[1]) - e["p_both"]) < 1e-15, text + first
    stages = [line for line in lines if line.startswith("stage ")]
    assert len(stages) == len(plan["stages"]), text
    for line, s in zip(stages, plan["stages"]):
        node = s["nodes"][0]
        expected = "%d trials x %d GPUs on %d x %s (%s, %s), %d us" % (
            s["trials"], s["gpus_per_trial"], node["count"], node["instance_type"], node["infra"], node["market"],
            s["time_us"]["mean"])
        assert line.split(": ", 1)[1] == expected, line + "\n" + expected
    print("%s: the same %d lines, the numbers of rbplan --json" % (", ".join(ways), len(lines)))
finally:
    shutil.rmtree(scratch)
