"""Problems with the answers of the members: which are shown, and which digits are wrong."""

from collections.abc import Sequence
from itertools import chain, groupby, repeat, zip_longest
from typing import NamedTuple

from curta.evaluation.results import Example
from curta.report.summary import counted

_SHOWN = 24


class Examples(NamedTuple):
    """The examples that a report shows, wrong ones first, of all that were kept."""

    shown: list[Example]
    total: int
    wrong: int


def examples(found: Sequence[Example]) -> Examples | None:
    """Some of the examples of an evaluation; None where there are none."""
    if not found:
        return None
    wrong = [one for one in found if one.answer != one.truth]
    right = [one for one in found if one.answer == one.truth]
    shown = _evenly(wrong, _SHOWN)
    shown += _evenly(right, _SHOWN - len(shown))
    return Examples(shown, len(found), len(wrong))


def _evenly(found: Sequence[Example], count: int) -> list[Example]:
    """At most `count` of them, from every part: they come by operator, size and member."""
    kept = min(count, len(found))
    return [found[index * len(found) // kept] for index in range(kept)]


def marked(answer: str, truth: str) -> list[tuple[str, bool]]:
    """The answer in pieces, and whether each of them is right."""
    numbers = zip(answer.split(","), chain(truth.split(","), repeat("")), strict=False)
    places = [place for pair in numbers for place in ((",", True), *_compared(*pair))]
    runs = groupby(places[1:], key=lambda place: place[1])
    return [("".join(digit for digit, _ in run), right) for right, run in runs]


def _compared(number: str, truth: str) -> list[tuple[str, bool]]:
    """Every character and whether it is right; digits count their places from the ones."""
    if number.isalpha():
        return [(letter, number == truth) for letter in number]
    digits, expected = number.removeprefix("-"), truth.removeprefix("-")
    expected = _with_places(expected, _places(digits))
    padded = expected.rjust(len(digits))
    aligned = padded[len(padded) - len(digits) :]
    sign = [("-", truth.startswith("-"))] if number.startswith("-") else []
    return sign + [(digit, digit == right) for digit, right in zip(digits, aligned, strict=True)]


def verdict(answer: str | None, truth: str) -> str:
    """`right`, `invalid`, or how much of the answer is wrong."""
    if answer is None:
        return "invalid"
    if answer == truth:
        return "right"
    given, expected = answer.split(","), truth.split(",")
    if len(given) != len(expected):
        return f"{counted(len(given), 'number')} for {len(expected)}"
    if answer.isalpha() or truth.isalpha():
        return "wrong"
    wrong = sum(_differing(*pair) for pair in zip(given, expected, strict=True))
    return f"{counted(wrong, 'place')} wrong"


def _differing(number: str, truth: str) -> int:
    """Places in which two numbers differ; a sign is one more place of theirs."""
    most = max(map(_places, (number, truth)))
    digits, others = (_with_places(one.removeprefix("-"), most) for one in (number, truth))
    pairs = zip_longest(reversed(digits), reversed(others))
    return sum(a != b for a, b in pairs) + (number.startswith("-") != truth.startswith("-"))


def _places(number: str) -> int:
    """Digits after a point."""
    return len(number.partition(".")[2])


def _with_places(number: str, count: int) -> str:
    """A number with so many digits after its point: zeros more, or the last ones less."""
    whole, point, below = number.partition(".")
    return f"{whole}.{below[:count].ljust(count, '0')}" if point and count else number
