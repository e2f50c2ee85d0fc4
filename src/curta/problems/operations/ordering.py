"""`order 210,7,33`: which number is the least, which the next; of equal ones the earlier first."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from curta.problems.operations.base import Operation


class Ordering(Operation):
    """The answer is the places of the operands, counted from one: 2,3,1 for 210,7,33."""

    symbol = "order"
    mark = "o"
    name = "ordering"
    example = "order 210,7,33"
    least, most = 1, None
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "in order already": (1, 2, 3, 4, 5, 6, 7),
        "in opposite order": (7, 6, 5, 4, 3, 2, 1),
        "all equal": (5, 5, 5, 5, 5),
        "equal ones apart": (7, 3, 7, 3),
        "by the last digit": (123_453, 123_451, 123_452),
        "by length": (1000, 100, 10, 1),
    }

    def truth(self, *operands: int) -> tuple[int, ...]:
        return tuple(sorted(range(1, len(operands) + 1), key=lambda place: operands[place - 1]))

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (len(str(len(digits))),) * len(digits)

    def text(self, operands: tuple[str, ...]) -> str:
        return f"order {','.join(operands)}"

    def value(self, numbers: Sequence[int]) -> tuple[int, ...] | None:
        """None if a place is missing, or comes twice."""
        complete = sorted(numbers) == list(range(1, len(numbers) + 1))
        return tuple(numbers) if numbers and complete else None
