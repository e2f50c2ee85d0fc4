"""The figures of a comparison: entries side by side, and the values of a sweep.

learning            a panel per entry: its median as a line, the range of its members as a band,
                    and the other entries' medians in grey behind, since overlapping bands could
                    not be told apart
lengths             all entries in one plot, with a point per member; as `learning` for many entries
against             loss and exact match against a swept value, or against the model's size
phase_map           exact match by two varied fields
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from curta.evaluation.statistics import range_of
from curta.probes.pictures import heat
from curta.report import figures
from curta.report.compared import ComparisonData, RangeCurve, evaluated_sizes, members_by_digits
from curta.report.summary import by_step
from curta.runs.info import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 24
"""Most entries that are drawn one by one."""

SERIES = (
    (figures.MEDIAN, "o"), (figures.ALERT, "s"), (figures.END, "^"), (figures.PURPLE, "D"),
    (figures.ORANGE, "v"),
)  # fmt: skip
"""Colour and mark of each series of runs; the colours show on white and on black."""

MAP_LINES = 30
"""Most lines, and columns, of a readable map."""

LOSS = "loss at the end of training"


def draw_all(compared: ComparisonData) -> dict[str, Figure]:
    """Return the figures for which there is data, by the names of their files."""
    drawn, swept, rows = dict[str, Any](), compared.results.swept, compared.results.rows
    evaluated = any(row.lengths for row in rows)
    if swept and evaluated:
        phases = phase_map(compared)
        drawn |= {} if phases is None else {"map": draw_map(phases)}
        if len({row.entry for row in rows}) <= len(SERIES):
            # Where a single value changes the models' size, a figure against the size would show
            # its curves once more.
            weightless = [path for path in swept if _weightless(compared, path)]
            if len(swept) - len(weightless) >= 2:
                drawn["by-parameters"] = against(compared, "", weightless)
            for path in swept:
                others = [other for other in swept if other != path]
                drawn[f"by-{path}"] = against(compared, path, others)
    if len(rows) > PANELS:
        return drawn
    for number, operator in enumerate(compared.sizes if evaluated else (), 1):
        name = "lengths" if len(compared.sizes) == 1 else f"lengths-{number}"
        drawn[name] = lengths(compared, operator)
    if any(run.metrics for run in compared.runs.values()):
        drawn["learning"] = learning(compared)
    return drawn


# Entries side by side.


def learning(compared: ComparisonData) -> Figure:
    """Draw loss and exact match on training problems by step, a row of panels per entry."""
    measures = [
        {name: by_step(figures.curves(run.metrics, key)) for name, run in compared.runs.items()}
        for key in ("loss", "exact_match")
    ]
    with figures.style():
        count = len(compared.runs)
        figure, panels = figures.column(count, 1.1 + 1.3 * count, across=2, sharey="col")
        for place, (axes, (name, by_entry)) in enumerate(
            zip(panels, product(compared.runs, measures), strict=True)
        ):
            _draw_entry(axes, name, by_entry, compared.several)
            if place % 2 == 0:
                axes.set_title(name, fontweight="bold", parse_math=False)
        for axes, title in zip(panels, ("loss", "exact match"), strict=False):
            axes.set_title(title, loc="right", color=figures.MUTED)
        panels[0].set_yscale("log", nonpositive="clip")
        figures.percent_axis(panels[1])
        panels[0].set_xlim(left=0)
        for axes in panels[-2:]:
            axes.set(xlabel="training step")
        figures.legend(figure, panels[0], columns=3)
    return figure


def lengths(compared: ComparisonData, operator: str) -> Figure:
    """Draw exact match in the hardest slice by operand length.

    As many entries as there are colours share one plot, with a point for every member; more have a
    panel each. Crosses mark lengths without positions in an entry's models. The axis begins at the
    first measured length: the shorter lengths of training would take half of it.
    """
    sizes = {
        row.name: [size for size in evaluated_sizes(row) if size.operator == operator]
        for row in compared.results.rows
    }
    rows = [row for row in compared.results.rows if sizes[row.name]]
    training = {row.name: compared.trained(row, operator) for row in rows}
    spans = {name: trained.lengths for name, trained in training.items() if trained}
    digits = {size.digits for row in rows for size in sizes[row.name]}
    longest = {high for _, high in spans.values()}
    edges = (min(digits | longest) / 1.4, max(digits | longest) * 1.15)
    with figures.style():
        if len(rows) <= len(SERIES):
            figure, (axes,) = figures.column(1, 3.2)
            for row, (colour, mark) in zip(rows, SERIES, strict=False):
                members = members_by_digits(row, operator)
                _draw_members(axes, row.name, members, colour, mark, line=True, band=False)
                unplaced = sorted(
                    {size.digits for size in row.unplaced if size.operator == operator}
                )
                axes.plot(
                    unplaced, [0] * len(unplaced), "x", color=colour, markeredgewidth=1.8,
                    clip_on=False,
                )  # fmt: skip
            if len(set(spans.values())) == 1:
                figures.shade(axes, next(iter(spans.values())))
            figures.length_axis(axes, digits, longest, 0.08)
            axes.set_xlim(edges)
            figures.percent_axis(axes)
            figures.legend(figure, axes, columns=3)
            return figure
        by_entry = {
            row.name: {at: range_of(v) for at, v in members_by_digits(row, operator).items()}
            for row in rows
        }
        count = math.ceil(len(rows) / 2)
        figure, panels = figures.column(count, 1.1 + 1.3 * count, across=2, sharey="all")
        for axes in panels[len(rows) :]:
            axes.remove()
        for axes, row in zip(panels, rows, strict=False):
            _draw_entry(axes, row.name, by_entry, compared.several, marker="o")
            unplaced = sorted({size.digits for size in row.unplaced if size.operator == operator})
            if unplaced:
                crosses: Any = {"color": figures.ALERT, "markeredgewidth": 1.8, "clip_on": False}
                axes.plot(unplaced, [0] * len(unplaced), "x", label="no positions", **crosses)
            figures.shade(axes, spans.get(row.name))
            axes.set_title(row.name, fontweight="bold", parse_math=False)
            figures.length_axis(axes, digits, longest, 0.2)
            axes.set(xlabel="", xlim=edges)
        figures.percent_axis(panels[0])
        for axes in panels[: len(rows)][-2:]:
            axes.tick_params(labelbottom=True)
        figure.supxlabel("digits of the longest operand", fontsize="medium")
        figures.legend(figure, *panels[: len(rows)], columns=3)
    return figure


def _draw_entry(
    axes: Axes, name: str, by_entry: Mapping[str, RangeCurve], several: bool, marker: str = ""
) -> None:
    """Draw one entry as a band and a line, all others as grey lines behind it.

    Where no entry has `several` members, there are no bands and no medians.
    """
    others = "median of the others" if several else "the others"
    for other, curve in by_entry.items():
        if other != name:
            line: Any = {"color": figures.MUTED, "linewidth": 0.7, "alpha": 0.6, "label": others}
            axes.plot(list(curve), [ends.median for ends in curve.values()], **line)
    ranges = by_entry[name].values()
    places, (middle, low, high) = list(by_entry[name]), ([r[i] for r in ranges] for i in range(3))
    if several:
        band: Any = {"color": figures.MEMBER, "alpha": 0.4, "linewidth": 0}
        axes.fill_between(places, low, high, label="least to greatest", **band)
    axes.plot(
        places, middle, marker=marker, color=figures.MEDIAN, linewidth=1.8, markersize=4,
        label="median" if several else "this entry",
    )  # fmt: skip


# Swept values.


def against(compared: ComparisonData, path: str, apart: Sequence[str]) -> Figure:
    """Draw final loss and exact match, in-distribution and out-of-distribution, against a value.

    It is that of the field at `path`, or the number of parameters. Every member is a point. A line
    joins the medians where values have an order; there are no medians where each place has one
    member. Fields `apart` tell series apart.
    """
    rows = [row for row in compared.results.rows if row.lengths]
    measures: dict[str, Callable[[ComparisonRow], Sequence[float]]] = {
        LOSS: lambda row: [loss for loss in row.loss.members if loss] if row.loss else [],
        "exact match, in-distribution": lambda row: compared.mean(row, True),
        "exact match, out-of-distribution": lambda row: compared.mean(row, False),
    }
    measures = {title: measure for title, measure in measures.items() if any(map(measure, rows))}
    series = _series(rows, apart)

    # Numbers stand by size, anything else side by side. Positive numbers that differ fourfold or
    # more have a logarithmic axis. Names of values are labelled where there is room.
    values: dict[str, Any] = {
        row.name: row.changes[path] if path else row.parameters for row in rows
    }
    numeric = all(map(_is_number, values.values()))
    in_order = sorted(values.values()) if numeric else list(values.values())
    by_name = {value_name(value): value for value in in_order}
    places = by_name if numeric else {name: place for place, name in enumerate(by_name)}
    log = numeric and in_order[0] > 0 and in_order[-1] >= 4 * in_order[0]
    with figures.style():
        figure, panels = figures.column(len(measures), height=1.1 + 1.5 * len(measures))
        for axes, (title, measure) in zip(panels, measures.items(), strict=True):
            for number, ((name, mine), (colour, mark)) in enumerate(
                zip(series.items(), SERIES, strict=False)
            ):
                dodge = 0.0 if numeric else 0.1 * (number - (len(series) - 1) / 2)
                by_place: dict[float, list[float]] = {}
                for row in mine:
                    place = places[value_name(values[row.name])] + dodge
                    by_place.setdefault(place, []).extend(measure(row))
                label = ", ".join(filter(None, (name, "median" if compared.several else "")))
                _draw_members(axes, label, by_place, colour, mark, numeric, numeric)
            axes.set_title(title)
            axes.set_yscale("log") if title == LOSS else figures.percent_axis(axes)
        labelled = figures.spread(places.values(), 0.11, log) if numeric else [*places.values()]
        ticks = {place: name for name, place in places.items() if place in labelled}
        if log:
            panels[-1].set_xscale("log")
        panels[-1].set_xticks([*ticks], [*ticks.values()], parse_math=False)
        panels[-1].set_xticks([], minor=True)
        panels[-1].margins(x=0.1 if numeric else 0.3)
        panels[-1].set_xlabel(path or "parameters of the model", parse_math=False)
        if compared.several:
            panels[0].plot([], [], "o", color=figures.MUTED, markersize=3, label="a member")
            look: Any = {"color": figures.MUTED, "label": "least to greatest"}
            if numeric:
                panels[0].fill_between([], [], [], alpha=0.3, linewidth=0, **look)
            else:
                panels[0].vlines([], [], [], linewidth=1.2, **look)
        if len(series) > 1 or compared.several:
            figures.legend(figure, panels[0], columns=3)
    return figure


def _draw_members(
    axes: Axes,
    name: str,
    by_place: Mapping[Any, Sequence[float]],
    colour: str,
    mark: str,
    line: bool,
    band: bool,
) -> None:
    """Draw the median at each place, small marks for the members, and their range."""
    ranges = {p: range_of(by_place[p]) for p in sorted(by_place) if by_place[p]}
    across = list(ranges)
    middle, low, high = ([r[end] for r in ranges.values()] for end in range(3))
    if any(len(values) > 1 for values in by_place.values()):
        dots: Any = {"color": colour, "markersize": 3, "alpha": 0.45}
        for place, values in by_place.items():
            axes.plot([place] * len(values), values, mark, **dots)
    if band:
        axes.fill_between(across, low, high, color=colour, alpha=0.18, linewidth=0)
    else:
        axes.vlines(across, low, high, color=colour, linewidth=1.2)
    axes.plot(
        across, middle, mark + ("-" if line else ""), color=colour, linewidth=1.8, markersize=5,
        label=name,
    )  # fmt: skip


def _series(rows: Sequence[ComparisonRow], apart: Sequence[str]) -> dict[str, list[ComparisonRow]]:
    """Return the rows that a line joins, by name; one series if there are too few colours."""
    series: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        words = [row.entry] if row.entry else []
        for path in apart:  # `sgd`, `blocks 3`
            field, value = path.rpartition(".")[2], value_name(row.changes[path])
            words.append(value if field in ("name", "layout") else f"{field} {value}")
        series.setdefault(", ".join(words), []).append(row)
    return series if len(series) <= len(SERIES) else {"": list(rows)}


def _weightless(compared: ComparisonData, path: str) -> bool:
    """Return whether runs that differ in this field alone have the same number of parameters."""
    sizes: dict[str, set[int | None]] = {}
    for row in compared.results.rows:
        others = row.entry + str({p: v for p, v in row.changes.items() if p != path})
        sizes.setdefault(others, set()).add(row.parameters)
    return all(len(parameters) == 1 for parameters in sizes.values())


def value_name(value: Any) -> str:
    """Return a value's name on an axis."""
    if not _is_number(value):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Two things that were varied.


class PhaseMap(NamedTuple):
    """The values of two varied fields, and every member's mean exact match in each cell.

    A cell is empty without a run.
    """

    lines: list[str]
    columns: list[str]
    label: str
    cells: list[list[list[float]]]  # lines columns members


def phase_map(compared: ComparisonData) -> PhaseMap | None:
    """Return the map of a comparison; None unless exactly two things are varied.

    Lines are the entries that are swept alike, or the values of the first field; columns are the
    values of the last field.
    """
    swept, entries = compared.results.swept, any(row.entry for row in compared.results.rows)
    if not swept or len(swept) + entries != 2:
        return None
    *others, last = swept
    rows = dict[tuple[str, str], ComparisonRow]()
    for row in compared.results.rows:
        line = row.entry if entries else value_name(row.changes[others[0]])
        rows[line, value_name(row.changes[last])] = row
    lines, columns = (list(dict.fromkeys(names)) for names in zip(*rows, strict=True))
    if not all(1 < len(names) <= MAP_LINES for names in (lines, columns)):
        return None

    means = {place: compared.mean(row, False) if row.lengths else [] for place, row in rows.items()}
    cells = [[means.get((y, x), []) for x in columns] for y in lines]
    return PhaseMap(lines, columns, last, cells)


def draw_map(phases: PhaseMap) -> Figure:
    """Draw a map, its first line at the top.

    Colour is the median over members; the number counts the members without an error.
    """
    values = [[range_of(cell).median if cell else None for cell in row] for row in phases.cells]
    texts = [
        [str(sum(share == 1 for share in cell)) if len(cell) > 1 else "" for cell in row]
        for row in phases.cells
    ]
    panel = heat(
        "exact match out-of-distribution, median", phases.label, "", phases.columns, phases.lines,
        values, texts, exact_match=True,
    )  # fmt: skip
    return figures.draw({"shows": "", "panels": [panel]})
