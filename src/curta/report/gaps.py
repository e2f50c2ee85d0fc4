"""Trained problems beside held-out ones: the rows that the terminal and reports show."""

from collections.abc import Sequence
from typing import NamedTuple

from curta.evaluation.results import Gap


class Row(NamedTuple):
    """A kind of problems, how many, and exact match of every member; of the gap, the difference."""

    name: str
    problems: int | None
    values: list[float]


def rows(gap: Gap) -> list[Row]:
    """Trained, held out, the gap; last those held out whose twin is in training, if any."""
    shares = {"trained": gap.trained, "held out": gap.held_out}
    found = [Row(name, one.count, one.exact_match) for name, one in shares.items()]
    found.append(Row("gap", None, gap.gap))
    if gap.twins is not None:
        found.append(Row("held out, twin in training", gap.twins.count, gap.twins.exact_match))
    return found


def section(gaps: Sequence[Gap]) -> list[tuple[Gap, list[Row]]] | None:
    """Every operator with its rows; None where nothing is known of what was trained on."""
    return [(gap, rows(gap)) for gap in gaps] or None
