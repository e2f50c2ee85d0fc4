"""What goes wrong: for every size and slice a problem, and the first wrong token in it."""

from statistics import median
from typing import NamedTuple

from curta.evaluation.results import FirstError, SliceResult, WrongAnswer
from curta.programs.machine.paper import CARRIES
from curta.report.run_folder import Run
from curta.report.summary import by_operator, size_name

AROUND = 12
"""Tokens that are shown on both sides of the first wrong one."""


class Place(NamedTuple):
    """The first wrong token, what stands around it, and what would be right there."""

    token: int
    before: str
    wrote: str
    after: str
    right: str


class Row(NamedTuple):
    """The problem that stands for a size and slice, and how many of the members have any wrong."""

    size: str
    slice_name: str
    wrong: float
    members: int
    of: int
    error: WrongAnswer
    place: Place


def errors(run: Run) -> dict[str, list[Row]] | None:
    """The rows of every operator that has any errors; None without an evaluation."""
    rows = run.evaluation.lengths
    if not rows:
        return None
    wrong = {name: [r for r in mine if r.errors] for name, mine in by_operator(rows).items()}
    return {operator: [_row(row) for row in mine] for operator, mine in wrong.items() if mine}


def _row(row: SliceResult) -> Row:
    """With the error of the weakest member."""
    one, exact = min(row.errors, key=lambda e: row.exact_match[e.member]), row.exact_match
    wrong, place = 1 - median(exact), place_of(one.first_error)
    return Row(size_name(row), row.slice_name, wrong, len(row.errors), len(exact), one, place)


def place_of(first_error: FirstError) -> Place:
    """Where a text goes wrong; blanks are signs that can be seen."""
    text, expected = _shown(first_error.written), _shown(first_error.expected)
    at = first_error.at - first_error.start
    wrote, first = _symbol(text, at), max(0, at - AROUND)
    stop = at + len(wrote)
    before = "…" * bool(first_error.start + first) + text[first:at]
    after = text[stop : stop + AROUND] + "…" * (len(text) > stop + AROUND)
    return Place(first_error.token + 1, before, wrote, after, _symbol(expected, at))


def _symbol(text: str, at: int) -> str:
    """The symbol that begins there, with what it carries; nothing behind the end."""
    end = at + 1
    while end < len(text) and text[end] in CARRIES:
        end += 1
    return text[at:end]


def _shown(text: str) -> str:
    return text.replace(" ", "␣")
