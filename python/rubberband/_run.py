"""Runs: begun, watched and stopped through `rbrun --json`. A run is a process of its own, which goes on when Python ends."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import weakref
from datetime import timedelta
from decimal import Decimal
from typing import IO, Union

from . import _native
from ._errors import Error
from ._plan import Plan
from ._programs import Record, ask_record, failure
from ._values import setting

Path = Union[str, "os.PathLike[str]"]
BEGUN = re.compile(r"^run (\S+)$", re.M)  # on stderr
LOOK_EVERY_S = 0.02                       # until the run has an id


class Run:
    """A run, by its id. One that was begun elsewhere is Run("digits-2026..."); the id may be cut short, as for rbrun."""

    def __init__(self, run_id: str, *, state_dir: Path | None = None, process: _Process | None = None) -> None:
        self.id = run_id
        self._state = [] if state_dir is None else [f"--state-dir={os.fspath(state_dir)}"]
        self._process = process

    def status(self) -> Record:
        """rb-status/1: state, stage, trials, nodes, spent, and how the run will probably end."""
        return self._ask("status")

    def report(self) -> Record:
        """rb-report/1: what the run did and cost so far, compared with its prediction."""
        return self._ask("report")

    def stop(self) -> Record:
        """Ends trials and instances, proves that none is left, and returns the report. The run can be resumed later."""
        return self._ask("stop")

    def wait(self, timeout: float | None = None) -> Record:
        """Waits until the run is over or was stopped, and returns its report. Raises Error, with the report in `.report`, if it
        ended badly, and subprocess.TimeoutExpired after `timeout` seconds. An interrupt (Ctrl-C) ends the waiting, not the run.
        """
        if self._process is None:
            self.status()  # raises where there is no such run
            subprocess.run([_native.program("rbrun"), "status", "--watch", "--json", *self._state, self.id],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=timeout, check=True)
            return self.report()
        report, problem = self._process.outcome(timeout)
        if problem is not None:
            problem.report = report
            raise problem
        return report or self.report()

    def _ask(self, verb: str) -> Record:
        return ask_record("rbrun", verb, "--json", *self._state, self.id)

    def __repr__(self) -> str:
        return f"<Run {self.id}>"


class _Process:
    """An rbrun that carries a run out. Its output goes to files without names: no pipe breaks when Python ends."""

    def __init__(self, words: list[str]) -> None:
        self._out, self._log = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        for file in (self._out, self._log):
            weakref.finalize(self, file.close)
        self._child = subprocess.Popen([_native.program("rbrun"), *words, "--json"], stdin=subprocess.DEVNULL,
                                       stdout=self._out, stderr=self._log, start_new_session=True)

    def run_id(self) -> str:
        """Waits until the run has begun."""
        try:
            while True:
                over = self._child.poll() is not None
                begun = BEGUN.search(_text(self._log))
                if begun:
                    return begun.group(1)
                if over:
                    raise failure("rbrun", self._child.returncode, _text(self._out), _text(self._log))
                time.sleep(LOOK_EVERY_S)
        except KeyboardInterrupt:
            self._child.send_signal(signal.SIGINT)  # it may have launched something by now
            raise

    def outcome(self, timeout: float | None) -> tuple[Record | None, Error | None]:
        """Waits for its end, where it prints its report, and what went wrong behind that."""
        code = self._child.wait(timeout)
        out = _text(self._out)
        last = [json.loads(line) for line in out.splitlines()[-2:]]
        report = next((Record(d) for d in last if d.get("format") == "rb-report/1"), None)
        wrong = report is None or last[-1].get("format") == "rb-error/1"
        return report, failure("rbrun", code, out, _text(self._log)) if wrong else None


def _text(file: IO[bytes]) -> str:
    """All of it; the position is shared with the child, which appends."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode("utf-8", "replace")


def _options(**named: object) -> list[str]:
    return [f"--{name.replace('_', '-')}={setting(value)}" for name, value in named.items() if value is not None]


def _begin(words: list[str], state_dir: Path | None) -> Run:
    process = _Process(words + _options(state_dir=None if state_dir is None else os.fspath(state_dir)))
    return Run(process.run_id(), state_dir=state_dir, process=process)


def run(plan: Plan | Path, *, approval: Path | None = None, yes: bool = False,
        deadline: str | timedelta | None = None, budget: str | Decimal | int | None = None,
        max_cost: str | Decimal | int | None = None, state_dir: Path | None = None) -> Run:
    """Carries a plan out, and returns once the run has an id.

    Machines are rented only with a person's `approval` (a file that `rbplan approve` wrote), or with yes=True. Plans for this
    machine and for mock clouds need neither."""
    if isinstance(plan, Plan) and not plan.has_place:
        raise ValueError("the job of this plan was parsed from text, so its work directory is not known: save the plan in it "
                         "with plan.save(\"DIR/plan.json\"), and run that file")
    options = _options(approval=None if approval is None else os.fspath(approval), deadline=deadline, budget=budget,
                       max_cost=max_cost) + (["--yes"] if yes else [])
    if not isinstance(plan, Plan):
        return _begin([os.fspath(plan), *options], state_dir)
    with tempfile.TemporaryDirectory(prefix="rubberband-") as folder:  # rbrun copies the plan before the run has an id
        path = os.path.join(folder, "plan.json")
        plan.save(path)
        return _begin([path, *options], state_dir)


def resume(run_id: str, *, deadline: str | timedelta | None = None, budget: str | Decimal | int | None = None,
           state_dir: Path | None = None) -> Run:
    """Resumes a run that was interrupted, stopped or killed. "+1h" and "+10" raise its limits."""
    return _begin(["resume", run_id, *_options(deadline=deadline, budget=budget)], state_dir)
