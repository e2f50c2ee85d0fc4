"""The section `[task]` of a recipe: which problems are drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from curta.config.errors import refuse_first
from curta.config.limits import DIGITS, INT32, OPERANDS, Factor, Seed

Rate = Annotated[float, Ge(0.0), Le(1.0)]

Span = tuple[int, int]
"""The fewest and the most, inclusive."""

DigitSpan = tuple[Annotated[int, Le(DIGITS)], Annotated[int, Le(DIGITS)]]
OperandSpan = tuple[Annotated[int, Le(OPERANDS)], Annotated[int, Le(OPERANDS)]]
Place = Annotated[int, Ge(0), Le(INT32)]


@dataclass(frozen=True)
class Task:
    """Problems of one operation: of random sizes, or from a table of all pairs of operands."""

    operator: str = "+"
    """The operator: +, gcd or + mod 97; must match the program, if there is one."""
    base: Annotated[int, Ge(2), Le(36)] = 10
    """Base of the operands; others than 10 need a program that has them."""
    digits: DigitSpan = (1, 10)
    """Fewest and most digits of an operand; lengths are uniform and independent."""
    second: DigitSpan | None = None
    """Fewest and most digits of all other operands; not set: as `digits`."""
    operands: OperandSpan | None = None
    """Fewest and most operands; not set: as few as the operator takes.

    +, sort and order take any number.
    """
    zero: bool = True
    """Whether one-digit operands may be 0."""
    special: Rate = 0.25
    """Share of rare problems in training, such as carry chains or equal operands.

    With a layout, the operation's special cases have equal shares.
    """
    special_until: Place = 0
    """Step by which the share of rare problems falls linearly to 0; 0: it is constant.

    Data sets have the first step's share, validations none. Source: AdderBoard,
    github.com/anadim/AdderBoard.
    """
    weight: Factor = 1.0
    """Weight of this task in each batch, relative to other tasks."""
    values: tuple[Place, Place] | None = None
    """Lowest and highest operand of a table of all pairs, drawn evenly; not set: no table.

    It replaces `digits`, `second` and `operands`; `special` must be 0.
    """
    smallest_of: Annotated[int, Ge(1), Le(64)] = 1
    """In every second problem of a batch, the last operand is the smallest of so many drawn pairs.

    For training only: it makes small divisors, with long quotients, more frequent. 1: all pairs are
    equally likely.
    """
    held_out: Place = 0
    """How many pairs of a table are never trained on."""
    twins_together: bool = True
    """Whether mirrored pairs (2+1 and 1+2) of a table are held out together."""
    rows: Place = 0
    """Size of a fixed training set; 0: all of a table, or new problems each step.

    It is drawn once, by the seed `split`: from a table, pairs not held out; otherwise all sizes
    equally often.
    """
    split: Seed = 42
    """Seed of a table's order, which decides what is held out, and of `rows`."""

    def __post_init__(self) -> None:
        refuse_first(self._contradictions())

    def _contradictions(self) -> Iterator[str]:
        """Yield a line for each field that is wrong beside the others."""
        for name in ("digits", "second", "operands"):
            low, high = getattr(self, name) or (1, 1)
            if not 1 <= low <= high:
                yield f"task.{name} must be two counts, 1 <= low <= high: {low}..{high}"
        if self.held_out and self.values is None:
            yield "task.held_out is a part of a table: set task.values"
        if self.smallest_of > 1 and not self.values:
            yield "task.smallest_of chooses from a table: set task.values"
        if self.values and (self.digits != (1, 10) or self.second or self.operands):
            yield "task.digits, task.second and task.operands have no meaning with task.values"
        if self.special_until and not self.special:
            yield "task.special_until has no meaning with task.special 0"
        if self.values and self.special:
            yield "task.special must be 0 with task.values: a table has no special cases"


def shares(tasks: Sequence[Task], batch: int) -> tuple[int, ...]:
    """Divide a batch among tasks by weight, at least one problem each.

    >>> shares([Task("+"), Task("-", weight=3.0)], 8)
    (2, 6)
    >>> shares([Task("+", weight=97.0), Task("-"), Task("*"), Task("//")], 8)
    (5, 1, 1, 1)
    """
    total = sum(task.weight for task in tasks)
    exact = [round(batch * task.weight / total, 9) for task in tasks]
    counts = [max(1, int(share)) for share in exact]
    by_remainder = sorted(range(len(tasks)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: max(0, batch - sum(counts))]:
        counts[i] += 1
    for _ in range(sum(counts) - batch):
        counts[counts.index(max(counts))] -= 1
    return tuple(counts)
