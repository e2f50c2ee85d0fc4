"""Problems, and their truth by Python's own integers.

Nothing in this file knows about digits on a device: it is the reference that
everything else is held against.
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from .errors import UserError, unknown

MAX_DIGITS = 100_000
"""Longest operand accepted anywhere: a bound on memory, not on the method."""

_CHUNK = 4000  # digits; below the length at which Python refuses to convert


@dataclass(frozen=True)
class Operator:
    """A sign, its name, and the function of Python ints that is its truth."""

    symbol: str
    name: str
    truth: Callable[[int, int], int]


OPERATORS = {o.symbol: o for o in (Operator("+", "addition", operator.add),)}


@dataclass(frozen=True)
class Problem:
    """An operator between two non-negative integers."""

    operator: str
    operands: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise unknown("operator", self.operator, OPERATORS)
        if any(value < 0 for value in self.operands):
            raise UserError(f"negative operand in {self}: operands are whole numbers from 0 up")

    @property
    def truth(self) -> int:
        return OPERATORS[self.operator].truth(*self.operands)

    def __str__(self) -> str:
        return self.operator.join(map(to_text, self.operands))


def parse(text: str) -> Problem:
    """Reads `"12+34"`; blanks around numbers and a final `=` are allowed.

    Raises UserError for anything but digits, one operator, digits.
    """
    plain = text.strip().removesuffix("=").rstrip()
    signs = "".join(map(re.escape, OPERATORS))
    match = re.fullmatch(rf"([0-9]+)\s*([{signs}])\s*([0-9]+)", plain)
    if match is None:
        raise UserError(f"cannot read {_shortened(text)}: {_complaint(plain)}")
    first, symbol, second = match.groups()
    _check_length(first)
    _check_length(second)
    return Problem(symbol, (to_int(first), to_int(second)))


def to_int(digits: str) -> int:
    """`int(digits)` for any length, in pieces that Python's conversion limit allows."""
    if len(digits) <= _CHUNK:
        return int(digits)
    half = len(digits) // 2
    return to_int(digits[:half]) * 10 ** (len(digits) - half) + to_int(digits[half:])


def to_text(value: int) -> str:
    """`str(value)` for any length of a non-negative int."""
    if value < 10**_CHUNK:
        return str(value)
    half = int(value.bit_length() * 0.30103) // 2
    high, low = divmod(value, 10**half)
    return to_text(high) + to_text(low).rjust(half, "0")


def _check_length(digits: str) -> None:
    if len(digits) > MAX_DIGITS:
        raise UserError(f"operand of {len(digits):,} digits: at most {MAX_DIGITS:,} are accepted")


def _shortened(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}")


def _complaint(text: str) -> str:
    """The most specific thing that can be said of a text that is no problem."""
    known = " ".join(OPERATORS)
    if not text:
        return "the line is empty; write a problem such as 12+34"
    if re.search(r"[0-9][.,][0-9]|[0-9][eE][0-9]", text):
        return "only whole numbers can be calculated with, such as 12+34"
    if re.search(r"(^|[^0-9\s])\s*-\s*[0-9]", text):
        return "operands are whole numbers from 0 up, such as 12+34"
    strange = sorted(set(re.findall(rf"[^0-9\s{''.join(map(re.escape, OPERATORS))}]", text)))
    if strange:
        return f"{' '.join(strange)!r} is no digit and no known operator ({known})"
    if len(re.findall(r"[0-9]+", text)) > 2:
        return "one operator and two operands are expected, such as 12+34"
    return "an operand is missing; write a problem such as 12+34"
