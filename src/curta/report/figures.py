"""The figures of a report: how a run learned, and what its members can do.

Every function takes data and returns a new Figure. Figures are built from
objects alone, so nothing is shared between calls; matplotlib is imported only
when a figure is drawn. Every member is drawn, never only a summary of them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from curta.config.task import Span
from curta.evaluation.results import Grid, SliceResult
from curta.report.run_folder import Trained
from curta.report.summary import by_operator, finite, hardest, size_name, trained_on
from curta.runs.info import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# Colours that stay apart for colour-blind readers (Okabe and Ito) and in grey print.
# The page's stylesheet names the same values to translate them for dark screens.
INK = "#1f2328"
MUTED = "#6e7781"
MEMBER = "#56b4e9"
MEDIAN = "#0072b2"
ALERT = "#d55e00"
END = "#009e73"

WIDTH = 5.2  # inches; text stays readable when a phone shows it 360 pixels wide
POINTS = 300
"""Most points of one learning curve; neighbouring lines are averaged to stay below."""

MARKED = 40
"""Most points of a curve that are marked: a single one is no line."""

BANDS = (
    (0.0, "< 25%", "#f7fbff"),
    (0.25, "≥ 25%", "#dce9f6"),
    (0.5, "≥ 50%", "#bad6eb"),
    (0.75, "≥ 75%", "#89bedc"),
    (0.9, "≥ 90%", "#539ecd"),
    (1.0, "100%", "#1b62a5"),
)
"""Lower edge, name and colour of the steps of a grid: a perfect cell is told from the next best."""

TOLD = "told: "
"""Begins the id of what a page names when it is pointed at."""

Curve = dict[int, float]
"""Value by training step."""

Measured = Literal["loss", "exact_match", "validation_loss", "validation_exact_match"]

_STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": MUTED,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
}


def learning_curves(
    metrics: Iterable[Metric],
    stopped: Mapping[int, int] | None = None,
    counted: str = "problems",
    log: bool = True,
) -> Figure:
    """Loss and exact match by step, in training and in validation where there is any.

    A stopped member's curve ends. `counted` is what a training step's exact match counts; with
    `log` the axis of the loss is logarithmic.
    """
    stopped = stopped or {}
    alive = [line for line in metrics if line.step < stopped.get(line.member, math.inf)]
    with style():
        figure, (upper, lower) = column(2, height=4.4)
        _draw_curves(upper, curves(alive, "loss"), stopped)
        _draw_curves(lower, curves(alive, "exact_match"), stopped)
        if log:
            upper.set_yscale("log", nonpositive="clip")
        upper.set_title("Loss")
        _draw_validation(upper, curves(alive, "validation_loss"))
        watched = _draw_validation(lower, curves(alive, "validation_exact_match"))
        lower.set_title("Exact match" if watched else f"Exact match on training {counted}")
        lower.set(xlabel="training step")
        lower.set_xlim(left=0)
        percent_axis(lower)
        legend(figure, upper)
    return figure


def exact_match_by_length(rows: Sequence[SliceResult], trained: Mapping[str, Trained]) -> Figure:
    """Exact match in the hardest slice by operand length, one panel per operator."""
    operators = by_operator(rows)
    spans = {name: task.lengths for name, task in trained.items() if name in operators}
    with style():
        figure, panels = column(len(operators), height=1.2 + 1.4 * len(operators))
        for panel, (operator, mine) in zip(panels, operators.items(), strict=True):
            _draw_lengths(panel, mine)
            shade(panel, spans.get(operator))
            told = f" (trained on {trained_on(trained[operator])})" if operator in spans else ""
            panel.set_title(f"{operator}{told}", parse_math=False)
        ends = [end for span in spans.values() for end in span]
        length_axis(panels[-1], [row.digits for row in rows], ends, WIDTH - 0.9)
        legend(figure, panels[0])
    return figure


def grid(data: Grid, trained: Mapping[str, Trained]) -> Figure:
    """Median exact match of the members for every pair of operand lengths, in bands."""
    cells = median_cells(data.exact_match)
    with style():
        figure, (axes,) = column(1, height=4.3)
        image = draw_bands(axes, [[band(value) for value in row] for row in cells])
        axes.set(xlabel="digits of the second operand", ylabel="digits of the first operand")
        axes.set_title(data.operator, parse_math=False)
        _name_cells(axes, data.digits)
        _box(axes, data.digits, trained.get(data.operator))
        name_bands(figure, image, "exact match, median over members")
        legend(figure, axes)
    return figure


def curves(metrics: Iterable[Metric], key: Measured) -> dict[int, Curve]:
    """Curve of every member, thinned to `POINTS` by averaging neighbouring steps."""
    metrics = list(metrics)
    point = _points({line.step for line in metrics})
    values: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in metrics:
        values[line.member][point[line.step]] += finite([getattr(line, key)])
    return {member: _means(values[member]) for member in sorted(values)}


def median_cells(exact_match: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Median over members of every cell."""
    rows = zip(*exact_match, strict=True)
    return [[median(cell) for cell in zip(*row, strict=True)] for row in rows]


def band(share: float) -> int:
    """Which of the `BANDS` a share belongs to."""
    return bisect_right([edge for edge, _, _ in BANDS], share) - 1


def _points(steps: Iterable[int]) -> dict[int, int]:
    """For every step the step it is drawn at: the last of its group."""
    ordered = sorted(steps)
    size = math.ceil(len(ordered) / POINTS)
    last = len(ordered) - 1
    return {step: ordered[min(i - i % size + size - 1, last)] for i, step in enumerate(ordered)}


def _means(values: Mapping[int, list[float]]) -> Curve:
    return {step: math.fsum(own) / len(own) for step, own in sorted(values.items()) if own}


def style() -> AbstractContextManager[None]:
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def column(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """An empty figure with panels below each other that share their x axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(count, sharex=True, squeeze=False)[:, 0])


def _draw_curves(axes: Axes, members: Mapping[int, Curve], stopped: Mapping[int, int]) -> None:
    """Every member thin and their median thick; a single member has one line."""
    for member, curve in members.items() if len(members) > 1 else ():
        draw_member(axes, curve, member=member)
    middle, name = medians(members), "median" if len(members) > 1 else "training"
    axes.plot(list(middle), list(middle.values()), color=MEDIAN, linewidth=1.8, label=name)
    for member in stopped:
        _mark_stopped(axes, member, members.get(member, {}))


def _draw_validation(axes: Axes, members: Mapping[int, Curve]) -> bool:
    """Every member thin and the median dashed; False if nothing was validated."""
    middle = medians(members)
    if not middle:
        return False
    for curve in members.values() if len(members) > 1 else ():
        axes.plot(list(curve), list(curve.values()), color=END, linewidth=0.8, alpha=0.6)
    axes.plot(
        list(middle), list(middle.values()), "--", marker="o" if len(middle) <= MARKED else "",
        markersize=3, color=END, linewidth=1.8, label="validation",
    )  # fmt: skip
    return True


def medians(members: Mapping[int, Curve]) -> Curve:
    """At each step the median of the members that have a value there."""
    steps = sorted({step for curve in members.values() for step in curve})
    return {step: median(c[step] for c in members.values() if step in c) for step in steps}


def draw_member(axes: Axes, curve: Curve, marker: str = "", member: int | None = None) -> None:
    """A thin line; with its member's number, which a page tells who points at it."""
    (line,) = axes.plot(
        list(curve),
        list(curve.values()),
        marker=marker,
        color=MEMBER,
        linestyle="-",
        linewidth=0.8,
        markersize=4,
        alpha=0.7,
        label="each member",
    )
    if member is not None:
        line.set_gid(f"{TOLD}member {member}")


def draw_median(axes: Axes, members: Sequence[Curve], measure: str = "exact match") -> None:
    """A thick line through the medians of points that are few; a single member's own."""
    middle = {x: median(curve[x] for curve in members) for x in members[0]}
    name = "median" if len(members) > 1 else measure
    places, values = list(middle), list(middle.values())
    axes.plot(places, values, "D-", color=MEDIAN, linewidth=1.8, markersize=4, label=name)


def _mark_stopped(axes: Axes, member: int, curve: Curve) -> None:
    """A cross and the member's number at its last point, if it has one."""
    if not curve:
        return
    end = max(curve)
    axes.plot(end, curve[end], "x", color=ALERT, markeredgewidth=1.8, label="stopped member")
    axes.annotate(f"{member}", (end, curve[end]), (5, 5), textcoords="offset points", color=ALERT)


def _draw_lengths(axes: Axes, rows: Sequence[SliceResult]) -> None:
    """Sizes whose longest operands are alike share a point: the hardest of them counts."""
    groups = {digits: list(group) for digits, group in groupby(rows, attrgetter("digits"))}
    shares = [hardest(group) for group in groups.values()]
    members = [dict(zip(groups, values, strict=True)) for values in zip(*shares, strict=True)]
    for member, curve in enumerate(members if len(members) > 1 else ()):
        draw_member(axes, curve, marker="o", member=member)
    draw_median(axes, members)
    percent_axis(axes)
    for digits, group in groups.items():
        _name_sizes(axes, digits, group)


def _name_sizes(axes: Axes, digits: int, rows: Sequence[SliceResult]) -> None:
    """Names the sizes of a point where its length alone does not."""
    names = dict.fromkeys(size_name(row) for row in rows if not row.size.isdecimal())
    if names:
        place = axes.get_xaxis_transform()
        text = ", ".join(names)
        axes.text(digits, 0.04, text, transform=place, ha="center", fontsize=8, parse_math=False)


def percent_axis(axes: Axes) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set(ylim=(-0.05, 1.05), yticks=(0, 0.25, 0.5, 0.75, 1))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))


def length_axis(axes: Axes, evaluated: Iterable[int], others: Iterable[int], inches: float) -> None:
    """A log axis with a tick at every evaluated length, and others where there is room.

    The labels of all are as many as stand apart on an axis of so many inches, the longest first.
    """
    known = sorted(set(evaluated), reverse=True)
    ends = [length for length in sorted(set(others), reverse=True) if length not in known]
    named = _apart([*known, *ends], inches)
    ticks = sorted({*known, *named})
    if len(ticks) == 1:  # or matplotlib warns that the axis has no width
        axes.set_xlim(ticks[0] / 2, ticks[0] * 2)
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:,}" if tick in named else "" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="digits of the longest operand")


def _apart(lengths: Sequence[int], inches: float) -> list[int]:
    """The lengths whose labels touch none of those before them in the list."""
    low, high = math.log(min(lengths)), math.log(max(lengths))
    scale, named = inches / max(high - low, 1e-9), list[int]()
    for length in lengths:
        room = [(_label(length) + _label(other)) / 2 for other in named]
        between = [scale * abs(math.log(length / other)) for other in named]
        if all(gap >= need for gap, need in zip(between, room, strict=True)):
            named.append(length)
    return named


def _label(length: int) -> float:
    """Inches that the label of a length takes, with a blank."""
    return 0.075 * len(f"{length:,}") + 0.1


def shade(axes: Axes, trained: Span | None) -> None:
    if trained is not None:
        axes.axvspan(*trained, color=MUTED, alpha=0.18, linewidth=1, label="trained lengths")


def draw_bands(axes: Axes, bands: Sequence[Sequence[float]]) -> AxesImage:
    """A cell for each number of one of the `BANDS`, the first line below; none where it is nan."""
    from matplotlib.colors import ListedColormap

    axes.grid(visible=False)
    return axes.imshow(
        bands,
        cmap=ListedColormap([colour for _, _, colour in BANDS]),
        vmin=-0.5,
        vmax=len(BANDS) - 0.5,
        origin="lower",
        interpolation="none",
    )


def name_bands(
    figure: Figure, image: AxesImage, label: str, shrink: float = 0.8, beside: Sequence[Axes] = ()
) -> None:
    """A bar that says what the colours of cells are; beside them, or those panels."""
    bar = figure.colorbar(image, ax=beside or None, shrink=shrink, label=label)
    bar.set_ticks(range(len(BANDS)), labels=[name for _, name, _ in BANDS])


def _name_cells(axes: Axes, digits: Sequence[int]) -> None:
    """Labels every nth row and column, eight at most."""
    stride = math.ceil(len(digits) / 8)
    ticks = range(stride - 1, len(digits), stride)
    names = [f"{digits[tick]:,}" for tick in ticks]
    axes.set_xticks(ticks, names)
    axes.set_yticks(ticks, names)


def _box(axes: Axes, digits: Sequence[int], trained: Trained | None) -> None:
    """Frames the cells whose operands both have a length that was trained on."""
    from matplotlib.patches import Rectangle

    if trained is None:
        return
    upwards, across = cells_trained_on(digits, trained)
    if not (upwards and across):
        return
    corner = across[0] - 0.5, upwards[0] - 0.5
    label = f"trained: {trained_on(trained)}"
    frame = Rectangle(corner, len(across), len(upwards), fill=False, label=label)
    frame.set(edgecolor=ALERT, linewidth=1.8, zorder=3, clip_on=False)
    axes.add_patch(frame)


def cells_trained_on(digits: Sequence[int], trained: Trained) -> tuple[list[int], list[int]]:
    """Indices of the lengths of the first and of the second operand that were trained on."""
    (low, high), (least, most) = trained.first, trained.others
    first = [index for index, length in enumerate(digits) if low <= length <= high]
    return first, [index for index, length in enumerate(digits) if least <= length <= most]


def legend(figure: Figure, *panels: Axes, columns: int = 4) -> None:
    """One entry per kind of mark, above the panels where no data can hide."""
    marks = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in panels]
    entries = {label: handle for pairs in marks for handle, label in pairs}
    if entries:
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside upper left",
            ncols=min(columns, len(entries)),
        )
