"""`sort 210,7,33`: numbers in ascending order; equal ones keep theirs."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.operations.base import Operation


class Sorting(Operation):
    symbol = "sort"
    mark = "s"
    name = "sorting"
    example = "sort 210,7,33"
    least, most = 1, None
    commutes = True
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "in order already": (1, 2, 3, 4, 5, 6, 7),
        "in opposite order": (7, 6, 5, 4, 3, 2, 1),
        "all equal": (5, 5, 5, 5, 5),
        "by the last digit": (123_453, 123_451, 123_452),
        "by length": (1000, 100, 10, 1),
        "zero among nines": (999, 0, 999),
    }

    def truth(self, *operands: int) -> tuple[int, ...]:
        return tuple(sorted(operands))

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (max(digits),) * len(digits)

    def text(self, operands: tuple[str, ...]) -> str:
        return f"sort {','.join(operands)}"

    def value(self, numbers: Sequence[int]) -> tuple[int, ...] | None:
        return tuple(numbers) or None
