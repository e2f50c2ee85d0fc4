"""Which problems are drawn, as a recipe states it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from curta.config.errors import refuse_if
from curta.config.limits import DIGITS, DRAWN, INT32, OPERANDS, Factor, Name, Seed

Rate = Annotated[float, Ge(0.0), Le(1.0)]

Span = tuple[int, int]
"""The fewest and the most, both included."""

Digits = tuple[Annotated[int, Le(DIGITS)], Annotated[int, Le(DIGITS)]]
Operands = tuple[Annotated[int, Le(OPERANDS)], Annotated[int, Le(OPERANDS)]]
Place = Annotated[int, Ge(0), Le(INT32)]
Drawn = Annotated[int, Ge(1), Le(DRAWN)]


@dataclass(frozen=True)
class Task:
    """Problems of one operation: of random sizes, or from a table of all pairs of operands."""

    operator: Name = "+"
    """What is calculated: +, gcd or + mod 97; with a program, the program's own operator."""
    base: Annotated[int, Ge(2), Le(36)] = 10
    """Base in which operands are written; another than ten needs a program that knows it."""
    digits: Digits = (1, 10)
    """Fewest and most digits of an operand; counts are uniform and independent."""
    second: Digits | None = None
    """Fewest and most digits of all operands but the first; not set: those of `digits`."""
    operands: Operands | None = None
    """Fewest and most operands of a problem; not set: as few as the operator takes.

    +, sort and order take several numbers of them.
    """
    zero: bool = True
    """Whether an operand of one digit may be 0; false: it is 1 to 9."""
    special: Rate = 0.25
    """Share of rare problems in training, such as carry chains or equal operands; 0: none.

    In a layout they are divided evenly among the operation's special cases.
    """
    special_until: Place = 0
    """Step from which on no rare problems are drawn: their share falls to it evenly; 0: it stays.

    A data set has the share of the first step, validation no rare problems. Source: AdderBoard,
    github.com/anadim/AdderBoard, whose smallest trained entries begin with many carries.
    """
    weight: Factor = 1.0
    """This task's part in each batch, in proportion to the weights of the other tasks."""
    values: tuple[Place, Place] | None = None
    """Lowest and highest operand of a table of all pairs, to draw from it; not set: no table.

    Each pair comes equally often, unless `smallest_of` says otherwise. A table takes the place of
    `digits`, `second` and `operands`, and `special` must then be 0.
    """
    smallest_of: Drawn = 1
    """In every second place of a batch, the smallest last operand of so many drawn from a table.

    1: each pair comes equally often. Of divisions up to 999 one in ten has a divisor below 100, and
    with 16 nearly one in two: these have long quotients, and are learned last. Training alone
    draws so.
    """
    held_out: Place = 0
    """How many pairs of a table (`values`) are never trained on; 0: none."""
    twins_together: bool = True
    """Whether a problem of a table and its twin (2+1 of 1+2) are both held out, or neither is.

    It is for operators that commute. With false, both are held out or trained on by chance: where
    little is held out, nearly every held-out problem then has its twin in training.
    """
    rows: Place = 0
    """How many problems are trained on, the same all the time; 0: all of a table's, or new ones.

    Of a table (`values`) they are pairs that are not held out. Else they are drawn once, by
    `split`, and have all sizes in turn, each as often as the others.
    """
    split: Seed = 42
    """Seed of the random order of a table, or of `rows`: it chooses which pairs are held out."""

    def __post_init__(self) -> None:
        for name in ("digits", "second", "operands"):
            low, high = getattr(self, name) or (1, 1)
            refuse_if(
                not 1 <= low <= high,
                f"task.{name} must be two counts, 1 <= low <= high: {low}..{high}",
            )
        refuse_if(
            self.values is None and self.held_out,
            "task.held_out is a part of a table: set task.values",
        )
        refuse_if(
            self.smallest_of > 1 and not self.values,
            "task.smallest_of chooses from a table: set task.values",
        )
        refuse_if(
            self.values and (self.digits != (1, 10) or self.second or self.operands),
            "task.digits, task.second and task.operands have no meaning with task.values",
        )
        refuse_if(
            self.special_until and not self.special,
            "task.special_until has no meaning with task.special 0",
        )
        refuse_if(
            self.values and self.special,
            "task.special must be 0 with task.values: a table has no special cases",
        )


def shares(tasks: Sequence[Task], batch: int) -> tuple[int, ...]:
    """How many problems of each batch every task contributes: at least one, by its weight.

    >>> shares([Task("+"), Task("-", weight=3.0)], 8)
    (2, 6)
    >>> shares([Task("+", weight=97.0), Task("-"), Task("*"), Task("//")], 8)
    (5, 1, 1, 1)
    """
    whole = sum(task.weight for task in tasks)
    exact = [round(batch * task.weight / whole, 9) for task in tasks]
    counts = [max(1, int(share)) for share in exact]
    by_need = sorted(range(len(tasks)), key=lambda i: counts[i] - exact[i])
    for i in by_need[: max(0, batch - sum(counts))]:
        counts[i] += 1
    for _ in range(sum(counts) - batch):
        counts[counts.index(max(counts))] -= 1
    return tuple(counts)
