"""Figures of a sweep: what was found against a value, or against the models' size.

Runs that differ in another swept value as well, or in the entry that is swept, are told apart
by colour and mark, as long as there are colours; beyond that a place holds all runs with its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from curta.report.compared import Compared
from curta.report.figures import ALERT, MEDIAN, column, legend, percent_axis, style
from curta.report.summary import Range, range_of
from curta.runs.results import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours of Okabe and Ito that are seen on white and on black.
SERIES = (
    (MEDIAN, "o"),
    (ALERT, "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
    ("#e69f00", "v"),
)
"""Colour and mark of each series of runs."""

Measure = Callable[[ComparisonRow], Sequence[float]]
"""A value for every member of a row; none if it was not measured."""


class Series(NamedTuple):
    """Runs that are connected, and what they are called."""

    name: str
    colour: str
    mark: str
    rows: list[ComparisonRow]


def draw(compared: Compared) -> dict[str, Figure]:
    """The figures by the names of their files.

    Where a single value changes the models' size, a figure against the size would show its curves
    once more.
    """
    paths = compared.results.swept
    found = {f"by-{path}": by_value(compared, path) for path in paths}
    if sum(not _weightless(compared, path) for path in paths) < 2:
        return found
    return {"by-parameters": by_size(compared)} | found


def by_size(compared: Compared) -> Figure:
    """Against the number of parameters; what does not change it tells series apart."""
    apart = [path for path in compared.results.swept if _weightless(compared, path)]
    return _against(compared, "parameters of the model", lambda row: row.parameters, apart)


def by_value(compared: Compared, path: str) -> Figure:
    """Against one swept value; all others tell series apart."""
    apart = [other for other in compared.results.swept if other != path]
    return _against(compared, path, lambda row: row.changes[path], apart)


def _against(
    compared: Compared, label: str, value: Callable[[ComparisonRow], Any], apart: Sequence[str]
) -> Figure:
    """Loss at the end and exact match, in and beyond the range of training, by some value."""
    rows = [row for row in compared.rows if row.lengths]
    measured = [(title, of) for title, of in _measures(compared) if any(map(of, rows))]
    series, axis = _series(rows, apart), Axis(map(value, rows))
    alone = len(series) == 1 and not compared.several
    with style():
        figure, panels = column(len(measured), height=1.1 + 1.5 * len(measured))
        for panel, (title, measure) in zip(panels, measured, strict=True):
            for number, one in enumerate(series):
                dodge = 0.0 if axis.numeric else 0.1 * (number - (len(series) - 1) / 2)
                _draw(panel, axis, one, value, measure, dodge)
            panel.set_title(title)
            panel.set_yscale("log") if title == _LOSS else percent_axis(panel)
        axis.set(panels[-1], label)
        if not alone:
            legend(figure, panels[0], columns=2)
    return figure


class Axis:
    """Where values stand: numbers by their size, anything else side by side.

    Numbers above 0 that differ fourfold or more stand on a logarithmic axis.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        named = {key(value): value for value in values}
        self.numeric = all(_is_number(value) for value in named.values())
        ordered = sorted(named, key=lambda name: named[name]) if self.numeric else list(named)
        self.places = {name: named[name] if self.numeric else i for i, name in enumerate(ordered)}
        low, high = min(self.places.values()), max(self.places.values())
        self.log = self.numeric and low > 0 and high >= 4 * low

    def place(self, value: Any) -> float:
        return float(self.places[key(value)])

    def set(self, axes: Axes, label: str) -> None:
        """Ticks at the values that were swept, as far as there is room to name them."""
        if self.log:
            axes.set_xscale("log")
        named = {name: place for name, place in self.places.items() if name in self._spaced()}
        axes.set_xticks(list(named.values()), list(named), parse_math=False)
        axes.set_xticks([], minor=True)
        axes.margins(x=0.1 if self.numeric else 0.3)
        axes.set_xlabel(label, parse_math=False)

    def _spaced(self) -> list[str]:
        if not self.numeric:
            return list(self.places)
        scale = math.log if self.log else float
        at = {name: scale(place) for name, place in self.places.items()}
        apart = 0.11 * (max(at.values()) - min(at.values()))
        chosen: list[str] = []
        for name in at:
            if not chosen or at[name] - at[chosen[-1]] >= apart:
                chosen.append(name)
        return chosen


def key(value: Any) -> str:
    """A value as it is named on an axis."""
    if not _is_number(value):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_LOSS = "loss at the end of training"


def _measures(compared: Compared) -> list[tuple[str, Measure]]:
    return [
        (_LOSS, _losses),
        ("exact match, in-distribution", lambda row: compared.mean(row, True)),
        ("exact match, out-of-distribution", lambda row: compared.mean(row, False)),
    ]


def _losses(row: ComparisonRow) -> list[float]:
    return [loss for loss in row.loss.members if loss] if row.loss else []


def _series(rows: Sequence[ComparisonRow], apart: Sequence[str]) -> list[Series]:
    groups: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        said = [row.entry] * bool(row.entry) + [_said(row, path) for path in apart]
        groups.setdefault(", ".join(said), []).append(row)
    if len(groups) > len(SERIES):
        groups = {"": list(rows)}
    marks = zip(groups.items(), SERIES, strict=False)
    return [Series(name or "median", *mark, mine) for (name, mine), mark in marks]


def _said(row: ComparisonRow, path: str) -> str:
    """`sgd`, `blocks 3`."""
    field, value = path.rpartition(".")[2], key(row.changes[path])
    return value if field in ("name", "layout") else f"{field} {value}"


def _weightless(compared: Compared, path: str) -> bool:
    """Whether runs that differ in this value alone have as many parameters."""
    sizes: dict[str, set[int | None]] = {}
    for row in compared.rows:
        others = row.entry + str({p: v for p, v in row.changes.items() if p != path})
        sizes.setdefault(others, set()).add(row.parameters)
    return all(len(found) == 1 for found in sizes.values())


def _draw(
    axes: Axes,
    axis: Axis,
    series: Series,
    value: Callable[[ComparisonRow], Any],
    measure: Measure,
    dodge: float,
) -> None:
    """Every member as a point; a line through the medians, where values have an order.

    Where there is one member at each place, there are no medians.
    """
    found: dict[float, list[float]] = {}
    for row in series.rows:
        found.setdefault(axis.place(value(row)) + dodge, []).extend(measure(row))
    found = {place: found[place] for place in sorted(found) if found[place]}
    ranges = {place: range_of(values) for place, values in found.items()}
    if any(len(values) > 1 for values in found.values()):
        points = [(place, one) for place, values in found.items() for one in values]
        axes.plot(
            *zip(*points, strict=True), series.mark, color=series.colour, markersize=3, alpha=0.45
        )
    _draw_ranges(axes, ranges, series, connected=axis.numeric)


def _draw_ranges(
    axes: Axes, ranges: dict[float, Range], series: Series, *, connected: bool
) -> None:
    places, middle = list(ranges), [ends.median for ends in ranges.values()]
    low, high = ([getattr(ends, end) for ends in ranges.values()] for end in ("least", "most"))
    if connected:
        axes.fill_between(places, low, high, color=series.colour, alpha=0.18, linewidth=0)
    else:
        axes.vlines(places, low, high, color=series.colour, linewidth=1.2)
    line = "-" if connected else ""
    axes.plot(
        places, middle, series.mark + line, color=series.colour, linewidth=1.8, markersize=5,
        label=series.name,
    )  # fmt: skip
