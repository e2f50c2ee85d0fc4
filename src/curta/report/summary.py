"""Summaries of exact-match values, and how numbers are written on the page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import NamedTuple

from curta.config.table import MISSING as MISSING
from curta.config.table import cell as cell
from curta.config.table import counted as counted
from curta.config.table import spanned
from curta.evaluation.results import SliceResult
from curta.report.run_folder import Trained
from curta.runs.info import Checkout


class Range(NamedTuple):
    """Median, minimum and maximum over members."""

    median: float
    min: float
    max: float


def range_of(values: Iterable[float]) -> Range:
    """Return median, minimum and maximum."""
    every = list(values)
    return Range(median(every), min(every), max(every))


def finite(values: Iterable[float | None]) -> list[float]:
    """The values that are numbers: a member that stopped has a loss of None or NaN."""
    return [value for value in values if value is not None and math.isfinite(value)]


def percent(share: float | None) -> str:
    """A share in percent to one decimal; only all is 100.0, only none 0.0; a dash for None."""
    if share is None:
        return MISSING
    if 0.9995 <= share < 1:
        return ">99.9"
    if 0 < share < 0.0005:
        return "<0.1"
    return f"{100 * share:.1f}"


def number(value: float | None) -> str:
    """`1,234`; a dash for None."""
    return MISSING if value is None else f"{value:,}"


def significant(value: float | None, digits: int) -> str:
    """A number to so many digits: `0.00123`; a dash for None."""
    return MISSING if value is None else f"{value:.{digits}g}"


def perplexity(value: float) -> str:
    """`1.000`, `12.345`, `5.7e+04`."""
    return f"{value:.3f}" if value < 1000 else f"{value:.2g}"


def duration(seconds: float | None) -> str:
    """Seconds as people say them: `2.4 s`, `3 min 20 s`, `1 h 5 min`; a dash for None."""
    if seconds is None:
        return MISSING
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def checkout(known: tuple[str, Checkout]) -> str:
    """Whose code, and its git commit.

    >>> checkout(("curta", Checkout("0123456789abcdef", dirty=True)))
    'curta 0123456789 and changes'
    """
    name, one = known
    return f"{name} {one.commit[:10]}{' and changes' if one.dirty else ''}"


def setting(value: object) -> str:
    """A setting of an evaluation, on one line.

    >>> setting([20, "50/25"]), setting({"+": [20]})
    ('20, 50/25', '+: 20')
    """
    if isinstance(value, dict):
        return "; ".join(f"{key}: {setting(one)}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def hardest(rows: Iterable[SliceResult]) -> list[float]:
    """Exact match of every member where it is lowest in these rows."""
    return [min(values) for values in zip(*(row.exact_match for row in rows), strict=True)]


def by_operator(rows: Sequence[SliceResult]) -> dict[str, list[SliceResult]]:
    """Operators in the order of the file, each with its rows by length."""
    groups: dict[str, list[SliceResult]] = {row.operator: [] for row in rows}
    for row in sorted(rows, key=lambda row: row.digits):
        groups[row.operator].append(row)
    return groups


def by_size(rows: Iterable[SliceResult]) -> dict[str, list[SliceResult]]:
    """The rows of one operator by the size of their problems, as people write it."""
    groups: dict[str, list[SliceResult]] = {}
    for row in rows:
        groups.setdefault(size_name(row), []).append(row)
    return groups


def size_name(row: SliceResult) -> str:
    """`1,000`, or `50/25` and `20x5` as they are."""
    return f"{row.digits:,}" if row.size.isdecimal() else row.size


def trained_on(trained: Trained) -> str:
    """`1 to 10 digits`, `1 to 6 by 1 to 3 digits`, `1 to 6 numbers of 1 to 5 digits`."""
    first, others, operands = trained
    lengths = spanned(others, "digit")
    lengths = lengths if first == others else f"{_bounds(first)} by {lengths}"
    return f"{_bounds(operands)} numbers of {lengths}" if operands else lengths


def trained_tasks(trained: Mapping[str, Trained]) -> str:
    """Operators with the lengths they were trained on; those alike are named together."""
    lengths: dict[str, list[str]] = {}
    for operator, task in trained.items():
        lengths.setdefault(trained_on(task), []).append(operator)
    if len(lengths) == 1:
        return next(iter(lengths))
    return "; ".join(f"{' '.join(same)} {text}" for text, same in lengths.items())


def listed(numbers: Sequence[int]) -> str:
    """Whole numbers, a run of them by its ends: `0 to 7`, or `3, 1, 4`."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def minute(moment: str) -> str:
    """An ISO time to the minute: `2025-06-01 12:00 UTC`; what is none as it is."""
    try:
        return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M %Z}".rstrip()
    except ValueError:
        return moment


def _bounds(bounds: Sequence[int]) -> str:
    first, last = bounds
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
