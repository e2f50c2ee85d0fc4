"""The sections of a recipe that say how long to train and what to evaluate."""

import dataclasses
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import Discriminator, StringConstraints, Tag

from curta.config.errors import UserError, quoted
from curta.config.limits import BATCH as LARGEST_BATCH
from curta.config.limits import (
    CERTIFICATE,
    DIGITS,
    GRID,
    ITEMS,
    OPERANDS,
    PROBLEM,
    TABLE,
    Name,
    Problems,
    Seed,
    Steps,
    StepsOrNever,
)


def form(value: object) -> str:
    """Which of the forms that a field may have a value is meant to be in."""
    if isinstance(value, list | tuple):
        return LIST
    return TEXT if isinstance(value, str) else OTHER


LIST, TEXT, OTHER = FORMS = ("(list)", "(text)", "(other)")
PATTERN = r"^[1-9][0-9]{0,5}([/x][1-9][0-9]{0,5})?$"
"""A size as a text: 50/25, 20x5."""
_Size = Annotated[str, StringConstraints(pattern=PATTERN)]
Size = Annotated[
    Annotated[int, Ge(1), Le(DIGITS), Tag(OTHER)] | Annotated[_Size, Tag(TEXT)], Discriminator(form)
]
Sizes = Annotated[tuple[Size, ...], MinLen(1), MaxLen(ITEMS)]
SizesOfEach = Annotated[
    Annotated[Sizes, Tag(LIST)] | Annotated[dict[Name, Sizes], MaxLen(ITEMS), Tag(OTHER)],
    Discriminator(form),
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

    steps: Steps = 1000
    batch: Annotated[int, Ge(1), Le(LARGEST_BATCH)] = 64
    checkpoint_every: Steps = 500
    checkpoints: StepsOrNever = 2
    history_every: StepsOrNever = 0
    loss: Literal["answer", "all", "numeric"] = "answer"
    validate_every: StepsOrNever = 0
    validation: Problems = 256
    keep: Literal["last", "best"] = "last"
    stop_at: Annotated[float, Gt(0.0), Le(1.0)] | None = None
    stop_after: StepsOrNever = 0
    problems: Problems = 3000
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
    count: Problems = 200
    generated: Problems = 8
    grid: Annotated[int, Ge(0), Le(GRID)] = 0
    grid_count: Problems = 20
    table: Annotated[int, Ge(0), Le(TABLE)] = 0
    held_out: Problems = 1000
    layouts: Annotated[tuple[Name, ...], MaxLen(ITEMS)] = ()
    certificate: Annotated[int, Ge(0), Le(CERTIFICATE)] = 600_000
    named: Annotated[tuple[Annotated[str, MaxLen(PROBLEM)], ...], MaxLen(ITEMS)] = ()
    seed: Seed = 1

    def __post_init__(self) -> None:
        each = self.digits.values() if isinstance(self.digits, dict) else (self.digits,)
        for size in (size for sizes in each for size in sizes):
            check_size(size)

    def sizes(self, operator: str) -> tuple[int | str, ...]:
        """The sizes at which this operator is evaluated."""
        return self.digits.get(operator, ()) if isinstance(self.digits, dict) else self.digits


def check_size(size: int | str) -> None:
    """Raises UserError for a size of problems that can never be asked."""
    first, _, rest = str(size).partition("/")
    count, times, digits = first.partition("x")
    most = max(int(digits or count), int(rest or 1))
    if most > DIGITS:
        raise UserError(f"evaluation.digits {quoted(size)}: at most {DIGITS:,} digits")
    if times and int(count) > OPERANDS:
        raise UserError(f"evaluation.digits {quoted(size)}: at most {OPERANDS:,} operands")
