"""A map of two things that were varied: where members are right beyond what they trained on.

Lines are the entries of a comparison that are swept alike, or the values of the first field;
columns are the values of the field that is swept last. A cell's colour is the median of its
members, its number how many of several are right throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from curta.report.compared import Compared
from curta.report.figures import BANDS, INK, band, draw_bands, name_bands, style
from curta.report.summary import range_of
from curta.report.swept import key
from curta.runs.results import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = 30
"""Most lines, and columns, of a map that can be read."""

DARK = len(BANDS) - 2
"""The first colour on which numbers are white."""


class Map(NamedTuple):
    """What is varied by line and by column, and every member's mean exact match in each cell.

    A cell is empty where nothing is known of its run.
    """

    lines: list[str]
    columns: list[str]
    label: str
    cells: list[list[list[float]]]  # lines columns members


def found(compared: Compared) -> Map | None:
    """The map of a comparison; None where two things, and no more, are not varied."""
    swept, entries = compared.results.swept, any(row.entry for row in compared.rows)
    if not swept or len(swept) + entries != 2:
        return None
    *others, last = swept
    rows = {
        (row.entry if entries else key(row.changes[others[0]]), key(row.changes[last])): row
        for row in compared.rows
    }
    lines, columns = (list(dict.fromkeys(names)) for names in zip(*rows, strict=True))
    if not all(1 < len(names) <= LINES for names in (lines, columns)):
        return None
    cells = [[_members(compared, rows.get((y, x))) for x in columns] for y in lines]
    return Map(lines, columns, last, cells)


def draw(known: Map) -> Figure:
    """The map as a figure, its first line above."""
    from matplotlib.figure import Figure

    upwards = known.cells[::-1]
    bands = [
        [band(range_of(cell).median) if cell else math.nan for cell in line] for line in upwards
    ]
    with style():
        names = 0.065 * max(map(len, known.lines))  # inches
        size = 2.0 + names + 0.31 * len(known.columns), 1.2 + 0.3 * len(known.lines)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        image = draw_bands(axes, bands)
        _count(axes, upwards, bands)
        axes.set_xticks(range(len(known.columns)), known.columns, parse_math=False)
        axes.tick_params(axis="x", rotation=60 if len(known.columns) > 8 else 0)
        axes.set_yticks(range(len(known.lines)), known.lines[::-1], parse_math=False)
        axes.set_xlabel(known.label, parse_math=False)
        name_bands(figure, image, "exact match out-of-distribution, median", 1.0)
    return figure


def _members(compared: Compared, row: ComparisonRow | None) -> list[float]:
    return compared.mean(row, False) if row and row.lengths else []


def _count(
    axes: Axes, cells: Sequence[Sequence[list[float]]], bands: Sequence[Sequence[float]]
) -> None:
    """How many members of each cell are right on all that is out-of-distribution."""
    for y, line in enumerate(cells):
        for x, members in enumerate(line):
            if len(members) > 1:
                colour = "white" if bands[y][x] >= DARK else INK
                whole = sum(value == 1 for value in members)
                axes.text(x, y, str(whole), ha="center", va="center", color=colour, fontsize=8)
