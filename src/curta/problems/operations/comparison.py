"""`12<34`: whether the first number is less than the second."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.operations.base import Operation


class Comparison(Operation):
    """The answer is true or false; on the device, the number 1 or 0."""

    symbol = mark = "<"
    name = "comparison"
    example = "12<34"
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "equal": (10**15, 10**15),
        "one less": (10**15 - 1, 10**15),
        "one more": (10**15, 10**15 - 1),
        "shorter but larger digits": (999_999, 1_000_000),
        "last digit": (123_456_788, 123_456_789),
        "first digit": (199_999_999, 200_000_000),
    }

    def truth(self, *operands: int) -> bool:
        first, second = operands
        return first < second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (1,)

    def value(self, numbers: Sequence[int]) -> bool | None:
        return bool(numbers[0]) if list(numbers) in ([0], [1]) else None
