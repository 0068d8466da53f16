"""A plan: what it predicts, as Python, as JSON, as a table and as a picture."""
from __future__ import annotations

import base64
import html
import json
import os
import tempfile
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._errors import Error
from ._estimate import Estimate, Figures, Stage, read_estimate
from ._programs import ask
from ._values import duration_text, money, money_text

if TYPE_CHECKING:
    import pandas

HEAD = ("stage", "trials", "trained to", "GPUs/trial", "nodes", "time p50", "(p95)", "cost p50", "(p95)")


class Plan:
    """The best plan that keeps the job's constraints. Immutable, and may be shared by threads.

    bound     a proven lower bound of the mean cost over all plans; None: none is claimed
    proved    whether the search proved that no plan is cheaper, within the tolerance that to_dict() states
    warnings  what was not considered or modelled, and why
    basis     what a plan from a guess rests on, [{"what", "from", "log_sd"}]; empty: it was measured or declared
    """

    def __init__(self, estimate: Estimate, bound: Decimal | None, warnings: tuple[str, ...], text: str) -> None:
        self.estimate, self.bound, self.warnings, self._json = estimate, bound, warnings, text
        self._svg: str | None = None
        document = json.loads(text)
        self.name: str = document["job"]["name"]
        self.has_place: bool = document["job"]["path"] != ""  # of its job, beside which the work directory is looked for
        self.proved: bool = document["bound"]["proved"]
        model = document["profile"]["model"]
        self.basis: list[dict[str, Any]] = model.get("basis", [])
        self._measured = [t["transfer"]["from"] for t in model["training"] if "transfer" in t][:1]

    @property
    def cost(self) -> Figures[Decimal]:
        return self.estimate.cost

    @property
    def time(self) -> Figures[timedelta]:
        return self.estimate.time

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.estimate.stages

    @property
    def p_deadline(self) -> float | None:
        return self.estimate.p_deadline

    @property
    def p_budget(self) -> float | None:
        return self.estimate.p_budget

    @property
    def p_both(self) -> float | None:
        return self.estimate.p_both

    def to_json(self) -> str:
        """rb-plan/1 on one line."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """rb-plan/1, as `rbplan --json` prints it."""
        document: dict[str, Any] = json.loads(self._json)
        return document

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the file that rbrun carries out and `rbplan approve` approves."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self._json + "\n")

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each stage; costs are Decimal, times timedelta."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas, which is not installed: install python3-pandas (pip install "
                              "pandas), or use plan.stages, which has the same rows") from None
        return pandas.DataFrame([_row(stage) for stage in self.stages])

    def to_svg(self) -> str:
        """The plan's stages in time, drawn by `rbplan explain --gantt`."""
        if self._svg is None:
            self._svg = self._draw()
        return self._svg

    def _draw(self) -> str:
        with tempfile.TemporaryDirectory(prefix="rubberband-") as folder:
            plan, picture = os.path.join(folder, "plan.json"), os.path.join(folder, "plan.svg")
            self.save(plan)
            ask("rbplan", "explain", plan, "--gantt", picture)
            with open(picture, encoding="utf-8") as f:
                return f.read()

    def _figures(self) -> str:
        on = f"measured on {self._measured[0]}, other GPUs are guessed" if self._measured else "nothing was measured"
        p = "not known" if self.p_both is None else f"{self.p_both:.3f}"
        return (f"{money_text(self.cost.mean)} (95 % <= {money_text(self.cost.p95)}), {duration_text(self.time.mean)} "
                f"(95 % <= {duration_text(self.time.p95)}), P(on time and in budget) {p}"
                f"{f', from a guess: {on}' if self.basis else ''}")

    def __repr__(self) -> str:
        return f"<Plan {self.name}: {self._figures()}>"

    def _repr_html_(self) -> str:
        """For notebooks: the figures, the picture (an image, so no script can run in it) and the table."""
        try:
            picture = base64.b64encode(self.to_svg().encode()).decode()
            image = f'<img alt="the stages of the plan in time" src="data:image/svg+xml;base64,{picture}">'
        except (FileNotFoundError, Error) as problem:  # the library alone is installed, or a build without pictures
            image = f"<p><i>no picture: {html.escape(str(problem))}</i></p>"
        rows = "".join(_html_row("td", _cells(stage)) for stage in self.stages)
        notes = "".join(f"<li>{html.escape(warning)}</li>" for warning in self.warnings)
        return (f"<div><p><b>{html.escape(self.name)}</b>: {html.escape(self._figures())}</p>{image}"
                f"<table><thead>{_html_row('th', HEAD)}</thead><tbody>{rows}</tbody></table><ul>{notes}</ul></div>")


def _row(stage: Stage) -> dict[str, Any]:
    row: dict[str, Any] = {"stage": stage.stage, "trials": stage.trials, "resource_start": stage.resource_start,
                           "resource_end": stage.resource_end, "infra": stage.nodes.infra,
                           "instance_type": stage.nodes.instance_type, "market": stage.nodes.market,
                           "nodes": stage.nodes.count, "gpus_per_trial": stage.nodes.gpus_per_trial}
    for what, figures in (("time", stage.time), ("cost", stage.cost)):
        row.update({f"{what}_{kind}": getattr(figures, kind) for kind in ("mean", "p50", "p95")})
    return row


def _cells(stage: Stage) -> tuple[str, ...]:
    nodes = stage.nodes
    return (str(stage.stage), str(stage.trials), f"{stage.resource_start} -> {stage.resource_end}", str(nodes.gpus_per_trial),
            f"{nodes.count} x {nodes.instance_type}{' (spot)' if nodes.market == 'spot' else ''}",
            duration_text(stage.time.p50), f"({duration_text(stage.time.p95)})", money_text(stage.cost.p50),
            f"({money_text(stage.cost.p95)})")


def _html_row(tag: str, cells: tuple[str, ...]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def read_plan(plan: _native.Handle) -> Plan:
    lib = _native.library()
    bound = lib.rubberband_plan_bound_uusd(plan.pointer)
    warnings = tuple(_native.text(lib.rubberband_plan_warning(plan.pointer, i))
                     for i in range(lib.rubberband_plan_n_warnings(plan.pointer)))
    estimate = read_estimate(lib.rubberband_plan_estimate(plan.pointer), lib.rubberband_plan_allocation(plan.pointer))
    return Plan(estimate, money(bound) if bound >= 0 else None, warnings, _native.text(lib.rubberband_plan_json(plan.pointer)))
