"""Exact match over training, in- and out-of-distribution, and when a run generalised."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from curta.config.table import sized
from curta.evaluation.results import HELD_OUT, TRAINED, operator_and_curve
from curta.report import figures
from curta.report.run_folder import RunData
from curta.runs.info import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GENERALISED = 0.99
"""Exact match from which problems count as learned."""

Members = dict[int, figures.Curve]
"""The curve of every member."""


def watched_curves(
    metrics: Iterable[Metric], stopped: Mapping[int, int], log: bool = False
) -> Figure | None:
    """Draw a panel per operator: members thin, the median thick; None without data.

    A stopped member's curve ends. With `log` the axis of steps is logarithmic. Sizes take their
    colours in order, starting again after the last colour.
    """
    alive = (line for line in metrics if line.step < stopped.get(line.member, math.inf))
    by_operator = by_measure([line for line in alive if line.evaluated])
    if not by_operator:
        return None
    with figures.style():
        figure, panels = figures.column(len(by_operator), height=1.2 + 1.9 * len(by_operator))
        for axes, (operator, measures) in zip(panels, by_operator.items(), strict=True):
            further = cycle((figures.ALERT, figures.PURPLE, figures.ORANGE, figures.MEMBER))
            for name, members in measures.items():
                colour = {TRAINED: figures.MEDIAN, HELD_OUT: figures.END}.get(name) or next(further)
                for curve in members.values() if len(members) > 1 else ():
                    axes.plot(*figures.xy(curve), color=colour, linewidth=0.7, alpha=0.5)
                middle, line = figures.medians(members), "--" if name == HELD_OUT else "-"
                axes.plot(
                    *figures.xy(middle), line, color=colour, markersize=3, linewidth=1.8,
                    marker="o" if len(middle) <= figures.MARKED else "", label=name,
                )  # fmt: skip
            figures.percent_axis(axes)
            axes.set_title(operator, parse_math=False)
        panels[-1].set(xlabel="training step")
        panels[-1].set(**({"xscale": "log"} if log else {"xlim": (0, None)}))
        figures.legend(figure, *panels)
    return figure


def by_measure(lines: Sequence[Metric]) -> dict[str, dict[str, Members]]:
    """Return the curves by operator and by kind of problem: `trained`, `held out`, `20 digits`."""
    by_operator: dict[str, dict[str, Members]] = {}
    for line in lines:
        for name, value in line.evaluated.items():
            operator, kind = operator_and_curve(name)
            kind = kind if kind in (TRAINED, HELD_OUT) else sized(kind)
            members = by_operator.setdefault(operator, {}).setdefault(kind, {})
            members.setdefault(line.member, {})[line.step] = value
    return by_operator


def generalisation(run: RunData) -> list[str]:
    """Return for each operator and seed the step from which it is right in training, and held out.

    That is the first step with at least `GENERALISED` exact match on the watched problems
    (`training.evaluate_every`), or on validation problems if these are held out. Empty if neither
    was recorded.
    """
    sides_of = {
        f"{operator}: ": [by_kind[TRAINED], by_kind[HELD_OUT]]
        for operator, by_kind in by_measure(run.metrics).items()
        if HELD_OUT in by_kind
    }
    if (
        not sides_of
        and run.tasks
        and all(task.get("held_out") or task.get("rows") for task in run.tasks)
    ):
        sides: list[Members] = [{}, {}]
        for line in run.metrics:
            if line.validation_exact_match is not None and line.exact_match is not None:
                sides[0].setdefault(line.member, {})[line.step] = line.exact_match
                sides[1].setdefault(line.member, {})[line.step] = line.validation_exact_match
        sides_of = {"": sides} if sides[1] else {}

    def since(curve: figures.Curve) -> str:
        step = min((step for step, share in curve.items() if share >= GENERALISED), default=None)
        if step is None:
            return f"not within {max(curve):,} steps"
        return f"from step {step:,}"

    several, goal = len(sides_of) > 1, f"{GENERALISED:.0%} exact match"
    return [
        f"{operator if several else ''}seed {seed}: training at {goal}"
        f" {since(trained[member])}, held out {since(held_out[member])}"
        for operator, (trained, held_out) in sides_of.items()
        for member, seed in enumerate(run.info.seeds)
        if member in trained and member in held_out
    ]
