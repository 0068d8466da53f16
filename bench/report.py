"""What the measuring commands share: running a program that prints `name value` pairs, lines that state a goal beside what
was reached, and what stands between markers in a page of bench/results. Not a command."""
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import time

BENCH = pathlib.Path(__file__).resolve().parent


def run(command, text=None):
    """The last line of its output, `name value` pairs, as numbers."""
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    words = done.stdout.split("\n")[-2].split()
    return {name: float(value) for name, value in zip(words[::2], words[1::2])}


def number(value):
    """Four significant digits, thousands kept readable."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.2g}"


def timed_rounds(most, seconds):
    """Up to `most` rounds: no more begins than are likely to end within the given seconds, but there is always one."""
    start_s = time.monotonic()
    for done in range(most):
        passed_s = time.monotonic() - start_s
        if done and passed_s * (done + 1) / done > seconds:
            print(f"  {done} of {most} rounds in {passed_s:.0f} s", flush=True)
            return
        yield done


class Report:
    """Prints lines and remembers those that have a goal, for bench/all: in `rows`, a file that always holds the lines so far,
    so that what was measured is not lost when a command is stopped."""

    def __init__(self, rows=None):
        self.rows = []
        self.path = pathlib.Path(rows) if rows else None

    def title(self, text):
        print(f"\n{text}", flush=True)

    def line(self, what, values, unit="", goal=None, at_most=False, workload="", keep=False, instead=None):
        """Median (least-most) of the values; a goal is the least wanted, or the most if at_most. `keep`s what has none.
        `instead`: what was reached in place of the goal, however near the values are."""
        median = statistics.median(values)
        reached = number(median) + (f" ({number(min(values))}-{number(max(values))})" if len(values) > 1 else "")
        met = None if goal is None else instead is None and (median <= goal if at_most else median >= goal)
        wanted = "" if goal is None else f"{'<=' if at_most else '>='} {number(goal)} {unit}".rstrip()
        ratio = None if goal is None or instead or median <= 0 else goal / median if at_most else median / goal
        missed = "" if met is not False else f"  {instead}" if instead else "  MISSED"
        print(f"  {what:<64} {reached + ' ' + unit:<36} {wanted}{missed}", flush=True)
        if goal is not None or keep:
            self.add(what=what, workload=workload, wanted=wanted, reached=f"{reached} {unit}".rstrip(), ratio=ratio,
                     met=met, instead=instead)

    def missing(self, what, why, workload, wanted):
        print(f"  {what:<64} not measured: {why}", flush=True)
        self.add(what=what, workload=workload, wanted=wanted, reached=f"not measured: {why}", ratio=None, met=None,
                 instead=None)

    def add(self, **row):
        self.rows.append(row)
        if self.path:
            self.path.write_text(json.dumps(self.rows, indent=1) + "\n")


class Baselines:
    """The programs of bench/baselines on one workload: CPU seconds that one replicate takes."""

    def __init__(self, build, numpy_python):
        self.folder = build / "bench"
        self.numpy = numpy_python
        self.has_simgrid = (self.folder / "simgrid_sampler").exists()
        self.has_numpy = subprocess.run([numpy_python, "-c", "import numpy"], capture_output=True).returncode == 0

    def describe(self, workload):
        command = [str(self.folder / "sampler_rate"), str(BENCH / "workloads" / workload), "describe"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def seconds(self, name, description, replicates):
        program = {"gsl": [self.folder / "gsl_sampler", "chains", "polar"],
                   "gsl heap": [self.folder / "gsl_sampler", "dynamic", "polar"],
                   "gsl ziggurat": [self.folder / "gsl_sampler", "chains", "ziggurat"],
                   "gsl ziggurat heap": [self.folder / "gsl_sampler", "dynamic", "ziggurat"],
                   "numpy": [self.numpy, BENCH / "baselines" / "numpy_sampler.py"],
                   "simgrid dag": [self.folder / "simgrid_sampler", "dag"],
                   "simgrid actors": [self.folder / "simgrid_sampler", "actors"]}[name]
        result = run([*program, replicates], description)
        return result["cpu_s"] / result["replicates"]


def machine():
    """Where this was measured, in one line."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    commit = subprocess.run(["git", "-C", str(BENCH), "describe", "--always", "--dirty"], capture_output=True, text=True)
    load = os.getloadavg()[0]
    return (f"{datetime.date.today()}, commit {commit.stdout.strip() or 'unknown'}, {os.cpu_count()} CPUs "
            f"({model.group(1).strip() if model else os.uname().machine}), load {load:.1f}, {compiler}")


def write_section(path, name, text):
    """Replaces what stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->`; adds the section where there is none."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = path.read_text() if path.exists() else "# Results\n"
    section = f"{begin}\n{text.strip()}\n{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    new = pattern.sub(lambda _: section, old) if pattern.search(old) else f"{old.rstrip()}\n\n{section}\n"
    path.write_text(new)
