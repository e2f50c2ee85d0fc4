"""`123//4` and `123%4`: quotient and remainder, as Python has them for whole numbers."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.operations.base import Operation


class Division(Operation):
    """What quotient and remainder share."""

    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "of nines by nine": (999_999, 9),
        "of a power of ten by seven": (10**15, 7),
        "by itself": (123_456_789, 123_456_789),
        "by one": (123_456_789, 1),
        "by a larger one": (123, 456),
        "one below a multiple": (999_998, 999),
        "of zero": (0, 7),
    }

    def refuse(self, operands: tuple[int, ...]) -> str | None:
        return "division by zero has no answer" if operands[1] == 0 else None


class Quotient(Division):
    symbol, mark = "//", "/"
    name = "division"
    example = "123//4"

    def truth(self, *operands: int) -> int:
        first, second = operands
        return first // second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (digits[0],)


class Remainder(Division):
    symbol = mark = "%"
    name = "modulo"
    example = "123%4"

    def truth(self, *operands: int) -> int:
        first, second = operands
        return first % second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (digits[1],)
