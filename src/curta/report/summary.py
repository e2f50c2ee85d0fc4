"""Summaries of exact match, and how numbers are written on a page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from statistics import median

from curta.config.table import MISSING, spanned
from curta.evaluation.results import SliceResult
from curta.evaluation.statistics import Range, range_of
from curta.report.run_folder import Trained
from curta.runs.info import Checkout


def by_step(members: Mapping[int, Mapping[int, float]]) -> dict[int, Range]:
    """Return the range over members at each step; a member counts where it has a value."""
    steps = sorted({step for curve in members.values() for step in curve})
    return {step: range_of(c[step] for c in members.values() if step in c) for step in steps}


def finite(values: Iterable[float | None]) -> list[float]:
    """Return the finite values: a member that stopped has a loss of None or NaN."""
    return [value for value in values if value is not None and math.isfinite(value)]


def percent(share: float | None) -> str:
    """Return percent to one decimal: only 1 is `100.0`, only 0 is `0.0`; a dash for None.

    >>> [percent(share) for share in (1, 0.99996, 0.995, 0.0001, 0)]
    ['100.0', '>99.9', '99.5', '<0.1', '0.0']
    """
    if share is None:
        return MISSING
    if 0.9995 <= share < 1:
        return ">99.9"
    if 0 < share < 0.0005:
        return "<0.1"
    return f"{100 * share:.1f}"


def number(value: float | None) -> str:
    """Return `1,234`; a dash for None."""
    return MISSING if value is None else f"{value:,}"


def significant(value: float | None, digits: int) -> str:
    """Return a number to `digits` significant digits, `0.00123`; a dash for None."""
    return MISSING if value is None else f"{value:.{digits}g}"


def perplexity(value: float) -> str:
    """Return `1.000`, `12.345`, `5.7e+04`."""
    return f"{value:.3f}" if value < 1000 else f"{value:.2g}"


def duration(seconds: float | None) -> str:
    """Return seconds with their units; a dash for None.

    >>> [duration(seconds) for seconds in (2.44, 59.97, 200, 3900)]
    ['2.4 s', '1 min 0 s', '3 min 20 s', '1 h 5 min']
    """
    if seconds is None:
        return MISSING
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {remainder} s"
    return f"{minutes // 60} h {minutes % 60} min"


def checkout(code: tuple[str, Checkout]) -> str:
    """Return the name of a code base and its git commit.

    >>> checkout(("curta", Checkout("0123456789abcdef", dirty=True)))
    'curta 0123456789 and changes'
    """
    name, commit = code
    return f"{name} {commit.commit[:10]}{' and changes' if commit.dirty else ''}"


def setting(value: object) -> str:
    """Return a setting of an evaluation on one line.

    >>> setting([20, "50/25"]), setting({"+": [20]})
    ('20, 50/25', '+: 20')
    """
    if isinstance(value, dict):
        return "; ".join(f"{key}: {setting(item)}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def hardest(rows: Iterable[SliceResult]) -> list[float]:
    """Return each member's exact match in the row where it is lowest."""
    return [min(values) for values in zip(*(row.exact_match for row in rows), strict=True)]


def by_operator(rows: Sequence[SliceResult]) -> dict[str, list[SliceResult]]:
    """Return the rows of each operator by length, operators in the order of the file."""
    groups: dict[str, list[SliceResult]] = {row.operator: [] for row in rows}
    for row in sorted(rows, key=lambda row: row.digits):
        groups[row.operator].append(row)
    return groups


def by_size(rows: Iterable[SliceResult]) -> dict[str, list[SliceResult]]:
    """Return the rows of one operator by the name of their size."""
    groups: dict[str, list[SliceResult]] = {}
    for row in rows:
        groups.setdefault(size_name(row.size), []).append(row)
    return groups


def collapse(rows: Sequence[SliceResult]) -> list[SliceResult]:
    """Merge the slices of a size into one row where all of them are right."""
    collapsed = list[SliceResult]()
    for _, group in groupby(rows, key=lambda row: (row.operator, row.size)):
        slices = list(group)
        if len(slices) > 1 and all(min(r.exact_match) == 1 and r.generated.agrees for r in slices):
            pace = round(median(row.generated.tokens_per_second for row in slices))
            generated = replace(slices[0].generated, tokens_per_second=pace)
            count, name = sum(row.count for row in slices), f"all {len(slices)}"
            slices = [replace(slices[0], slice_name=name, count=count, generated=generated)]
        collapsed += slices
    return collapsed


def size_name(size: str) -> str:
    """Return `1,000` for 1000; `50/25` and `20x5` stay."""
    return f"{int(size):,}" if size.isdecimal() else size


def trained_on(trained: Trained) -> str:
    """Return `1 to 10 digits`, `1 to 6 by 1 to 3 digits`, `1 to 6 numbers of 1 to 5 digits`."""
    first, others, operands = trained
    lengths = spanned(others, "digit")
    lengths = lengths if first == others else f"{_bounds(first)} by {lengths}"
    return f"{_bounds(operands)} numbers of {lengths}" if operands else lengths


def trained_tasks(trained: Mapping[str, Trained]) -> str:
    """Return the lengths of training by operator; operators with the same lengths share them."""
    lengths: dict[str, list[str]] = {}
    for operator, task in trained.items():
        lengths.setdefault(trained_on(task), []).append(operator)
    if len(lengths) == 1:
        return next(iter(lengths))
    return "; ".join(f"{' '.join(same)} {text}" for text, same in lengths.items())


def listed(numbers: Sequence[int]) -> str:
    """Return whole numbers as text, consecutive ones by their ends: `0 to 7`, or `3, 1, 4`."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def minute(moment: str) -> str:
    """Return an ISO time to the minute, `2025-06-01 12:00 UTC`; any other text unchanged."""
    try:
        return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M %Z}".rstrip()
    except ValueError:
        return moment


def _bounds(bounds: Sequence[int]) -> str:
    first, last = bounds
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
