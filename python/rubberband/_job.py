"""The inputs of a plan: job, profile, prices; and the questions about them."""
from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, Union

from . import _native, _prototypes
from ._estimate import Estimate, Nodes, allocation_of, read_estimate
from ._native import Handle
from ._plan import Plan, read_plan
from ._values import microseconds, settings

Path = Union[str, "os.PathLike[str]"]


def version() -> str:
    """The library's, "0.1.0"."""
    return _native.text(_native.library().rubberband_version())


def load(path: Path, changes: Mapping[str, object] | None = None, *, deadline: str | timedelta | None = None,
         budget: str | int | Decimal | None = None, confidence: float | str | None = None, seed: int | None = None) -> Job:
    """A job from job.yaml (JSON where the name ends in .json). changes: {"scheduler.eta": 4}, keys as rbplan's --set takes
    them. A deadline that is an instant counts from this call on."""
    texts = settings(changes, deadline=deadline, budget=budget, confidence=confidence, seed=seed)
    return Job(_native.make("job", "rubberband_job_load", os.fsencode(path), *_array(texts)))


def parse(text: str, changes: Mapping[str, object] | None = None, *, name: str = "job.yaml",
          deadline: str | timedelta | None = None, budget: str | int | Decimal | None = None,
          confidence: float | str | None = None, seed: int | None = None) -> Job:
    """A job from its text; errors refer to it by `name`."""
    texts = settings(changes, deadline=deadline, budget=budget, confidence=confidence, seed=seed)
    return Job(_native.make("job", "rubberband_job_parse", *_bytes(name, text), *_array(texts)))


def _array(texts: list[str]) -> tuple[Any, int]:
    return (ctypes.c_char_p * len(texts))(*map(_native.encoded, texts)) if texts else None, len(texts)


def _bytes(name: str, text: str) -> tuple[bytes, bytes, int]:
    content = text.encode()
    return _native.encoded(name), content, len(content)


class Profile:
    """How training scales and how long nodes take to arrive. Immutable, and may be shared by threads."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @classmethod
    def load(cls, path: Path) -> Profile:
        """rb-profile/1, as `rbprofile export` writes it."""
        return cls(_native.make("profile", "rubberband_profile_load", os.fsencode(path)))

    @classmethod
    def parse(cls, text: str, name: str = "profile.yaml") -> Profile:
        return cls(_native.make("profile", "rubberband_profile_parse", *_bytes(name, text)))

    @classmethod
    def guess(cls, job: Job, prices: Prices) -> Profile:
        """From the job's `guess`, for the machines of `prices`: nothing in it is measured, and its spread says so."""
        inputs = (job._handle, prices._handle)
        return cls(_native.make("profile", "rubberband_profile_guess", *(i.pointer for i in inputs), borrowed=inputs))

    @property
    def name(self) -> str:
        return _native.text(_native.library().rubberband_profile_name(self._handle.pointer))

    def __repr__(self) -> str:
        return f"<Profile {self.name}>"


class Prices:
    """Price lists as CSV, one after the other: a price that is already there stays. local_slots: this machine's GPUs of the
    kind local_accelerator ("CPU": slots), for jobs whose `resources.infra` names local. Immutable, may be shared by threads.
    """

    def __init__(self, *paths: Path, local_slots: int = 0, local_accelerator: str = "CPU") -> None:
        self._handle = _native.new("prices")
        for path in paths:
            _native.call("rubberband_prices_load", self._handle.pointer, os.fsencode(path))
        if local_slots:
            self._add_local(local_slots, local_accelerator)

    @classmethod
    def parse(cls, text: str, name: str = "prices.csv") -> Prices:
        prices = cls()
        _native.call("rubberband_prices_parse", prices._handle.pointer, *_bytes(name, text))
        return prices

    def _add_local(self, slots: int, accelerator: str) -> None:
        add = _native.library().rubberband_prices_add_local
        if not 1 <= slots < 2**31 or add(self._handle.pointer, _native.encoded(accelerator), slots) != _prototypes.OK:
            raise ValueError(f"local_slots={slots}: expected 1 to 64")

    def __len__(self) -> int:
        """Machines that have a price."""
        return int(_native.library().rubberband_prices_count(self._handle.pointer))

    def __repr__(self) -> str:
        return f"<Prices of {len(self)} machines>"


class Job:
    """A tuning job with every key resolved. Immutable, and may be shared by threads."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @property
    def name(self) -> str:
        return _native.text(_native.library().rubberband_job_name(self._handle.pointer))

    def to_dict(self) -> dict[str, Any]:
        """Every key of the job file, with the value that holds."""
        document: dict[str, Any] = json.loads(_native.text(_native.library().rubberband_job_json(self._handle.pointer)))
        return document

    def plan(self, *, prices: Prices | Path | Iterable[Path], profile: Profile | Path | None = None,
             planner: str | None = None, samples: int | None = None, threads: int = 1,
             time_limit: timedelta | None = None, node_limit: int | None = None) -> Plan:
        """The cheapest plan that keeps deadline and budget with the job's confidence; Infeasible where there is none.

        Without a profile the job's `guess` is used. The same inputs and seed give the same plan, whatever the number of
        threads, unless a time limit cut the search. Other Python threads go on meanwhile; an interrupt (Ctrl-C) is noticed
        when it returns."""
        request = self._request(profile, prices, planner, samples, threads, time_limit, node_limit)
        return read_plan(_native.make("plan", "rubberband_find_plan", request.pointer))

    def estimate(self, stages: Iterable[Nodes], *, prices: Prices | Path | Iterable[Path],
                 profile: Profile | Path | None = None, samples: int | None = None, threads: int = 1) -> Estimate:
        """Time and cost on nodes of your own choice, one Nodes for each stage (rung) of the job. Deadline and budget do not
        make it infeasible; the estimate has their probabilities."""
        request = self._request(profile, prices, None, samples, threads, None, None)
        allocation = allocation_of(stages)
        estimate = _native.make("estimate", "rubberband_estimate_plan", request.pointer, allocation.pointer)
        return read_estimate(estimate.pointer, allocation.pointer)

    def _request(self, profile: Profile | Path | None, prices: Prices | Path | Iterable[Path], planner: str | None,
                 samples: int | None, threads: int, time_limit: timedelta | None, node_limit: int | None) -> Handle:
        if not isinstance(prices, Prices):
            prices = Prices(prices) if isinstance(prices, (str, os.PathLike)) else Prices(*prices)
        if profile is None:
            profile = Profile.guess(self, prices)
        elif not isinstance(profile, Profile):
            profile = Profile.load(profile)
        request = _native.new("request", self._handle, profile._handle, prices._handle)
        _set(request, "samples", samples, 32, 1_000_000)
        _set(request, "threads", threads, 1, 256)
        _set(request, "node_limit", node_limit, 1, 10**12)
        _set(request, "time_limit_us", None if time_limit is None else microseconds(time_limit), 1, 2**62)
        lib = _native.library()
        if lib.rubberband_request_set_planner(request.pointer, planner and _native.encoded(planner)) != _prototypes.OK:
            raise ValueError(f"planner={planner!r}: expected optimal, mean, greedy, static or naive")
        return request

    def __repr__(self) -> str:
        return f"<Job {self.name}>"


def _set(request: Handle, name: str, value: int | None, least: int, most: int) -> None:
    if value is None:
        return
    setter = getattr(_native.library(), f"rubberband_request_set_{name}")
    if not least <= value <= most or setter(request.pointer, value) != _prototypes.OK:
        raise ValueError(f"{name}={value}: expected {least} to {most}")
