"""How large problems are: digit counts of their operands, and how many operands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from curta.config.task import Span


class Sizes(NamedTuple):
    """Fewest and most digits of the first operand and of each further one, and of operands."""

    first: Span
    others: Span
    operands: Span

    @classmethod
    def exactly(cls, digits: Sequence[int]) -> "Sizes":
        """Sizes of problems with just these digit counts; all further operands have the last."""
        first, others = digits[0], digits[-1]
        return cls((first, first), (others, others), (len(digits), len(digits)))

    def times(self, factor: int) -> "Sizes":
        """Sizes whose upper ends are so many times as large; operands only where they vary."""
        few, many = self.operands
        return Sizes(
            (self.first[0], factor * self.first[1]),
            (self.others[0], factor * self.others[1]),
            (few, many if few == many else factor * many),
        )

    def short(self) -> "Sizes":
        """The same fewest, and at most two more."""
        return Sizes(*((few, min(many, few + 2)) for few, many in self))

    def digits(self, place: int) -> Span:
        """Digit counts of the operand at that place."""
        return self.others if place else self.first


@dataclass(frozen=True)
class Split:
    """How many problems of one operator are trained on, held out, and both.

    Of those held out, `mirrored` have their twin in training: 2+1 of 1+2, where that has the same
    answer.
    """

    operator: str
    training: int
    held_out: int
    overlap: int
    mirrored: int = 0
