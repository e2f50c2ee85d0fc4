"""Pictures as data: a heat map, lines or stems over named points, or paths in a plane.

A probe returns such a description. It is stored as JSON beside the table, and `report.figures.draw`
draws it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class Heat(TypedDict):
    """Shares from 0 to 1 by row and column, None where a cell has none; `texts` label the cells.

    With `exact_match`, only cells of exactly 1 have the darkest colour.
    """

    form: Literal["heat"]
    title: str
    across: str
    down: str
    columns: list[str]
    rows: list[str]
    values: list[list[float | None]]
    texts: NotRequired[list[list[str]]]
    exact_match: NotRequired[bool]


class Lines(TypedDict):
    """One curve of shares per member over named points; the first `inside` points are shaded.

    They are exact match, unless `measure` names another share.
    """

    form: Literal["lines"]
    title: str
    across: str
    points: list[str]
    curves: list[list[float | None]]
    inside: NotRequired[int]
    measure: NotRequired[str]


class Stems(TypedDict):
    """Shares over many named points for each named member, most of them small."""

    form: Literal["stems"]
    title: str
    across: str
    points: list[str]
    names: list[str]
    curves: list[list[float]]


class Paths(TypedDict):
    """Named paths in a plane, from start to end."""

    form: Literal["paths"]
    title: str
    names: list[str]
    paths: list[list[list[float]]]


Panel = Heat | Lines | Stems | Paths


class Picture(TypedDict):
    """Panels, and one sentence that describes them."""

    shows: str
    panels: list[Panel]


def percent_texts(values: Sequence[Sequence[float | None]], none: str = "") -> list[list[str]]:
    """Return shares as whole percentages, for the cells of a heat map."""
    return [[none if value is None else f"{value:.0%}" for value in row] for row in values]


def lines(
    title: str, across: str, at: str, rows: Sequence[Mapping[str, Any]], members: int, **more: Any
) -> Lines:
    """Return each member's values as a curve over the values of column `at`."""
    curves = [[r["members"] and r["members"][member] for r in rows] for member in range(members)]
    panel: Any = {"form": "lines", "title": title, "across": across}
    drawn: Lines = panel | {"points": [str(r[at]) for r in rows], "curves": curves} | more
    return drawn


def heat(
    title: str,
    across: str,
    down: str,
    columns: Sequence[str],
    rows: Sequence[str],
    values: list[list[float | None]],
    texts: list[list[str]] | None = None,
    **more: Any,
) -> Heat:
    """Return a heat map; `across` and `down` name its axes, `columns` and `rows` its cells."""
    panel: Any = {"form": "heat", "title": title, "across": across, "down": down}
    panel |= {"columns": list(columns), "rows": list(rows), "values": values}
    drawn: Heat = panel | more | ({} if texts is None else {"texts": texts})
    return drawn


def by_member(
    title: str, names: list[str], rows: Sequence[Mapping[str, Any]], members: Sequence[int]
) -> Heat:
    """Return a heat map with a named row per table row, and a column per member."""
    values = [row["members"] or [None] * len(members) for row in rows]
    columns = [str(member) for member in members]
    return heat(title, "member", "", columns, names, values, percent_texts(values, "no room"))


def by_two(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    down: str,
    across: str,
    label: str,
    value: str = "median",
) -> Heat:
    """Return a heat map of one column's values by two others; `label` names the axis across."""
    names = list(dict.fromkeys(row[down] for row in rows))
    places = list(dict.fromkeys(row[across] for row in rows))
    cells = {(row[down], row[across]): row[value] for row in rows}
    values = [[cells[name, place] for place in places] for name in names]
    shares: list[list[float | None]] = [[min(1.0, max(0.0, v)) for v in row] for row in values]
    return heat(title, label, down, list(map(str, places)), names, shares, percent_texts(values))


def by_digit(title: str, down: str, rows: Sequence[Mapping[str, Any]]) -> Heat:
    """Return a heat map of medians by one column and the digits of the answer."""
    return by_two(title, rows, down, "digit", "digit of the answer, as written")
