"""`12-34`: the difference of two numbers, of either sign."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.operations.base import Operation


class Subtraction(Operation):
    symbol = mark = "-"
    name = "subtraction"
    example = "12-34"
    signed = True
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "borrow through zeros": (1_000_000, 1),
        "below zero": (1, 1_000_000),
        "borrow through fifteen zeros": (10**15, 1),
        "nothing left": (10**15, 10**15),
        "one left": (10**15, 10**15 - 1),
        "digits in a row": (987_654_321, 123_456_789),
    }

    def truth(self, *operands: int) -> int:
        first, second = operands
        return first - second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (max(digits),)
