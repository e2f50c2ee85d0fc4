"""The contract of a probe: an examination of what the members of a run have learned.

A probe is a frozen dataclass. Its fields are its options, on the command line and in
Python; `about` says which tasks of a run it can examine, and `examine` hands back a
`Finding`: a table, and a picture described by data, so that whoever has the finding can
draw it. A probe never trains, and draws its problems by a seed that its table states.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from curta.probes.pictures import Heat, Lines, Picture
from curta.probes.settings import Options
from curta.probes.settings import option as option
from curta.probes.subject import Subject

Row = dict[str, Any]
"""A value for every column of a probe's own table."""


class Finding(NamedTuple):
    """What a probe found; every row has a value for every column. Not all has a picture."""

    columns: tuple[str, ...]
    rows: list[Row]
    picture: Picture | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Probe(Options, ABC):
    """One examination. Registered by name in `PROBES`."""

    @abstractmethod
    def examine(self, subject: Subject) -> Finding:
        """Asks the members and counts."""


STATISTICS = ("median", "min", "max", "members")
"""The columns of `summary_statistics`."""


def summary_statistics(values: Iterable[float] | None) -> Row:
    """Median, lowest and highest of a figure over the members, and each member's own.

    None of them, if the model had no positions for what was to be asked.
    """
    if values is None:
        return dict.fromkeys(STATISTICS)
    every = [round(float(value), 6) for value in values]
    return {"median": median(every), "min": min(every), "max": max(every), "members": every}


def lines(title: str, across: str, at: str, rows: Sequence[Row], members: int) -> Lines:
    """Each member's figures as a curve, over what the rows have in their column `at`."""
    return {
        "form": "lines",
        "title": title,
        "across": across,
        "points": [str(row[at]) for row in rows],
        "curves": [
            [row["members"] and row["members"][member] for row in rows] for member in range(members)
        ],
    }


def by_member(title: str, names: list[str], rows: Sequence[Row], members: Sequence[int]) -> Heat:
    """Rows below each other by their names, with each member's figure in a column."""
    values = [row["members"] or [None] * len(members) for row in rows]
    return {
        "form": "heat",
        "title": title,
        "across": "member",
        "down": "",
        "columns": [str(member) for member in members],
        "rows": names,
        "values": values,
        "texts": [["no room" if v is None else f"{v:.0%}" for v in row] for row in values],
    }
