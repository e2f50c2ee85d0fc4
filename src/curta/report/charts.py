"""Draws pictures that are described by data, knowing nothing of what they are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from curta.probes.pictures import Heat, Lines, Panel, Paths, Picture, Stems
from curta.report.figures import (
    ALERT,
    BANDS,
    END,
    INK,
    MEDIAN,
    MEMBER,
    MUTED,
    WIDTH,
    band,
    draw_median,
    draw_member,
    legend,
    percent_axis,
    style,
)
from curta.report.summary import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ON_LIGHT, ON_DARK = "#101418", "#ffffff"
"""Text in the cells of a heat map, whose colours are the same on every page."""

MEMBERS = (MEDIAN, ALERT, END, MEMBER, MUTED)
"""Colours of members where each has its own; a sixth has the first one's again."""

TICKS = 12
"""Most names along an axis."""


def draw(picture: Picture) -> Figure:
    """A new figure with all panels, two beside each other where they are small."""
    from matplotlib.figure import Figure

    panels = list(map(_stripped, picture["panels"]))
    across = 2 if len(panels) > 1 and all(map(_small, panels)) else 1
    down = math.ceil(len(panels) / across)
    heights = [max(map(_height, panels[i : i + across])) for i in range(0, len(panels), across)]
    with style():
        figure = Figure(figsize=(WIDTH, sum(heights) + 0.4), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, height_ratios=heights).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw_panel(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        _explain(figure, list(grid[: len(panels)]), panels)
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel["title"], parse_math=False)
    if panel["form"] == "heat":
        _draw_heat(axes, panel)
    elif panel["form"] == "lines":
        _draw_lines(axes, panel)
    elif panel["form"] == "stems":
        draw_stems(axes, panel)
    else:
        draw_paths(axes, panel)


def _stripped(panel: Panel) -> Panel:
    """A heat map whose cells are all equal as a single cell that says so."""
    if panel["form"] != "heat" or "texts" in panel:
        return panel
    cells = [value for row in panel["values"] for value in row]
    if len(cells) < 2 or len(set(cells)) > 1 or cells[0] is None:
        return panel
    said = f"every one of {len(cells):,} cells: {percent(cells[0])}%"
    return panel | {
        "across": "", "down": "", "columns": [""], "rows": [""], "values": [cells[:1]],
        "texts": [[said]],
    }  # fmt: skip


def _small(panel: Panel) -> bool:
    """Whether two such panels fit beside each other."""
    if panel["form"] == "heat":
        return len(panel["columns"]) <= 10 and "texts" not in panel
    return panel["form"] == "paths"


def _height(panel: Panel) -> float:
    """Inches that a panel needs."""
    if panel["form"] == "heat":
        return 0.9 + 0.21 * min(len(panel["rows"]), 60)
    return 2.5 if panel["form"] == "paths" else 1.9


def _draw_heat(axes: Axes, panel: Heat) -> None:
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    colours, banded = [colour for _, _, colour in BANDS], panel.get("exact_match", False)
    values = [[math.nan if v is None else v for v in row] for row in panel["values"]]
    shown = [[v if math.isnan(v) else band(v) / (len(BANDS) - 1) for v in row] for row in values]
    ramp = (
        ListedColormap(colours) if banded else LinearSegmentedColormap.from_list("share", colours)
    )
    axes.grid(visible=False)
    axes.imshow(
        shown if banded else values, cmap=ramp, vmin=0, vmax=1, aspect="auto", interpolation="none"
    )
    _rule(axes, panel)
    axes.set(xlabel=panel["across"], ylabel=panel["down"])
    _name_all(axes, panel)
    for row, texts in enumerate(panel.get("texts", [])):
        for column, text in enumerate(texts):
            _write(axes, row, column, text, values[row][column])


def _rule(axes: Axes, panel: Heat) -> None:
    """Thin lines between cells, where these are large enough."""
    columns, rows = len(panel["columns"]), len(panel["rows"])
    if max(columns, rows) <= 40:
        axes.vlines([i - 0.5 for i in range(1, columns)], -0.5, rows - 0.5, ON_DARK, linewidth=0.8)
        axes.hlines([i - 0.5 for i in range(1, rows)], -0.5, columns - 0.5, ON_DARK, linewidth=0.8)


def _name_all(axes: Axes, panel: Heat) -> None:
    """Names of columns, turned where they are long, and of rows."""
    columns, rows = panel["columns"], panel["rows"]
    size = 8 if len(columns) <= 30 else 5.5
    axes.set_xticks(range(len(columns)), columns, parse_math=False, fontsize=size)
    longest = max(map(len, columns))
    if longest > 2 and longest * len(columns) > 45:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")
    down = range(0, len(rows), math.ceil(len(rows) / 60))
    axes.set_yticks(down, [rows[i] for i in down], parse_math=False, fontsize=8)
    axes.tick_params(length=0)


def _write(axes: Axes, row: int, column: int, text: str, value: float) -> None:
    """Text in a cell, dark on light cells and light on dark ones."""
    colour = ON_DARK if value > 0.6 else INK if math.isnan(value) else ON_LIGHT
    axes.text(
        column, row, text, color=colour, ha="center", va="center", fontsize=7.5, parse_math=False
    )


def _draw_lines(axes: Axes, panel: Lines) -> None:
    known = [_known(curve) for curve in panel["curves"]]
    for curve in known if len(known) > 1 else ():
        draw_member(axes, curve, marker="o")
    if known and known[0]:
        draw_median(axes, known, panel.get("measure", "exact match"))
    inside = panel.get("inside", 0)
    if inside:
        axes.axvspan(
            -0.5, inside - 0.5, color=MUTED, alpha=0.18, linewidth=1, label="as in training"
        )
    percent_axis(axes)
    _name_points(axes, panel)


def draw_stems(axes: Axes, panel: Stems) -> None:
    """A line up from the axis for each point; members stand beside each other."""
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
    """As many of the names as there is room for."""
    points, every = panel["points"], math.ceil(len(panel["points"]) / TICKS)
    axes.set_xticks(range(0, len(points), every), points[::every], parse_math=False)
    axes.set(xlabel=panel["across"], xlim=(-0.5, len(points) - 0.5))


def _known(curve: Sequence[float | None]) -> dict[int, float]:
    return {x: value for x, value in enumerate(curve) if value is not None}


def draw_paths(axes: Axes, panel: Paths) -> None:
    """Thin lines; a red circle at each start, a green diamond and the name at each end."""
    for name, path in zip(panel["names"], panel["paths"], strict=True):
        across, down = zip(*path, strict=True)
        axes.plot(across, down, color=MUTED, linewidth=0.8, alpha=0.8)
        if len(path) > 1:
            axes.plot(*path[0], "o", color=ALERT, markersize=3.5, label="start")
        axes.plot(*path[-1], "D", color=END, markersize=4, label="end")
        axes.annotate(
            name,
            (across[-1], down[-1]),
            (4, 4),
            textcoords="offset points",
            fontsize=9,
            parse_math=False,
        )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.12)
    axes.set_aspect("equal", adjustable="datalim")


def _explain(figure: Figure, grid: list[Axes], panels: Sequence[Panel]) -> None:
    """What colours and marks mean, above all panels."""
    first = panels[0]
    if first["form"] != "heat":
        legend(figure, grid[0])
    elif first.get("exact_match", False):
        _explain_bands(figure)
    else:
        _explain_colours(figure, grid)


def _explain_bands(figure: Figure) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=colour, edgecolor=MUTED, linewidth=0.5, label=name)
        for _, name, colour in BANDS
    ]
    figure.legend(
        handles=patches,
        loc="outside upper left",
        ncols=len(BANDS),
        fontsize=8,
        handlelength=1,
        handletextpad=0.4,
        columnspacing=1,
    )


def _explain_colours(figure: Figure, grid: list[Axes]) -> None:
    image = grid[0].images[0]
    bar = figure.colorbar(image, ax=grid, location="top", shrink=0.6, aspect=40, pad=0.02)
    bar.set_ticks([0, 0.5, 1], labels=["0%", "50%", "100%"])
    bar.ax.tick_params(labelsize=7.5, length=0)
