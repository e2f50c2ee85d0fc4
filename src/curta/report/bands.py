"""Figures of several runs: the median over members as a line, their range as a band.

Every entry has a panel of its own that bears its name, with the other entries' medians
in grey behind: bands that lie on each other could not be told apart, nor could more
colours than a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .compared import Compared, Curve, Range, Row, by_digits, by_step, range_of
from .figures import (
    ALERT,
    INK,
    MEDIAN,
    MEMBER,
    MUTED,
    WIDTH,
    curves,
    legend,
    length_axis,
    percent_axis,
    shade,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 24
"""Most entries that are drawn one by one."""


def learning(compared: Compared) -> Figure:
    """Loss and exact match on training problems by step, a row of panels for each entry."""
    loss, exact = (_learning(compared, key) for key in ("loss", "exact"))
    with style():
        figure, panels = _grid(2 * len(loss), sharey="col")
        for row, name in enumerate(loss):
            left, right = panels[2 * row : 2 * row + 2]
            _bands(left, name, loss)
            _bands(right, name, exact)
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
    """Exact match in the hardest category by operand length, a panel for each entry."""
    rows = [row for row in compared.rows if _asked(row, operator)]
    found = {row["name"]: by_digits(row, operator) for row in rows}
    spans = {row["name"]: compared.lengths(row, operator) for row in rows}
    with style():
        figure, panels = _grid(len(rows), sharey="all")
        for panel, row in zip(panels, rows, strict=False):
            _bands(panel, row["name"], found, marker="o")
            _mark_unplaced(panel, row, operator)
            shade(panel, spans[row["name"]])
            _title(panel, row["name"])
        percent_axis(panels[0])
        ends = [end for span in spans.values() if span for end in span]
        digits = [exam["digits"] for row in rows for exam in _asked(row, operator)]
        for panel in panels:
            length_axis(panel, sorted({*ends, *digits}))
            panel.set(xlabel="")
        for panel in panels[len(rows) - 2 : len(rows)]:
            panel.set(xlabel="digits of the longest operand")
        for panel in panels[len(rows) :]:
            panel.remove()
        legend(figure, panels[0], columns=2)
    return figure


def against(compared: Compared, label: str, value: Callable[[Row], Any]) -> Figure:
    """Loss at the end and exact match, in and beyond the range of training, by some value."""
    rows = [row for row in compared.rows if row["status"] == "finished"]
    measured = {title: by for title, of in _measures(compared) if (by := _by(rows, value, of))}
    with style():
        figure, panels = _column(len(measured))
        axis = _Axis(value(row) for row in rows)
        for panel, (title, by) in zip(panels, measured.items(), strict=True):
            for at, values in by.items():
                _points(panel, axis.place(at), values)
            middle = {axis.place(at): range_of(by[at]) for at in axis.values if at in by}
            _line(panel, dict(sorted(middle.items())))
            panel.set_title(title)
            panel.set_yscale("log") if "loss" in title else percent_axis(panel)
        axis.set(panels[-1], label)
        legend(figure, panels[0], columns=2)
    return figure


class _Axis:
    """Where values stand: numbers by their size, anything else side by side.

    Numbers above 0 that differ fourfold or more stand on a logarithmic axis.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        keys = {_key(value): value for value in values}
        self.numeric = all(isinstance(v, int | float) for v in keys.values())
        self.values = sorted(keys, key=keys.get) if self.numeric else list(keys)  # type: ignore[arg-type]
        self.places = [keys[key] if self.numeric else i for i, key in enumerate(self.values)]
        self.log = (
            self.numeric and min(self.places) > 0 and max(self.places) >= 4 * min(self.places)
        )

    def place(self, key: str) -> float:
        return float(self.places[self.values.index(key)])

    def set(self, axes: Axes, label: str) -> None:
        if self.log:
            axes.set_xscale("log")
        chosen = [i for i, place in enumerate(self.places) if self._apart(i)]
        axes.set_xticks([self.places[i] for i in chosen], [self.values[i] for i in chosen])
        axes.set_xticks([], minor=True)
        axes.margins(x=0.08)
        axes.set_xlabel(label, parse_math=False)

    def _apart(self, index: int) -> bool:
        """Whether a value's label has room beside that of the value before it."""
        if index == 0 or not self.numeric:
            return True
        scale = math.log if self.log else float
        ends = scale(self.places[-1]) - scale(self.places[0])
        return scale(self.places[index]) - scale(self.places[index - 1]) > 0.06 * ends


def _key(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _measures(compared: Compared) -> list[tuple[str, Callable[[Row], Sequence[float]]]]:
    return [
        ("loss at the end of training", lambda row: _ends(row)),
        ("exact match, operands as long as in training", lambda row: compared.mean(row, False)),
        ("exact match, longer operands", lambda row: compared.mean(row, True)),
    ]


def _ends(row: Row) -> list[float]:
    return [value for value in row["loss"]["members"] if value] if "loss" in row else []


def _by(
    rows: Sequence[Row], value: Callable[[Row], Any], measure: Callable[[Row], Sequence[float]]
) -> dict[str, list[float]]:
    """The measure of every member of the rows that have the same value."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if values := measure(row):
            found.setdefault(_key(value(row)), []).extend(values)
    return found


def _asked(row: Row, operator: str) -> list[Any]:
    return [exam for exam in (*row["exams"], *row["unplaced"]) if exam["operator"] == operator]


def _learning(compared: Compared, key: Any) -> dict[str, Curve]:
    return {name: by_step(curves(run.metrics, key)) for name, run in compared.runs.items()}


def _bands(axes: Axes, name: str, found: Mapping[str, Curve], marker: str = "") -> None:
    """One entry as a band and a line, all others as grey lines behind it."""
    for other, curve in found.items():
        if other != name:
            middle = [ends.median for ends in curve.values()]
            axes.plot(list(curve), middle, color=MUTED, linewidth=0.7, alpha=0.45, label="others")
    _line(axes, found[name], marker)


def _line(axes: Axes, curve: Mapping[Any, Range], marker: str = "") -> None:
    places, ends = list(curve), list(curve.values())
    low, high = [end.least for end in ends], [end.most for end in ends]
    axes.fill_between(
        places, low, high, color=MEMBER, alpha=0.4, linewidth=0, label="least to greatest"
    )
    middle = [end.median for end in ends]
    axes.plot(
        places, middle, marker=marker, color=MEDIAN, linewidth=1.8, markersize=4, label="median"
    )


def _points(axes: Axes, place: float, values: Sequence[float]) -> None:
    axes.plot(
        [place] * len(values),
        values,
        "o",
        color=MEMBER,
        markersize=4,
        alpha=0.8,
        label="each member",
    )


def _mark_unplaced(axes: Axes, row: Row, operator: str) -> None:
    """Crosses at the lengths that the entry's models have no positions for."""
    digits = sorted({e["digits"] for e in row["unplaced"] if e["operator"] == operator})
    if digits:
        axes.plot(digits, [0] * len(digits), "x", color=ALERT, markeredgewidth=1.8, clip_on=False)
        axes.annotate(
            "no positions", (digits[-1], 0), (0, 7), textcoords="offset points",
            ha="right", color=INK, fontsize=8,
        )  # fmt: skip


def _title(axes: Axes, name: str) -> None:
    axes.set_title(name, fontweight="bold", parse_math=False)


def _grid(count: int, sharey: Literal["all", "col"]) -> tuple[Figure, list[Axes]]:
    """An empty figure with panels in two columns that share their x axis."""
    from matplotlib.figure import Figure

    rows = math.ceil(count / 2)
    figure = Figure(figsize=(WIDTH, 1.1 + 1.3 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, sharex=True, sharey=sharey, squeeze=False)
    return figure, list(axes.flat)


def _column(count: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 0.9 + 1.6 * count), layout="constrained")
    return figure, list(figure.subplots(count, sharex=True, squeeze=False)[:, 0])
