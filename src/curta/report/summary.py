"""Summaries of exact-match values, and how numbers are written on the page."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

MISSING = "—"
"""Stands where nothing was measured."""


def finite(values: Iterable[float | None]) -> list[float]:
    """The values that are numbers: a member that stopped has a loss of None or NaN."""
    return [value for value in values if value is not None and math.isfinite(value)]


def percent(share: float) -> str:
    """A share in percent to one decimal; only all is 100.0 and only none is 0.0."""
    if 0.9995 <= share < 1:
        return ">99.9"
    if 0 < share < 0.0005:
        return "<0.1"
    return f"{100 * share:.1f}"


def duration(seconds: float) -> str:
    """Seconds as people say them: `2.4 s`, `3 min 20 s`, `1 h 5 min`."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def counted(count: int, noun: str) -> str:
    """`1 member`, `8 members`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def span(bounds: Sequence[int]) -> str:
    """A range of operand lengths: `1 to 10 digits`, or `5 digits`."""
    first, last = bounds
    return counted(last, "digit") if first == last else f"{first:,} to {last:,} digits"


def listed(numbers: Sequence[int]) -> str:
    """Whole numbers, a run of them by its ends: `0 to 7`, or `3, 1, 4`."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def minute(moment: str) -> str:
    """An ISO time to the minute: `2025-06-01 12:00 UTC`."""
    return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M %Z}".rstrip()
