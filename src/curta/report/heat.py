"""Exact match for every pair of operand lengths, as a map that tells the value of each cell.

It is drawn whole; the script `heat.js` adds what is under the pointer or chosen by keys, and
shows single members. Cells hold how many problems are right, so that nothing is rounded.
"""

from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

from curta.evaluation.results import Grid
from curta.report.descriptions import DESCRIPTIONS
from curta.report.figures import BANDS, band, cells_trained_on, median_cells
from curta.report.run_folder import Run, Trained

SIDE, LEFT, BELOW = 400, 52, 44
"""Of the map itself, and the room for the names of rows and columns."""
NAMED = 10
"""Most lengths that are named along an axis."""


class Rect(NamedTuple):
    """Neighbouring cells of one colour, or a frame around cells."""

    x: float
    y: float
    width: float
    height: float
    band: int = 0


class Member(NamedTuple):
    """One member's cells; `at` are the operand lengths of its lowest one."""

    member: int
    mean: float
    perfect: int
    cells: int
    lowest: float
    at: tuple[int, int]


class Map(NamedTuple):
    """The drawing: rows of cells from its upper edge down, and lengths with their places."""

    says: str
    rows: list[list[Rect]]
    names: list[tuple[str, float]]
    frame: Rect | None
    cell: float
    data: dict[str, Any]
    side: int = SIDE
    left: int = LEFT
    below: int = BELOW


class Section(NamedTuple):
    """A grid with the name of its picture, its map and a row for each member.

    `equal` is the exact match of every cell where all members have the same in all of them.
    """

    name: str
    grid: Grid
    trained: Trained | None
    map: Map
    members: list[Member]
    worst: Member
    """The member with the lowest cell of all, which a median would hide."""
    equal: float | None


def named_grids(run: Run) -> dict[str, Grid]:
    """The grids by the names of their pictures: `grid`, `grid-2` of the next operator."""
    grids = run.evaluation.grids
    return {"grid" if n == 1 else f"grid-{n}": one for n, one in enumerate(grids, 1)}


def sections(run: Run) -> list[Section]:
    """The data of the sections, an operator after the other."""
    return [_section(run, name, grid) for name, grid in named_grids(run).items()]


def _section(run: Run, name: str, grid: Grid) -> Section:
    trained = run.trained.get(grid.operator)
    members = [_member(grid, number) for number in range(len(grid.exact_match))]
    worst = min(members, key=lambda one: (one.lowest, one.at, one.member))
    return Section(name, grid, trained, _map(grid, trained), members, worst, _equal(grid))


def _equal(grid: Grid) -> float | None:
    found = {value for member in grid.exact_match for row in member for value in row}
    return found.pop() if len(found) == 1 else None


def _member(grid: Grid, number: int) -> Member:
    values = {
        (first, second): value
        for first, row in zip(grid.digits, grid.exact_match[number], strict=True)
        for second, value in zip(grid.digits, row, strict=True)
    }
    lowest, at = min((value, at) for at, value in values.items())
    perfect = sum(value >= 1 for value in values.values())
    return Member(number, fmean(values.values()), perfect, len(values), lowest, at)


def _map(grid: Grid, trained: Trained | None) -> Map:
    digits, lines = grid.digits, reversed(median_cells(grid.exact_match))
    side, step = SIDE / len(digits), -(-len(digits) // NAMED)
    data = {
        "digits": digits,
        "count": grid.count,
        "edges": [edge for edge, _, _ in BANDS],
        "correct": _counts(grid),
    }
    return Map(
        DESCRIPTIONS["grid"],
        rows=[_row(line, values) for line, values in enumerate(lines)],
        names=[(f"{digits[i]:,}", (i + 0.5) * side) for i in range(step - 1, len(digits), step)],
        frame=_frame(digits, trained) if trained else None,
        cell=side,
        data=data,
    )


def _counts(grid: Grid) -> list[list[list[int]]]:
    """Problems that each member has right, by first and second operand's length."""
    count = grid.count
    return [
        [[round(share * count) for share in row] for row in member] for member in grid.exact_match
    ]


def _row(line: int, values: list[float]) -> list[Rect]:
    """One line of cells, neighbours of a colour as one."""
    parts, at = [], 0
    for level, same in groupby(map(band, values)):
        wide = len(list(same))
        parts.append(Rect(at, line, wide, 1, level))
        at += wide
    return parts


def _frame(digits: list[int], trained: Trained) -> Rect | None:
    """Around the cells whose operands both have a length that was trained on."""
    up, across = cells_trained_on(digits, trained)
    if not (up and across):
        return None
    side = SIDE / len(digits)
    return Rect(
        LEFT + across[0] * side, SIDE - (up[-1] + 1) * side, len(across) * side, len(up) * side
    )
