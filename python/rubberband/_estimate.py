"""Time and cost of an allocation, as the library estimated them."""
from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Callable, Generic, TypeVar

from . import _native, _prototypes
from ._values import duration, money

T = TypeVar("T", timedelta, Decimal)


@dataclass(frozen=True)
class Figures(Generic[T]):
    """The mean and the quantiles of a time (timedelta) or of a cost (dollars, Decimal)."""

    mean: T
    p5: T
    p50: T
    p95: T
    p99: T


@dataclass(frozen=True)
class Nodes:
    """The nodes of a stage, and the GPUs that each trial gets. infra, instance_type and market ("on_demand", "spot") are
    those of the price list. dataclasses.replace() makes a changed one."""

    infra: str
    instance_type: str
    market: str
    count: int
    gpus_per_trial: int


@dataclass(frozen=True)
class Stage:
    """`trials` trials are trained from resource_start to resource_end on `nodes`."""

    stage: int
    trials: int
    resource_start: int
    resource_end: int
    nodes: Nodes
    time: Figures[timedelta]
    cost: Figures[Decimal]


@dataclass(frozen=True)
class Estimate:
    """Probabilities are None where they are not known: the profile has no spread."""

    time: Figures[timedelta]
    cost: Figures[Decimal]
    p_deadline: float | None
    p_budget: float | None
    p_both: float | None
    stages: tuple[Stage, ...]
    json: str = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The `estimate` of rb-plan/1."""
        document: dict[str, Any] = json.loads(self.json)
        return document


def allocation_of(stages: Iterable[Nodes]) -> _native.Handle:
    handle = _native.new("allocation")
    for nodes in stages:
        for number in (nodes.count, nodes.gpus_per_trial):
            if not 1 <= number < 2**31:
                raise ValueError(f"{nodes}: expected at least one node and one GPU for each trial")
        status = _native.library().rubberband_allocation_add(
            handle.pointer, _native.encoded(nodes.infra), _native.encoded(nodes.instance_type),
            _native.encoded(nodes.market), nodes.count, nodes.gpus_per_trial)
        if status != _prototypes.OK:
            raise ValueError(f"{nodes}: expected the market on_demand or spot, and no more stages than a job may have")
    return handle


def _figures(read: Callable[..., int], convert: Callable[[int], T], *arguments: Any) -> Figures[T]:
    kinds = (_prototypes.MEAN, _prototypes.P5, _prototypes.P50, _prototypes.P95, _prototypes.P99)
    return Figures(*(convert(read(*arguments, kind)) for kind in kinds))


def _probability(p: float) -> float | None:
    return None if math.isnan(p) else p


def _nodes(lib: Any, allocation: Any, stage: int) -> Nodes:
    return Nodes(
        _native.text(lib.rubberband_allocation_infra(allocation, stage)),
        _native.text(lib.rubberband_allocation_instance_type(allocation, stage)),
        _native.text(lib.rubberband_allocation_market(allocation, stage)),
        lib.rubberband_allocation_nodes(allocation, stage), lib.rubberband_allocation_gpus_per_trial(allocation, stage))


def read_estimate(estimate: Any, allocation: Any) -> Estimate:
    """Copies everything, so that the library's structs may be freed."""
    lib = _native.library()
    assert lib.rubberband_allocation_n_stages(allocation) == lib.rubberband_estimate_n_stages(estimate)
    stages = tuple(
        Stage(stage, lib.rubberband_estimate_stage_trials(estimate, stage),
              lib.rubberband_estimate_stage_resource_start(estimate, stage),
              lib.rubberband_estimate_stage_resource_end(estimate, stage), _nodes(lib, allocation, stage),
              _figures(lib.rubberband_estimate_stage_time_us, duration, estimate, stage),
              _figures(lib.rubberband_estimate_stage_cost_uusd, money, estimate, stage))
        for stage in range(lib.rubberband_estimate_n_stages(estimate)))
    return Estimate(
        _figures(lib.rubberband_estimate_time_us, duration, estimate),
        _figures(lib.rubberband_estimate_cost_uusd, money, estimate),
        _probability(lib.rubberband_estimate_p_deadline(estimate)), _probability(lib.rubberband_estimate_p_budget(estimate)),
        _probability(lib.rubberband_estimate_p_both(estimate)), stages, _native.text(lib.rubberband_estimate_json(estimate)))
