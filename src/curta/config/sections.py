"""The sections of a recipe that say how long to train and what to evaluate."""

import dataclasses
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import Discriminator, StringConstraints, Tag

Count = Annotated[int, Ge(1)]


def form(value: object) -> str:
    """Which of the forms that a field may have a value is meant to be in."""
    if isinstance(value, list | tuple):
        return LIST
    return TEXT if isinstance(value, str) else OTHER


LIST, TEXT, OTHER = FORMS = ("(list)", "(text)", "(other)")
_Size = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*([/x][1-9][0-9]*)?$")]
Size = Annotated[Annotated[Count, Tag(OTHER)] | Annotated[_Size, Tag(TEXT)], Discriminator(form)]
Sizes = Annotated[tuple[Size, ...], MinLen(1)]
SizesOfEach = Annotated[
    Annotated[Sizes, Tag(LIST)] | Annotated[dict[str, Sizes], Tag(OTHER)], Discriminator(form)
]


@dataclasses.dataclass(frozen=True)
class Training:
    """How long, on how many problems a step, and how often the state is saved.

    Of the checkpoints the newest are kept, at most so many (0 is all): each has the state
    to go on from and, with `keep` best, the best models so far.

    The `loss` is the mean over the tokens of the answer and its working, over all of the
    text, or, `numeric`, the first with a penalty for digits far from the right one.

    Every `validate_every` steps (0 is never) all members answer `validation` problems of
    each task: held-out ones, where the task holds some out, and else fresh ones. The run's
    models are those of the `last` step, or of the `best` validation. Training ends early
    once every member is right on a share `stop_at` of the validation problems.

    Every `history_every` steps (0 is never), before the first and after the last, the
    vectors of all characters are kept.

    For a program `problems` are recorded for each member. Under a window training draws from
    their distinct windows, all alike (`uniform`) or by their `frequency` in the texts, and the
    loss is of the next token alone.

    `recurrence_loss` says after which recurrences of a looped model the loss is taken (see
    `training/recurrence_loss.py`), `progressive_alpha` the share of the drawn number of
    recurrences in a progressive loss.
    """

    steps: Count = 1000
    batch: Count = 64
    checkpoint_every: Count = 500
    checkpoints: Annotated[int, Ge(0)] = 2
    history_every: Annotated[int, Ge(0)] = 0
    loss: Literal["answer", "all", "numeric"] = "answer"
    validate_every: Annotated[int, Ge(0)] = 0
    validation: Count = 256
    keep: Literal["last", "best"] = "last"
    stop_at: Annotated[float, Gt(0.0), Le(1.0)] | None = None
    stop_after: Annotated[int, Ge(0)] = 0
    problems: Count = 3000
    sampling: Literal["uniform", "frequency"] = "uniform"
    recurrence_loss: Literal["last", "mixed", "progressive"] = "last"
    progressive_alpha: Annotated[float, Ge(0.0), Le(1.0)] = 1.0


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The evaluation after training: sizes, problems of each slice, the grid's size.

    A size in `digits` is the digit count of every operand, or "50/25" for one of the
    first and one of the others, or "20x5" for 20 operands of 5 digits; a table holds
    the sizes of each operator. `generated`
    problems of each kind are also written token by token. A `grid` of 0 leaves the
    heat map out. With a `table`, every problem of two operands up to that number is
    counted. Where a task holds problems out, `held_out` of them are asked too,
    also as other `layouts` with the same characters write them. For the certificate of a
    program so many tokens are recorded to list its windows; 0 leaves it out. Every member
    writes the `named` problems, as it was before its first step and as it is.
    """

    digits: SizesOfEach = (20, 100)
    count: Count = 200
    generated: Count = 8
    grid: Annotated[int, Ge(0)] = 0
    grid_count: Count = 20
    table: Annotated[int, Ge(0)] = 0
    held_out: Count = 1000
    layouts: tuple[str, ...] = ()
    certificate: Annotated[int, Ge(0)] = 600_000
    named: tuple[str, ...] = ()
    seed: int = 1

    def sizes(self, operator: str) -> tuple[int | str, ...]:
        """The sizes at which this operator is evaluated."""
        return self.digits.get(operator, ()) if isinstance(self.digits, dict) else self.digits
