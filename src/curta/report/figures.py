"""The figures of a run: how it learned, what its members can do, and what probes found.

Every function takes data and returns a new matplotlib Figure without shared state; matplotlib is
imported only when a figure is drawn. Every member is drawn, never only a summary.
"""

from __future__ import annotations

import io
import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import cycle, groupby
from operator import attrgetter
from pathlib import Path
from statistics import fmean, median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

from markupsafe import Markup

from curta.config.table import sized
from curta.config.task import Span
from curta.evaluation.results import HELD_OUT, TRAINED, SliceResult, operator_and_curve
from curta.probes.pictures import Heat, Lines, Panel, Paths, Picture, Stems
from curta.problems.sizes import AnswerHistogram
from curta.report.run_folder import Trained
from curta.report.summary import by_operator, by_step, finite, hardest, size_name, trained_on
from curta.runs.info import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that stay apart for colour-blind readers (Okabe and Ito) and in grey print.
# The page's stylesheet names the same values to translate them for dark screens.
INK = "#1f2328"
MUTED = "#6e7781"
MEMBER = "#56b4e9"
MEDIAN = "#0072b2"
ALERT = "#d55e00"
END = "#009e73"
PURPLE = "#cc79a7"
ORANGE = "#e69f00"

WIDTH = 5.2  # inches; text stays readable when a phone shows it 360 pixels wide
POINTS = 300
"""Most points of one learning curve; neighbouring steps are averaged to stay below."""

MARKED = 40
"""Most points of a curve that are marked: a single point makes no line."""

BAR = 0.34
"""Width of a bar; groups stand 1 apart."""

BANDS = (
    (0.0, "< 25%", "#f7fbff"),
    (0.25, "≥ 25%", "#dce9f6"),
    (0.5, "≥ 50%", "#bad6eb"),
    (0.75, "≥ 75%", "#89bedc"),
    (0.9, "≥ 90%", "#539ecd"),
    (1.0, "100%", "#1b62a5"),
)
"""Lower edge, name and colour of the steps of exact match; only perfect cells have the last one."""

LINE_ID = "line: "
"""Prefix of a line's id whose name a page shows when a reader points at it."""

Curve = dict[int, float]
"""Value by training step."""

Members = dict[int, Curve]
"""The curve of every member."""

Bars = Mapping[str, Sequence[float]]
"""Exact match of every member, by the group of its bar."""

DESCRIPTIONS = {
    "learning": "Loss on a logarithmic axis and exact match against training step: "
    "one thin line per member and the median as a thick line; validation dashed.",
    "learning-linear": "The same with the loss on a linear axis.",
    "watched": "Exact match against training step, one panel per operator: on problems of "
    "training, on held-out ones, dashed, and by size; one thin line per member, the median thick.",
    "watched-log": "The same against the logarithm of the step.",
    "lengths": "Exact match against operand length on a logarithmic axis, one panel per "
    "operator: every member in its hardest slice and the median over members. "
    "The table above holds the values of every slice.",
    "held-out": "Exact match of held-out problems by how they are written: a bar up to the median "
    "of the members, a dot for each.",
    "answers": "Histogram of the answers, a line for each part of the problems.",
    "grid": "Heat map of the median exact match for every pair of operand lengths.",
    "certificate": "Distinct windows found against recorded tokens, on a logarithmic axis.",
}
"""What each figure of a run shows, for readers who cannot see it."""

COMPARISON_FIGURES = {
    "map": "Heat map of the median exact match out-of-distribution by two things that were varied; "
    "the number in a cell is how many members are right throughout.",
    "by": "Loss at the end of training and exact match, in-distribution and out-of-distribution, "
    "of every member, with their median as a line and their range as a band.",
    "lengths": "Exact match in the hardest slice against operand length: a panel for each "
    "entry, the median over members as a line and their range as a band.",
    "learning": "Loss and exact match on training problems against training step: a row "
    "of panels for each entry, the median over members as a line and their range as a band.",
}
"""The same for each kind of figure of a comparison."""


def learning_curves(
    metrics: Iterable[Metric],
    stopped: Mapping[int, int] = MappingProxyType({}),
    counted: str = "problems",
    log: bool = True,
) -> Figure:
    """Draw loss and exact match by step, in training and in validation where there is any.

    A stopped member's curve ends with a cross. `counted` names the unit of a training step's exact
    match; with `log` the loss axis is logarithmic.
    """
    alive = until_stopped(metrics, stopped)
    with style():
        figure, (loss, exact_match) = column(2, height=4.4)
        for axes, key in ((loss, "loss"), (exact_match, "exact_match")):
            members, validation = (curves(alive, name) for name in (key, f"validation_{key}"))
            draw_members(axes, members, "median" if len(members) > 1 else "training")
            draw_members(axes, validation, "validation", END, "--")
            for member in stopped:
                if curve := members.get(member, {}):
                    end = max(curve), curve[max(curve)]
                    axes.plot(*end, "x", color=ALERT, markeredgewidth=1.8, label="stopped member")
                    axes.annotate(f"{member}", end, (5, 5), textcoords="offset points", color=ALERT)
        if log:
            loss.set_yscale("log", nonpositive="clip")
        loss.set_title("Loss")
        trained = "" if any(validation.values()) else f" on training {counted}"
        exact_match.set_title(f"Exact match{trained}")
        exact_match.set(xlabel="training step")
        exact_match.set_xlim(left=0)
        percent_axis(exact_match)
        legend(figure, loss)
    return figure


def watched_curves(
    metrics: Iterable[Metric], stopped: Mapping[int, int], log: bool = False
) -> Figure | None:
    """Draw the exact match of watched problems, a panel per operator; None without data.

    A stopped member's curve ends. With `log` the axis of steps is logarithmic. Sizes take their
    colours in order, starting again after the last colour.
    """
    by_operator = watched(until_stopped(metrics, stopped))
    if not by_operator:
        return None
    with style():
        figure, panels = column(len(by_operator), height=1.2 + 1.9 * len(by_operator))
        for axes, (operator, measures) in zip(panels, by_operator.items(), strict=True):
            further = cycle((ALERT, PURPLE, ORANGE, MEMBER))
            for name, members in measures.items():
                colour = {TRAINED: MEDIAN, HELD_OUT: END}.get(name) or next(further)
                draw_members(axes, members, name, colour, "--" if name == HELD_OUT else "-")
            percent_axis(axes)
            axes.set_title(operator, parse_math=False)
        panels[-1].set(xlabel="training step")
        panels[-1].set(**({"xscale": "log"} if log else {"xlim": (0, None)}))
        legend(figure, *panels)
    return figure


def exact_match_by_length(rows: Sequence[SliceResult], trained: Mapping[str, Trained]) -> Figure:
    """Draw exact match in the hardest slice by operand length, one panel per operator.

    Sizes whose longest operands have the same digits share a point: the hardest of them, labelled
    with their names.
    """
    operators = by_operator(rows)
    spans = {name: task.lengths for name, task in trained.items() if name in operators}
    with style():
        figure, panels = column(len(operators), height=1.2 + 1.4 * len(operators))
        for axes, (operator, mine) in zip(panels, operators.items(), strict=True):
            groups = {digits: list(group) for digits, group in groupby(mine, attrgetter("digits"))}
            by_member = zip(*(hardest(group) for group in groups.values()), strict=True)
            members = {m: dict(zip(groups, s, strict=True)) for m, s in enumerate(by_member)}
            draw_members(axes, members, "median" if len(members) > 1 else "exact match")
            percent_axis(axes)
            place: Any = {"transform": axes.get_xaxis_transform(), "ha": "center"}
            for digits, group in groups.items():
                sizes = [size_name(row.size) for row in group if not row.size.isdecimal()]
                names = ", ".join(dict.fromkeys(sizes))
                axes.text(digits, 0.04, names, fontsize=8, parse_math=False, **place)
            shade(axes, spans.get(operator))
            training = f" (trained on {trained_on(trained[operator])})" if operator in spans else ""
            axes.set_title(f"{operator}{training}", parse_math=False)
        ends = [end for span in spans.values() for end in span]
        length_axis(panels[-1], [row.digits for row in rows], ends, 0.09)
        legend(figure, panels[0])
    return figure


def window_growth(growth: Sequence[tuple[int, int]], windows: int) -> Figure:
    """Draw the number of listed windows by recorded tokens."""
    tokens, counts = zip(*growth, strict=True)
    with style():
        figure, (axes,) = column(1, height=2.3)
        axes.plot(tokens, counts, "o-", color=MEDIAN, markersize=3.5, linewidth=1.8)
        axes.axhline(windows, color=MUTED, linewidth=0.8, linestyle="--")
        axes.set_xscale("log")
        axes.set(xlabel="recorded tokens", ylim=(0, windows * 1.08))
        axes.set_title("Distinct windows", color=INK)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    return figure


def answer_histogram(histograms: Sequence[AnswerHistogram], title: str) -> Figure:
    """Draw the share of each part's answers in each bin, one line per part of a table."""
    with style():
        figure, (axes,) = column(1, height=2.8)
        for number, histogram in enumerate(histograms):
            shares = [count / histogram.problems for count in histogram.counts]
            line: Any = {"color": (MUTED, MEDIAN, END, ALERT)[number % 4], "label": histogram.part}
            line["linewidth"] = 1.2 + 0.5 * (len(histograms) - number)
            axes.stairs(shares, histogram.edges, **line)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set(xlabel="answer", ylim=(0, None))
        axes.set_title(f"{title}: share of each part in a bin", parse_math=False)
        legend(figure, axes, columns=2)
    return figure


def held_out_bars(rows: Sequence[SliceResult]) -> Figure | None:
    """Draw exact match of held-out problems, written as in training and in other layouts.

    None if they were evaluated in the layout of training alone.
    """
    held_out = [row for row in rows if row.slice_name.partition(",")[0] == HELD_OUT]
    if len({row.slice_name for row in held_out}) < 2:
        return None
    several, bars = len({row.operator for row in held_out}) > 1, dict[str, Sequence[float]]()
    for row in held_out:
        name = row.slice_name.removeprefix(HELD_OUT).removeprefix(", ") or "as in training"
        name = f"{row.operator}, {name}" if several else name
        bars[f"{name}:\nwhole text"] = row.exact_match
        bars[f"{name}:\nanswer"] = row.generated.exact_match
    return bar_chart({"": bars}, "Held-out problems, by how they are written")


def bar_chart(runs: Mapping[str, Bars], title: str) -> Figure:
    """Draw a bar up to the median of each group and run, with a dot for each member."""
    groups = list(next(iter(runs.values())))
    with style():
        figure, (axes,) = column(1, height=3.2)
        for number, (words, bars) in enumerate(runs.items()):
            shift = BAR * (number - (len(runs) - 1) / 2)
            shares, seeds = [bars[group] for group in groups], len(bars[groups[0]])
            counted = f"{seeds} seed{'s' * (seeds > 1)}"
            label = f"{words}, {counted}" if words else f"median of {counted}" if seeds > 1 else ""
            places = [place + shift for place in range(len(groups))]
            colour, middle = (MEDIAN, END, ALERT)[number], [median(values) for values in shares]
            axes.bar(places, middle, BAR - 0.04, color=colour, alpha=0.5, label=label or None)
            for place, values in zip(places, shares, strict=True):
                across = [place + 0.07 * (seed - (seeds - 1) / 2) for seed in range(seeds)]
                dots: Any = {"color": INK, "markersize": 3.5, "clip_on": False}
                axes.plot(across, values, "o", label="each seed", **dots)
        small = 8 if len(groups) > 4 else None
        axes.set_xticks(range(len(groups)), groups, fontsize=small, parse_math=False)
        axes.grid(visible=False, axis="x")
        axes.set_title(title)
        percent_axis(axes)
        legend(figure, axes, columns=2)
    return figure


# What figures share.


def style() -> AbstractContextManager[None]:
    """Return the context in which figures are drawn and saved."""
    import matplotlib

    return matplotlib.rc_context(fname=Path(__file__).with_name("figures.mplstyle"))


def column(
    count: int, height: float, across: int = 1, sharey: Literal["all", "col", "none"] = "none"
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with rows of panels, one below the other, that share their x axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(count, across, sharex=True, sharey=sharey, squeeze=False)
    return figure, list(axes.flat)


def until_stopped(metrics: Iterable[Metric], stopped: Mapping[int, int]) -> list[Metric]:
    """Return what members recorded before their training stopped."""
    return [line for line in metrics if line.step < stopped.get(line.member, math.inf)]


def curves(metrics: Iterable[Metric], key: str) -> Members:
    """Return the curve of every member, thinned to `POINTS` by averaging neighbouring steps.

    An averaged group is drawn at its last step.
    """
    metrics = list(metrics)
    steps = sorted({line.step for line in metrics})
    size = math.ceil(len(steps) / POINTS)
    drawn_at = {
        step: steps[min(i - i % size + size - 1, len(steps) - 1)] for i, step in enumerate(steps)
    }
    values: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in metrics:
        values[line.member][drawn_at[line.step]] += finite([getattr(line, key)])
    return {
        member: {step: fmean(group) for step, group in sorted(by_step.items()) if group}
        for member, by_step in sorted(values.items())
    }


def watched(metrics: Iterable[Metric]) -> dict[str, dict[str, Members]]:
    """Return the curves by operator and by kind of problem: `trained`, `held out`, `20 digits`."""
    by_operator: dict[str, dict[str, Members]] = {}
    for line in metrics:
        for name, value in line.evaluated.items():
            operator, kind = operator_and_curve(name)
            kind = kind if kind in (TRAINED, HELD_OUT) else sized(kind)
            members = by_operator.setdefault(operator, {}).setdefault(kind, {})
            members.setdefault(line.member, {})[line.step] = value
    return by_operator


def draw_members(
    axes: Axes, members: Members, label: str, colour: str = MEDIAN, line: str = "-"
) -> None:
    """Draw the median as a thick line, and each of several members as a thin one.

    Thin lines have their member's number for readers who point at them. A single point makes no
    line, so the points of short curves are marked.
    """
    middle = {step: ends.median for step, ends in by_step(members).items()}
    marker = "o" if len(middle) <= MARKED else ""
    for member, curve in members.items() if len(members) > 1 else ():
        axes.plot(
            list(curve), list(curve.values()), color=MEMBER if colour == MEDIAN else colour,
            marker=marker, markersize=2.5, linewidth=0.8, alpha=0.7,
            label="each member" if colour == MEDIAN else None, gid=f"{LINE_ID}member {member}",
        )  # fmt: skip
    if middle:
        axes.plot(
            list(middle), list(middle.values()), line, color=colour, marker=marker, markersize=4,
            linewidth=1.8, label=label,
        )  # fmt: skip


def percent_axis(axes: Axes) -> None:
    """Set an axis to percentages from 0 to 100."""
    from matplotlib.ticker import PercentFormatter

    axes.set(ylim=(-0.05, 1.05), yticks=(0, 0.25, 0.5, 0.75, 1))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))


def length_axis(axes: Axes, evaluated: Iterable[int], others: Iterable[int], apart: float) -> None:
    """Set a logarithmic axis with a tick at every evaluated length, and at others if there is room.

    Labels are a share `apart` of the axis from each other; the longest lengths come first.
    """
    lengths = sorted(set(evaluated), reverse=True)
    named = spread([*lengths, *sorted(set(others), reverse=True)], apart, log=True)
    ticks = sorted({*lengths, *named})
    if len(ticks) == 1:  # or matplotlib warns that the axis has no width
        axes.set_xlim(ticks[0] / 2, ticks[0] * 2)
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:,}" if tick in named else "" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="digits of the longest operand")


def spread(values: Iterable[float], apart: float, log: bool) -> list[float]:
    """Return the values that are a share `apart` of the whole range from all before them.

    >>> spread([100, 50, 99, 1], 0.1, log=False)
    [100, 50, 1]
    """
    places = {value: math.log(value) if log else value for value in values}
    least = apart * (max(places.values()) - min(places.values()))
    chosen = list[float]()
    for value, place in places.items():
        if all(abs(place - places[other]) >= least for other in chosen):
            chosen.append(value)
    return chosen


def shade(axes: Axes, trained: Span | None) -> None:
    """Shade the lengths of training."""
    if trained is not None:
        axes.axvspan(*trained, color=MUTED, alpha=0.18, linewidth=1, label="trained lengths")


def legend(figure: Figure, *panels: Axes, columns: int = 4) -> None:
    """Put one entry per kind of mark above the panels, where it hides no data."""
    marks = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in panels]
    entries = {label: handle for pairs in marks for handle, label in pairs}
    if entries:
        figure.legend(
            entries.values(), entries.keys(), loc="outside upper left",
            ncols=min(columns, len(entries)),
        )  # fmt: skip


# Exact match in bands.


def band(share: float) -> int:
    """Return the index in `BANDS` of a share."""
    return bisect_right([edge for edge, _, _ in BANDS], share) - 1


def median_cells(exact_match: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Return the median over members of every cell of a grid."""
    rows = zip(*exact_match, strict=True)
    return [[median(cell) for cell in zip(*row, strict=True)] for row in rows]


# Pictures that are described by data, as probes return them.

ON_LIGHT, ON_DARK = "#101418", "#ffffff"
"""Text in the cells of a heat map, whose colours are the same on every page."""

MEMBERS = (MEDIAN, ALERT, END, MEMBER, MUTED)
"""Colours of members, repeated from the sixth member on."""

TICKS = 12
"""Most names along an axis."""


def draw(picture: Picture) -> Figure:
    """Return a new figure with all panels, two in a row where they are small."""
    from matplotlib.figure import Figure

    panels = picture["panels"]
    across = 2 if len(panels) > 1 and all(panel["form"] == "paths" for panel in panels) else 1
    inches = {"heat": 0.9, "lines": 1.9, "stems": 1.9, "paths": 2.5}
    rows = [
        inches[panel["form"]] + 0.21 * min(len(panel["rows"]) if panel["form"] == "heat" else 0, 60)
        for panel in panels[::across]
    ]
    with style():
        figure = Figure(figsize=(WIDTH, sum(rows) + 0.4), layout="constrained")
        grid = figure.subplots(len(rows), across, squeeze=False, height_ratios=rows).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            axes.set_title(panel["title"], parse_math=False)
            FORMS[panel["form"]](axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        _explain(figure, list(grid[: len(panels)]), panels[0])
    return figure


def _draw_heat(axes: Axes, panel: Heat) -> None:
    """Draw cells with rules between them, where they are large enough, names, and texts."""
    from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap, ListedColormap, Normalize

    edges, _, colours = zip(*BANDS, strict=True)
    columns, rows = panel["columns"], panel["rows"]
    values = [[math.nan if v is None else v for v in row] for row in panel["values"]]
    colormap: Any = LinearSegmentedColormap.from_list("share", colours)
    norm: Any = Normalize(0, 1)
    if panel.get("exact_match", False):
        colormap, norm = ListedColormap(colours), BoundaryNorm([*edges, 2], len(colours))
    axes.grid(visible=False)
    axes.imshow(values, aspect="auto", interpolation="none", cmap=colormap, norm=norm)
    if max(len(columns), len(rows)) <= 40:
        between = [[i - 0.5 for i in range(1, len(names))] for names in (columns, rows)]
        axes.vlines(between[0], -0.5, len(rows) - 0.5, ON_DARK, linewidth=0.8)
        axes.hlines(between[1], -0.5, len(columns) - 0.5, ON_DARK, linewidth=0.8)
    axes.set(xlabel=panel["across"], ylabel=panel["down"])
    size = 8 if len(columns) <= 30 else 5.5
    axes.set_xticks(range(len(columns)), columns, parse_math=False, fontsize=size)
    longest = max(map(len, columns))
    if longest > 2 and longest * len(columns) > 45:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")
    down = range(0, len(rows), math.ceil(len(rows) / 60))
    axes.set_yticks(down, [rows[i] for i in down], parse_math=False, fontsize=8)
    axes.tick_params(length=0)
    for row, texts in enumerate(panel.get("texts", [])):
        for place, text in enumerate(texts):
            value = values[row][place]
            colour = ON_DARK if value > 0.6 else INK if math.isnan(value) else ON_LIGHT
            axes.text(
                place, row, text, color=colour, ha="center", va="center", fontsize=7.5,
                parse_math=False,
            )  # fmt: skip


def _draw_lines(axes: Axes, panel: Lines) -> None:
    members = {
        member: {x: value for x, value in enumerate(curve) if value is not None}
        for member, curve in enumerate(panel["curves"])
    }
    measure = panel.get("measure", "exact match")
    draw_members(axes, members, "median" if len(members) > 1 else measure)
    if inside := panel.get("inside", 0):
        label = "as in training"
        axes.axvspan(-0.5, inside - 0.5, color=MUTED, alpha=0.18, linewidth=1, label=label)
    percent_axis(axes)
    _name_points(axes, panel)


def draw_stems(axes: Axes, panel: Stems) -> None:
    """Draw a line up from the axis for each point, members side by side."""
    from matplotlib.ticker import PercentFormatter

    count = len(panel["curves"])
    for number, (name, curve) in enumerate(zip(panel["names"], panel["curves"], strict=True)):
        places = [x + 0.6 * ((number + 0.5) / count - 0.5) for x in range(len(curve))]
        colour = MEMBERS[number % len(MEMBERS)]
        axes.vlines(places, 0, curve, color=colour, linewidth=max(0.6, 2 / count), label=name)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    axes.set_ylim(bottom=0)
    _name_points(axes, panel)


def _name_points(axes: Axes, panel: Lines | Stems) -> None:
    """Name as many points as the axis has room for."""
    points, every = panel["points"], math.ceil(len(panel["points"]) / TICKS)
    axes.set_xticks(range(0, len(points), every), points[::every], parse_math=False)
    axes.set(xlabel=panel["across"], xlim=(-0.5, len(points) - 0.5))


def _draw_paths(axes: Axes, panel: Paths) -> None:
    """Draw paths as thin lines, with a red circle at each start and a green diamond at each end."""
    for name, path in zip(panel["names"], panel["paths"], strict=True):
        across, up = zip(*path, strict=True)
        axes.plot(across, up, color=MUTED, linewidth=0.8, alpha=0.8)
        if len(path) > 1:
            axes.plot(*path[0], "o", color=ALERT, markersize=3.5, label="start")
        axes.plot(*path[-1], "D", color=END, markersize=4, label="end")
        axes.annotate(
            name, (across[-1], up[-1]), (4, 4), textcoords="offset points", fontsize=9,
            parse_math=False,
        )  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.12)
    axes.set_aspect("equal", adjustable="datalim")


FORMS: dict[str, Any] = {
    "heat": _draw_heat,
    "lines": _draw_lines,
    "stems": draw_stems,
    "paths": _draw_paths,
}


def _explain(figure: Figure, grid: list[Axes], first: Panel) -> None:
    """Explain colours and marks above all panels."""
    from matplotlib.patches import Patch

    if first["form"] != "heat":
        legend(figure, grid[0])
    elif first.get("exact_match", False):
        patches = [
            Patch(facecolor=colour, edgecolor=MUTED, linewidth=0.5, label=name)
            for _, name, colour in BANDS
        ]
        figure.legend(
            handles=patches, loc="outside upper left", ncols=len(BANDS), fontsize=8,
            handlelength=1, handletextpad=0.4, columnspacing=1,
        )  # fmt: skip
    else:
        image = grid[0].images[0]
        bar = figure.colorbar(image, ax=grid, location="top", shrink=0.6, aspect=40, pad=0.02)
        bar.set_ticks([0, 0.5, 1], labels=["0%", "50%", "100%"])
        bar.ax.tick_params(labelsize=7.5, length=0)


# SVG: an element of a page, and the same element as a file.


def svg_element(figure: Figure, name: str, label: str) -> Markup:
    """Draw a figure as an `svg` element that fits a page with a strict security policy.

    Style attributes become presentation attributes, which need no permission and which the page's
    stylesheet may override. Ids get the prefix `name`, since two figures have the same ids. `label`
    describes the figure.
    """
    buffer, ids = io.BytesIO(), set[str]()
    with style():
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for node in list(root.iter()):
        for child in list(node):
            if child.tag.endswith(("}metadata", "}style")):
                node.remove(child)
        node.tag = node.tag.rpartition("}")[2]
        node.text, node.tail = (node.text or "").strip(), None
        declarations = filter(None, node.attrib.pop("style", "").split(";"))
        styles = [declaration.partition(":") for declaration in declarations]
        attributes = {key.rpartition("}")[2]: value for key, value in node.attrib.items()}
        if attributes.get("id", "").startswith(LINE_ID):
            # a line that says what it is when a reader points at it
            title = ElementTree.Element("title")
            title.text = attributes.pop("id").removeprefix(LINE_ID)
            node.insert(0, title)
            attributes["class"] = "named-line"
        elif "id" in attributes:
            attributes["id"] = f"{name}-{attributes['id']}"
            if attributes["id"] in ids:  # images alike to the dot have the same one
                del attributes["id"]
            ids.add(attributes.get("id", ""))
        node.attrib = {
            key: " ".join(re.sub(r"^(url\()?#", rf"\g<1>#{name}-", value).split())
            for key, value in attributes.items()
        } | {key.strip(): value.strip() for key, _, value in styles if "font-family" not in key}
    for size in ("width", "height", "version"):
        del root.attrib[size]
    root.attrib |= {"class": "plot", "role": "img", "aria-label": label}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def svg_file(element: Markup) -> bytes:
    """Return an `svg` element of a page as a separate file, on white."""
    start, content = element.strip().split(">", 1)
    fonts = 'xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans, sans-serif"'
    white = '<rect width="100%" height="100%" fill="white" />'
    return f"{start} {fonts}>{white}{content}".encode()
