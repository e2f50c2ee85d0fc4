"""Draw pictures that are described by data, as probes return them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from curta.probes.pictures import Heat, Lines, Panel, Paths, Picture, Stems
from curta.report import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ON_LIGHT, ON_DARK = "#101418", "#ffffff"
"""Text in the cells of a heat map, whose colours are the same on every page."""

MEMBERS = (figures.MEDIAN, figures.ALERT, figures.END, figures.MEMBER, figures.MUTED)
"""Colours of members, repeated from the sixth member on."""

TICKS = 12
"""Most names along an axis."""


def draw(picture: Picture) -> Figure:
    """Return a new figure with all panels, two in a row where they are small."""
    from matplotlib.figure import Figure

    panels = picture["panels"]
    across = 2 if len(panels) > 1 and all(panel["form"] == "paths" for panel in panels) else 1
    # inches
    heights = [
        0.9 + 0.21 * min(len(panel["rows"]), 60) if panel["form"] == "heat"
        else 2.5 if panel["form"] == "paths" else 1.9
        for panel in panels
    ]  # fmt: skip
    rows = heights[::across]
    with figures.style():
        figure = Figure(figsize=(figures.WIDTH, sum(rows) + 0.4), layout="constrained")
        grid = figure.subplots(len(rows), across, squeeze=False, height_ratios=rows).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            axes.set_title(panel["title"], parse_math=False)
            if panel["form"] == "heat":
                _draw_heat(axes, panel)
            elif panel["form"] == "lines":
                _draw_lines(axes, panel)
            elif panel["form"] == "stems":
                draw_stems(axes, panel)
            else:
                _draw_paths(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        _explain(figure, list(grid[: len(panels)]), panels[0])
    return figure


def _draw_heat(axes: Axes, panel: Heat) -> None:
    """Draw cells with rules between them, where they are large enough, names, and texts."""
    from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap, ListedColormap, Normalize

    edges, _, colours = zip(*figures.BANDS, strict=True)
    columns, rows = panel["columns"], panel["rows"]
    values = [[math.nan if v is None else v for v in row] for row in panel["values"]]
    style: dict[str, Any] = {
        "cmap": LinearSegmentedColormap.from_list("share", colours), "norm": Normalize(0, 1)
    }  # fmt: skip
    if panel.get("exact_match", False):
        norm = BoundaryNorm([*edges, 2], len(colours))
        style = {"cmap": ListedColormap(colours), "norm": norm}
    axes.grid(visible=False)
    axes.imshow(values, aspect="auto", interpolation="none", **style)
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
            colour = ON_DARK if value > 0.6 else figures.INK if math.isnan(value) else ON_LIGHT
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
    figures.draw_members(axes, members, "median" if len(members) > 1 else measure)
    if inside := panel.get("inside", 0):
        label = "as in training"
        axes.axvspan(-0.5, inside - 0.5, color=figures.MUTED, alpha=0.18, linewidth=1, label=label)
    figures.percent_axis(axes)
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
        axes.plot(across, up, color=figures.MUTED, linewidth=0.8, alpha=0.8)
        if len(path) > 1:
            axes.plot(*path[0], "o", color=figures.ALERT, markersize=3.5, label="start")
        axes.plot(*path[-1], "D", color=figures.END, markersize=4, label="end")
        axes.annotate(
            name, (across[-1], up[-1]), (4, 4), textcoords="offset points", fontsize=9,
            parse_math=False,
        )  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.12)
    axes.set_aspect("equal", adjustable="datalim")


def _explain(figure: Figure, grid: list[Axes], first: Panel) -> None:
    """Explain colours and marks above all panels."""
    from matplotlib.patches import Patch

    if first["form"] != "heat":
        figures.legend(figure, grid[0])
    elif first.get("exact_match", False):
        patches = [
            Patch(facecolor=colour, edgecolor=figures.MUTED, linewidth=0.5, label=name)
            for _, name, colour in figures.BANDS
        ]
        figure.legend(
            handles=patches, loc="outside upper left", ncols=len(figures.BANDS), fontsize=8,
            handlelength=1, handletextpad=0.4, columnspacing=1,
        )  # fmt: skip
    else:
        image = grid[0].images[0]
        bar = figure.colorbar(image, ax=grid, location="top", shrink=0.6, aspect=40, pad=0.02)
        bar.set_ticks([0, 0.5, 1], labels=["0%", "50%", "100%"])
        bar.ax.tick_params(labelsize=7.5, length=0)
