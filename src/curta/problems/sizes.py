"""How large problems are: how many operands they have, and how many digits these have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from curta.config.errors import UserError, quoted
from curta.config.task import Span


class Sizes(NamedTuple):
    """Fewest and most digits of the first operand and of each other one, and operands."""

    first: Span
    others: Span
    operands: Span

    @classmethod
    def exactly(cls, digits: Sequence[int]) -> "Sizes":
        """Return sizes of exactly these digit counts; all operands but the first have the last."""
        first, others = digits[0], digits[-1]
        return cls((first, first), (others, others), (len(digits), len(digits)))

    def times(self, factor: int) -> "Sizes":
        """Return sizes with upper ends `factor` times as large; operands only if they vary."""
        few, many = self.operands
        return Sizes(
            (self.first[0], factor * self.first[1]),
            (self.others[0], factor * self.others[1]),
            (few, many if few == many else factor * many),
        )

    def short(self) -> "Sizes":
        """Return sizes with the same lower ends, and upper ends at most two higher."""
        return Sizes(*((few, min(many, few + 2)) for few, many in self))

    def digits(self, place: int) -> Span:
        """Return the digit counts of the operand at this place."""
        return self.others if place else self.first


class OperandLimits(NamedTuple):
    """Limits on the problems of one operator: number of operands, their digits, and base."""

    fewest: int
    most: int | None = None
    digits: int | None = None
    """The most digits of an operand; None: any number."""
    base: int = 10


def check_operands(
    title: str,
    limits: Mapping[str, OperandLimits],
    operator: str,
    digits: Sequence[int],
    base: int = 10,
) -> None:
    """Raise UserError for the first of the `limits` that operands of these digit counts exceed.

    Layouts, runs, recipes and exports share this check; `title` names them in the message.
    """
    if operator not in limits:
        raise UserError(f"{title} has no {quoted(operator)}: it takes {', '.join(limits)}")
    fewest, most, longest, required_base = limits[operator]
    if len(digits) < fewest or (most is not None and len(digits) > most):
        counts = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        counts = f"at least {fewest}" if most is None else counts
        operands = "operand" if counts == "1" else "operands"
        raise UserError(f"{title} takes {counts} {operands} of {operator} (got {len(digits)})")
    if longest is not None and max(digits) > longest:
        raise UserError(f"{title} takes operands of at most {longest} digits (got {max(digits):,})")
    if base != required_base:
        raise UserError(f"{title} takes {operator} in base {required_base} only (got base {base})")


@dataclass(frozen=True)
class AnswerHistogram:
    """A histogram of the answers of one part of a table.

    In a large part only the first problems are counted, which are in random order.
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
    """How the problems of one operator are split into training and held-out ones."""

    operator: str
    """The operator."""
    training: int
    """The number of training problems."""
    held_out: int
    """The number of held-out problems."""
    overlap: int
    """The number of problems that are in both."""
    mirrored: int = 0
    """The number of held-out problems whose mirror image (2+1 for 1+2) is in training, if the
    operator commutes."""
    answers: tuple[AnswerHistogram, ...] = ()
