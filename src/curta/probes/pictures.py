"""Pictures as data: a heat map, lines or stems over named points, or paths in a plane.

Whoever examines a run hands back such a description; it is kept as JSON beside the
figures it shows, and whoever has it can draw it (`charts.draw`).
"""

from typing import Literal, NotRequired

from typing_extensions import TypedDict


class Heat(TypedDict):
    """Shares from 0 to 1 by row and column, None where there is none; `texts` are written in.

    With `exact_match`, cells are exact match, and only full ones have the darkest colour.
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
    """One curve of shares for each member over named points; the first `inside` are shaded.

    They are exact match, unless `measure` says of what.
    """

    form: Literal["lines"]
    title: str
    across: str
    points: list[str]
    curves: list[list[float | None]]
    inside: NotRequired[int]
    measure: NotRequired[str]


class Stems(TypedDict):
    """For each member, by its name, shares over many named points, of which most are small."""

    form: Literal["stems"]
    title: str
    across: str
    points: list[str]
    names: list[str]
    curves: list[list[float]]


class Paths(TypedDict):
    """Named paths in a plane, from their start to their end."""

    form: Literal["paths"]
    title: str
    names: list[str]
    paths: list[list[list[float]]]


Panel = Heat | Lines | Stems | Paths


class Picture(TypedDict):
    """Panels, and one sentence that says what they show."""

    shows: str
    panels: list[Panel]
