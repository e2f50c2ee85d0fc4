"""`copy 123` and `reverse 123`: the same digits again, or from the other end."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.decimals import to_int, to_text
from curta.problems.operations.base import Operation


class Single(Operation):
    """What operations on the digits of one number share."""

    least = most = 1
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "a power of ten": (10**15,),
        "digits in a row": (1_234_567_890,),
        "one digit throughout": (777_777_777,),
        "the same from both ends": (123_454_321,),
        "one digit": (7,),
    }

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (digits[0],)

    def text(self, operands: tuple[str, ...]) -> str:
        return f"{self.symbol} {operands[0]}"


class Copy(Single):
    symbol = name = "copy"
    mark = "c"
    example = "copy 123"

    def truth(self, *operands: int) -> int:
        return operands[0]


class Reverse(Single):
    """The number whose decimal digits stand in opposite order: 120 gives 21."""

    symbol = name = "reverse"
    mark = "r"
    example = "reverse 123"

    def truth(self, *operands: int) -> int:
        return to_int(to_text(operands[0])[::-1])
