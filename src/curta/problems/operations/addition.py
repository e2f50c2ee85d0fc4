"""`1+22+333`: the sum of two numbers or more."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.operations.base import Operation


class Addition(Operation):
    symbol = mark = "+"
    name = "addition"
    example = "12+34"
    most = None
    commutes = True
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "carry through nines": (999_999, 1),
        "the other way round": (1, 999_999),
        "carry through fifteen nines": (10**15 - 1, 1),
        "powers of ten": (10**15, 10**15),
        "digits in a row": (123_456_789, 987_654_321),
    }

    def truth(self, *operands: int) -> int:
        return sum(operands)

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (max(digits) + len(str(len(digits) - 1)),)
