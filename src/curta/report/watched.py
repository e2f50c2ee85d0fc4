"""Exact match over training, in and out of distribution: what a run was asked as it learned."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from curta.config.table import sized
from curta.evaluation.results import HELD_OUT, TRAINED, operator_and_curve
from curta.report.figures import (
    ALERT,
    END,
    MARKED,
    MEDIAN,
    MEMBER,
    Curve,
    column,
    legend,
    medians,
    percent_axis,
    style,
)
from curta.runs.folders import Folder
from curta.runs.info import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KNOWN = {TRAINED: MEDIAN, HELD_OUT: END}
"""Colours of the two curves whose distance is what was learned by heart."""

FURTHER = (ALERT, "#cc79a7", "#e69f00", MEMBER)
"""Colours of sizes, in order, and again from the first one on."""

GENERALISED = 0.99
"""Exact match from which on problems count as learned."""

Members = dict[int, Curve]
"""The curve of every member."""


def watched_curves(
    metrics: Iterable[Metric], stopped: Mapping[int, int], log: bool = False
) -> Figure | None:
    """A panel for each operator: every member thin, the median thick; None if none was watched.

    A stopped member's curve ends. With `log` the axis of steps is logarithmic.
    """
    alive = (line for line in metrics if line.step < stopped.get(line.member, math.inf))
    found = curves([line for line in alive if line.evaluated])
    if not found:
        return None
    with style():
        figure, panels = column(len(found), height=1.2 + 1.9 * len(found))
        for panel, (operator, own) in zip(panels, found.items(), strict=True):
            _draw(panel, own)
            panel.set_title(operator, parse_math=False)
        panels[-1].set(xlabel="training step")
        panels[-1].set(**({"xscale": "log"} if log else {"xlim": (0, None)}))
        legend(figure, *panels)
    return figure


def curves(lines: Sequence[Metric]) -> dict[str, dict[str, Members]]:
    """By operator, and by what was asked: `trained`, `held out`, `20 digits`."""
    found: dict[str, dict[str, Members]] = {}
    for line in lines:
        for name, value in line.evaluated.items():
            operator, what = operator_and_curve(name)
            told = what if what in KNOWN else sized(what)
            members = found.setdefault(operator, {}).setdefault(told, {})
            members.setdefault(line.member, {})[line.step] = value
    return found


def generalisation(folder: Folder) -> list[str]:
    """Say for each operator and seed from which step on it is right in training, and held out.

    That is the first step at which exact match is at least GENERALISED: of what is watched
    (`training.evaluate_every`), else of validations, where their problems are held out. Empty where
    neither was recorded.
    """
    metrics, seeds = folder.read_metrics(), folder.read_info().seeds
    try:
        tasks = tomllib.loads(folder.read_recipe_text()).get("task", {})
    except tomllib.TOMLDecodeError:  # a report is written of a damaged recipe too
        tasks = {}
    tasks = tasks if isinstance(tasks, list) else [tasks]
    watched = {
        f"{operator}: ": [by_kind[TRAINED], by_kind[HELD_OUT]]
        for operator, by_kind in curves(metrics).items()
        if HELD_OUT in by_kind
    }
    if not watched and all(task.get("held_out") or task.get("rows") for task in tasks):
        sides: list[Members] = [{}, {}]
        for line in metrics:
            if line.validation_exact_match is not None and line.exact_match is not None:
                sides[0].setdefault(line.member, {})[line.step] = line.exact_match
                sides[1].setdefault(line.member, {})[line.step] = line.validation_exact_match
        watched = {"": sides} if sides[1] else {}

    def since(curve: Curve) -> str:
        step = min((step for step, share in curve.items() if share >= GENERALISED), default=None)
        if step is None:
            return f"not within {max(curve):,} steps"
        return f"from step {step:,}"

    several, goal = len(watched) > 1, f"{GENERALISED:.0%} exact match"
    return [
        f"{operator if several else ''}seed {seed}: training at {goal}"
        f" {since(trained[member])}, held out {since(held_out[member])}"
        for operator, (trained, held_out) in watched.items()
        for member, seed in enumerate(seeds)
        if member in trained and member in held_out
    ]


def _draw(axes: Axes, found: Mapping[str, Members]) -> None:
    further = cycle(FURTHER)
    for name, members in found.items():
        colour, middle = KNOWN.get(name) or next(further), medians(members)
        for curve in members.values() if len(members) > 1 else ():
            axes.plot(list(curve), list(curve.values()), color=colour, linewidth=0.7, alpha=0.5)
        axes.plot(
            list(middle), list(middle.values()), "--" if name == HELD_OUT else "-", color=colour,
            marker="o" if len(middle) <= MARKED else "", markersize=3, linewidth=1.8, label=name,
        )  # fmt: skip
    percent_axis(axes)
