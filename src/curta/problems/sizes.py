"""How large problems are: digit counts of their operands, and how many operands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from curta.config.errors import UserError, quoted
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


class OperandLimits(NamedTuple):
    """What problems of one operator can be written: how many operands, how long, in which base."""

    fewest: int
    most: int | None = None
    digits: int | None = None
    """The most digits of an operand; None is any number."""
    base: int = 10


def check_operands(
    title: str,
    limits: Mapping[str, OperandLimits],
    operator: str,
    digits: Sequence[int],
    base: int = 10,
) -> None:
    """Check a problem of an operator, with operands of so many digits, against `limits`.

    The only such check: a layout, a run, a recipe and an export differ in their limits alone.
    Raises UserError with the first limit that the problem exceeds; `title` names what has it.
    """
    if operator not in limits:
        raise UserError(f"{title} has no {quoted(operator)}: it takes {', '.join(limits)}")
    fewest, most, longest, own_base = limits[operator]
    if len(digits) < fewest or (most is not None and len(digits) > most):
        counts = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        counts = f"at least {fewest}" if most is None else counts
        operands = "operand" if counts == "1" else "operands"
        raise UserError(f"{title} takes {counts} {operands} of {operator} (got {len(digits)})")
    if longest is not None and max(digits) > longest:
        raise UserError(f"{title} takes operands of at most {longest} digits (got {max(digits):,})")
    if base != own_base:
        raise UserError(f"{title} takes {operator} in base {own_base} only (got base {base})")


@dataclass(frozen=True)
class AnswerHistogram:
    """How the answers of one part of a table lie: so many of them in each bin between `edges`.

    Of a large part only the first problems are looked at, which are in random order.
    """

    part: str
    problems: int
    least: int
    most: int
    mean: float
    deviation: float
    edges: list[float]
    counts: list[int]


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
    answers: tuple[AnswerHistogram, ...] = ()
