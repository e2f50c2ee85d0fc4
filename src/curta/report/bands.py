"""Figures of several runs: the median over members as a line, their range as a band.

Every entry has a panel of its own that bears its name, with the other entries' medians
in grey behind: bands that lie on each other could not be told apart, nor could more
colours than a few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from curta.evaluation.results import SliceSummary, UnevaluatedSize
from curta.report.compared import Compared, Curve, asked, by_digits, by_step
from curta.report.figures import (
    ALERT,
    MEDIAN,
    MEMBER,
    MUTED,
    WIDTH,
    Measured,
    curves,
    legend,
    length_axis,
    percent_axis,
    shade,
    style,
)
from curta.runs.results import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 24
"""Most entries that are drawn one by one."""


def learning(compared: Compared) -> Figure:
    """Loss and exact match on training problems by step, a row of panels for each entry."""
    loss, exact_match = _learning(compared, "loss"), _learning(compared, "exact_match")
    with style():
        figure, panels = _grid(2 * len(loss), sharey="col")
        for row, name in enumerate(loss):
            left, right = panels[2 * row : 2 * row + 2]
            _bands(left, name, loss, compared.several)
            _bands(right, name, exact_match, compared.several)
            _title(left, name)
        for panel, title in zip(panels, ("loss", "exact match"), strict=False):
            panel.set_title(title, loc="right", color=MUTED)
        panels[0].set_yscale("log", nonpositive="clip")
        percent_axis(panels[1])
        panels[0].set_xlim(left=0)
        for panel in panels[-2:]:
            panel.set(xlabel="training step")
        legend(figure, panels[0], columns=3)
    return figure


def lengths(compared: Compared, operator: str) -> Figure:
    """Exact match in the hardest slice by operand length, a panel for each entry."""
    rows = [row for row in compared.rows if _asked(row, operator)]
    found = {row.name: by_digits(row, operator) for row in rows}
    spans = {row.name: compared.lengths(row, operator) for row in rows}
    with style():
        figure, panels = _grid(len(rows), sharey="all")
        for panel, row in zip(panels, rows, strict=False):
            _bands(panel, row.name, found, compared.several, marker="o")
            _mark_unplaced(panel, row, operator)
            shade(panel, spans[row.name])
            _title(panel, row.name)
        percent_axis(panels[0])
        digits = {one.digits for row in rows for one in _asked(row, operator)}
        _share_lengths(panels[: len(rows)], digits, {span[1] for span in spans.values() if span})
        for panel in panels[len(rows) :]:
            panel.remove()
        figure.supxlabel("digits of the longest operand", fontsize="medium")
        legend(figure, *panels[: len(rows)], columns=3)
    return figure


def _asked(row: ComparisonRow, operator: str) -> list[SliceSummary | UnevaluatedSize]:
    return [one for one in asked(row) if one.operator == operator]


def _learning(compared: Compared, key: Measured) -> dict[str, Curve]:
    return {name: by_step(curves(run.metrics, key)) for name, run in compared.runs.items()}


def _bands(
    axes: Axes, name: str, found: Mapping[str, Curve], several: bool, marker: str = ""
) -> None:
    """One entry as a band and a line, all others as grey lines behind it.

    Where no entry has `several` members, there are no bands and no medians.
    """
    others = "median of the others" if several else "the others"
    for other, curve in found.items():
        if other != name:
            middle = [ends.median for ends in curve.values()]
            axes.plot(list(curve), middle, color=MUTED, linewidth=0.7, alpha=0.6, label=others)
    if several:
        _band(axes, found[name])
    middle = [end.median for end in found[name].values()]
    axes.plot(
        list(found[name]), middle, marker=marker, color=MEDIAN, linewidth=1.8, markersize=4,
        label="median" if several else "this entry",
    )  # fmt: skip


def _band(axes: Axes, curve: Curve) -> None:
    ends = list(curve.values())
    low, high = [end.least for end in ends], [end.most for end in ends]
    axes.fill_between(
        list(curve), low, high, color=MEMBER, alpha=0.4, linewidth=0, label="least to greatest"
    )


def _mark_unplaced(axes: Axes, row: ComparisonRow, operator: str) -> None:
    """Crosses at the lengths that the entry's models have no positions for."""
    digits = sorted({one.digits for one in row.unplaced if one.operator == operator})
    if digits:
        axes.plot(
            digits, [0] * len(digits), "x", color=ALERT, markeredgewidth=1.8, clip_on=False,
            label="no positions",
        )  # fmt: skip


def _share_lengths(panels: Sequence[Axes], digits: set[int], trained: set[int]) -> None:
    """One log axis of lengths for all panels, with ticks below the lowest ones.

    It begins at what is measured: the shorter lengths of training would take half of it.
    """
    every = digits | trained
    for panel in panels:
        length_axis(panel, digits, trained, WIDTH / 2 - 0.7)
        panel.set(xlabel="", xlim=(min(every) / 1.4, max(every) * 1.15))
    for panel in panels[-2:]:
        panel.tick_params(labelbottom=True)


def _title(axes: Axes, name: str) -> None:
    axes.set_title(name, fontweight="bold", parse_math=False)


def _grid(count: int, sharey: Literal["all", "col"]) -> tuple[Figure, list[Axes]]:
    """An empty figure with panels in two columns that share their x axis."""
    from matplotlib.figure import Figure

    rows = math.ceil(count / 2)
    figure = Figure(figsize=(WIDTH, 1.1 + 1.3 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, sharex=True, sharey=sharey, squeeze=False)
    return figure, list(axes.flat)
