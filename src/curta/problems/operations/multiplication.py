"""`12*34`: the product of two numbers."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.operations.base import Operation


class Multiplication(Operation):
    symbol = mark = "*"
    name = "multiplication"
    example = "12*34"
    commutes = True
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "nines": (999_999, 999_999),
        "by one": (1, 999_999),
        "by zero": (999_999, 0),
        "powers of ten": (10**6, 10**6),
        "ones": (111_111, 111_111),
        "digits in a row": (12_345_679, 9),
    }

    def truth(self, *operands: int) -> int:
        first, second = operands
        return first * second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (sum(digits),)
