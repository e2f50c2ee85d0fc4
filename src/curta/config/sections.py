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
    EXTENSIONS,
    GRID,
    ITEMS,
    OPERANDS,
    PROBLEM,
    ROUNDS,
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
    """How long, on how many problems a step, and how often the state is saved."""

    steps: Steps = 1000
    """How many times the weights are updated."""
    extended_at: Annotated[tuple[Steps, ...], MaxLen(EXTENSIONS)] = ()
    """Steps at which training had ended before it was made longer with `--resume`.

    Up to each the learning rate runs the course that ends there, then that of the next end.
    """
    batch: Annotated[int, Ge(1), Le(LARGEST_BATCH)] = 64
    """Problems of a step, of all tasks together; with positions window, windows of a step."""
    checkpoint_every: Steps = 500
    """How many steps lie between saved states from which training can go on."""
    checkpoints: StepsOrNever = 2
    """How many of the newest checkpoints are kept, and those of former ends; 0: all.

    Each has the state to go on from and, unless `keep` is last, the best models so far.
    """
    history_every: StepsOrNever = 0
    """Every so many steps the vectors of all tokens are kept; 0: never.

    So they are before the first step and after the last.
    """
    loss: Literal["answer", "all", "padded", "numeric"] = "answer"
    """Tokens in the loss: answer (the completion), all (and the prompt), padded (and padding).

    It is the mean over these tokens. `numeric` is over the completion, and far digits cost more.
    """
    validate_every: StepsOrNever = 0
    """Every so many steps all members answer validation problems; 0: never.

    These are held-out ones, where the task holds some out, and none of a fixed set (`task.rows`);
    else they are drawn as those of training are.
    """
    validation: Problems = 256
    """How many problems of each task a validation asks."""
    fresh_validation: bool = False
    """Whether each validation draws others of the held-out problems; its means are over all alike.

    Otherwise it asks the same all the time, and tasks count by their weights.
    """
    keep: Literal["last", "best", "best-tokens"] = "last"
    """Which models are the run's: those of the last step, or of the best validation.

    The best has most exact matches, with `best-tokens` most tokens right; of equals the least loss.
    """
    named_at_checkpoints: bool = False
    """Whether every member writes the problems of `evaluation.named` at each checkpoint, too.

    What it answers, and the perplexity of the right answer, stand in metrics.jsonl.
    """
    stop_at: Annotated[float, Gt(0.0), Le(1.0)] | None = None
    """Ends training once every member is right on this share of a validation; not set: never."""
    stop_after: StepsOrNever = 0
    """Earliest step at which `stop_at` may end the training."""
    evaluate_every: StepsOrNever = 0
    """Every so many steps exact match is watched, in and out of distribution; 0: never.

    All members are asked problems of training, held-out ones (where the evaluation has both), and
    random ones of some sizes. It is kept and drawn, and decides nothing.
    """
    evaluate_digits: SizesOfEach | None = None
    """The sizes that are watched, written as in `evaluation.digits`; not set: those of it."""
    evaluate_count: Problems = 100
    """How many problems of each are watched."""
    problems: Problems = 3000
    """How many problems of a program each member learns from, all tasks together."""
    order: Literal["drawn", "epochs", "fixed"] = "drawn"
    """How problems of a finite set come: drawn, with repetition, in epochs, or in fixed batches.

    In an epoch each comes once, in a random order. Fixed batches come in the same order all the
    time, without the last ones that fill none. A layout has a finite set by task.values or
    task.rows.
    """
    held_out_windows: Annotated[float, Ge(0.0), Le(1.0)] = 0.1
    """Share of a program's listed windows that training does not show, drawn by the member's seed.

    All others are shown: those that its problems lack come from the list of the certificate.
    """
    repair: Annotated[int, Ge(0), Le(ROUNDS)] = 10
    """Most rounds of repair after the last step; 0: none.

    A round trains on, at a low rate, with the windows that are wrong among those shown. Rounds end
    when every listed window is right.
    """
    sampling: Literal["uniform", "frequency"] = "uniform"
    """How a program's distinct windows are drawn: uniform, or by frequency in the texts.

    It is for positions window; the loss is then of the next token alone.
    """
    recurrence_loss: Literal["last", "mixed", "progressive"] = "last"
    """When a looped model's loss is taken: after the last recurrence, mixed, progressive.

    `training/recurrence_loss.py` says what each is.
    """
    progressive_alpha: Annotated[float, Ge(0.0), Le(1.0)] = 1.0
    """Share of the loss after a drawn number of recurrences, if it is progressive."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of a training step's activations; bfloat16 is for accelerators: on a CPU it gains nothing.

    Weights, the optimiser's state, norms, softmax and loss are float32 either way, and so is all
    that is asked of a model after training: evaluations, certificates, exports.
    """

    def __post_init__(self) -> None:
        check_sizes("training.evaluate_digits", self.evaluate_digits or ())
        if list(self.ends) != sorted(set(self.ends)):
            raise UserError(
                f"training.extended_at {quoted(list(self.extended_at))}: each must be larger than"
                f" the one before, and all smaller than training.steps, {self.steps:,}"
            )

    @property
    def ends(self) -> tuple[int, ...]:
        """The steps at which it ended, one after the other."""
        return (*self.extended_at, self.steps)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The evaluation after training: sizes, problems of each slice, the grid's size."""

    digits: SizesOfEach = (20, 100)
    """Digits of the operands: 100, 50/25 (first and others), 20x5 (20 operands of 5).

    A list holds such sizes, a table those of each operator.
    """
    all_sizes: bool = False
    """Whether sizes are evaluated that are left out otherwise: those longer than training's.

    They are left out once every seed is wrong on all problems of a size that is no longer.
    """
    count: Problems = 200
    """How many problems are asked at each size, of each slice."""
    generated: Problems = 8
    """How many of each slice are also written token by token, to confirm exact match."""
    grid: Annotated[int, Ge(0), Le(GRID)] = 0
    """Largest digit count in a heat map of every pair of lengths; 0: no map."""
    grid_count: Problems = 20
    """How many problems are asked in each cell of the heat map."""
    table: Annotated[int, Ge(0), Le(TABLE)] = 0
    """Every problem of two operands up to this number is counted; 0: none."""
    held_out: Problems = 1000
    """How many problems are asked of those trained on, and as many of others, which are held out.

    It is for programs, `task.rows`, and what a table holds out (`task.held_out`).
    """
    layouts: Annotated[tuple[Name, ...], MaxLen(ITEMS)] = ()
    """Other layouts of the same characters, or programs, for the held-out problems."""
    certificate: Annotated[int, Ge(0), Le(CERTIFICATE)] = 600_000
    """Tokens of a program recorded to list its windows; 0: no certificate."""
    named: Annotated[tuple[Annotated[str, MaxLen(PROBLEM)], ...], MaxLen(ITEMS)] = ()
    """Single problems that every member writes, before its first step and after training."""
    seed: Seed = 1
    """From which the problems are drawn: another one asks others."""

    def __post_init__(self) -> None:
        check_sizes("evaluation.digits", self.digits)

    def sizes(self, operator: str) -> tuple[int | str, ...]:
        """The sizes at which this operator is evaluated, in ascending order of all digits."""
        sizes = self.digits.get(operator, ()) if isinstance(self.digits, dict) else self.digits

        def digits(size: int | str) -> int:
            """Of all operands: 40 for 20, 75 for 50/25, 100 for 20x5."""
            first, _, others = str(size).partition("/")
            count, times, each = first.partition("x")
            return int(count) * int(each) if times else int(first) + int(others or first)

        return tuple(sorted(sizes, key=digits))


def check_sizes(field: str, sizes: SizesOfEach) -> None:
    """Raises UserError for a field with a size of problems that can never be asked."""
    each = sizes.values() if isinstance(sizes, dict) else (sizes,)
    for size in (size for some in each for size in some):
        check_size(size, field)


def check_size(size: int | str, field: str = "evaluation.digits") -> None:
    """Raises UserError for a size of problems that can never be asked."""
    first, _, rest = str(size).partition("/")
    count, times, digits = first.partition("x")
    most = max(int(digits or count), int(rest or 1))
    if most > DIGITS:
        raise UserError(f"{field} {quoted(size)}: at most {DIGITS:,} digits")
    if times and int(count) > OPERANDS:
        raise UserError(f"{field} {quoted(size)}: at most {OPERANDS:,} operands")
