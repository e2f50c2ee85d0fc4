"""The sections `[training]` and `[evaluation]` of a recipe."""

import dataclasses
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import Discriminator, StringConstraints, Tag

from curta.config.errors import UserError, quoted
from curta.config.limits import DIGITS, OPERANDS, Problems, Seed, Steps, StepsOrNever


def form(value: object) -> str:
    """Return the form of a value, where a field may have several: list, text or other."""
    if isinstance(value, list | tuple):
        return LIST
    return TEXT if isinstance(value, str) else OTHER


LIST, TEXT, OTHER = FORMS = ("(list)", "(text)", "(other)")
SizeText = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,5}([/x][1-9][0-9]{0,5})?$")]
"""A size as a text: 50/25, 20x5."""
Size = Annotated[
    Annotated[int, Ge(1), Le(DIGITS), Tag(OTHER)] | Annotated[SizeText, Tag(TEXT)],
    Discriminator(form),
]
Sizes = Annotated[tuple[Size, ...], MinLen(1)]
SizesOfEach = Annotated[
    Annotated[Sizes, Tag(LIST)] | Annotated[dict[str, Sizes], Tag(OTHER)],
    Discriminator(form),
]


@dataclasses.dataclass(frozen=True)
class Training:
    """How long to train, on what, and how often to save, validate and evaluate."""

    steps: Steps = 1000
    """How many updates of the weights."""
    extended_at: tuple[Steps, ...] = ()
    """Steps at which training had ended before `--resume` extended it.

    Up to each, the learning rate follows the schedule that ends there.
    """
    batch: Annotated[int, Ge(1), Le(1 << 20)] = 64
    """Problems of a step, of all tasks together; with positions window, windows."""
    checkpoint_every: Steps = 500
    """Steps between checkpoints, from which training can resume."""
    checkpoints: StepsOrNever = 2
    """How many of the newest checkpoints are kept, besides those of former ends; 0: all.

    They hold the state to resume from and, unless `keep` is last, the best models so far.
    """
    history_every: StepsOrNever = 0
    """Steps between records of all token embeddings; 0: never.

    The first and last states are recorded too.
    """
    loss: Literal["answer", "all", "padded", "numeric"] = "answer"
    """Tokens in the loss: answer (the completion), all (also the prompt), padded (also padding).

    `numeric`: the completion, with a larger loss for digits farther off.
    """
    validate_every: StepsOrNever = 0
    """Steps between validations; 0: never.

    Their problems are held out if the task holds any out, another set of the same kind with
    `task.rows`, and otherwise drawn as in training.
    """
    validation: Problems = 256
    """Problems of each task in a validation."""
    fresh_validation: bool = False
    """Whether each validation draws other held-out problems, and averages over all evenly.

    Otherwise problems stay the same, and tasks count by weight.
    """
    keep: Literal["last", "best", "best-tokens"] = "last"
    """Which weights are the result: those of the last step, or of the best validation.

    Best has the most exact matches (best-tokens: correct tokens), then the least loss.
    """
    named_at_checkpoints: bool = False
    """Whether members also answer `evaluation.named` at each checkpoint.

    Answers, and the perplexity of the correct one, are in metrics.jsonl.
    """
    stop_at: Annotated[float, Gt(0.0), Le(1.0)] | None = None
    """Ends training once every member is right on this share of a validation; not set: never."""
    stop_after: StepsOrNever = 0
    """Earliest step at which `stop_at` can end training."""
    evaluate_every: StepsOrNever = 0
    """Steps between evaluations during training; 0: never.

    Members answer training and held-out problems, if the evaluation has both, and random ones of
    some sizes. Plotted; training does not depend on it.
    """
    evaluate_digits: SizesOfEach | None = None
    """Sizes of these evaluations; not set: those of `evaluation.digits`."""
    evaluate_count: Problems = 100
    """Problems of each size in these evaluations."""
    problems: Problems = 3000
    """How many problems of a program each member trains on, of all tasks."""
    order: Literal["drawn", "epochs", "fixed"] = "drawn"
    """A finite set is drawn with repetition, in epochs, or in fixed batches.

    An epoch is a random order of all problems; fixed batches repeat, without the problems left
    over. For layouts with task.values or task.rows.
    """
    held_out_windows: Annotated[float, Ge(0.0), Le(1.0)] = 0.1
    """Share of the certificate's windows that training never shows, drawn by the seed.

    All others are shown, whether or not the member's problems have them.
    """
    repair: Annotated[int, Ge(0), Le(1_000)] = 10
    """Most rounds of repair after the last step.

    A round continues training at a low rate and adds the windows that are wrong, until none is.
    """
    sampling: Literal["uniform", "frequency"] = "uniform"
    """How distinct windows are drawn: uniform, or by frequency in texts."""
    recurrence_loss: Literal["last", "mixed", "progressive"] = "last"
    """Recurrences after which a looped model's loss is taken: last, mixed or progressive.

    See docs/published.md.
    """
    progressive_alpha: Annotated[float, Ge(0.0), Le(1.0)] = 1.0
    """Share of a progressive loss after a random number of recurrences."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Activations of a training step in float32, or bfloat16, faster on accelerators only.

    Weights, optimiser, norms, softmax, loss, and everything after training are always float32.
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
        """The steps at which training ended or will end, in order."""
        return (*self.extended_at, self.steps)


@dataclasses.dataclass(frozen=True)
class EvaluationSettings:
    """What is evaluated after training."""

    digits: SizesOfEach = (20, 100)
    """Sizes, in digits: 100, 50/25 (first and other operands), 20x5 (20 operands of 5).

    A list of sizes, or a table of lists by operator.
    """
    all_sizes: bool = False
    """Whether to evaluate every size.

    Otherwise longer ones are skipped once every seed fails on all problems of a size beyond
    training.
    """
    count: Problems = 200
    """Problems of each slice at each size."""
    generated: Problems = 8
    """How many of these are also written token by token, to confirm exact match."""
    grid: Annotated[int, Ge(0), Le(1_000)] = 0
    """Largest digit count in a heat map over both operands' lengths; 0: no map."""
    grid_count: Problems = 20
    """Problems in each cell of the heat map."""
    table: Annotated[int, Ge(0), Le(2_000)] = 0
    """Evaluate every problem of two operands up to this number; 0: none."""
    held_out: Problems = 1000
    """How many training problems, and as many held-out ones, are compared.

    For programs, `task.rows` and `task.held_out`.
    """
    layouts: tuple[str, ...] = ()
    """Other layouts of the same characters, or programs, for held-out problems."""
    certificate: Annotated[int, Ge(0), Le(1_000_000_000)] = 600_000
    """How many tokens to record for the list of a program's windows; 0: no certificate."""
    named: tuple[str, ...] = ()
    """Single problems that members answer before the first step and after training."""
    seed: Seed = 1
    """Seed of the problems."""

    def __post_init__(self) -> None:
        check_sizes("evaluation.digits", self.digits)

    def sizes(self, operator: str) -> tuple[int | str, ...]:
        """Return the sizes at which this operator is evaluated, by the digits of all operands."""
        sizes = self.digits.get(operator, ()) if isinstance(self.digits, dict) else self.digits
        return tuple(sorted(sizes, key=lambda size: sum(size_digits(size))))


def size_digits(size: int | str, least: int = 2) -> tuple[int, ...]:
    """Parse a size into the digits of each operand of an operator with at least `least` operands.

    >>> size_digits(20), size_digits("50/25", 3), size_digits("3x5")
    ((20, 20), (50, 25, 25), (5, 5, 5))
    """
    first, _, others = str(size).partition("/")
    count, times, digits = first.partition("x")
    if times:
        return (int(digits),) * int(count)
    return (int(first),) + (int(others or first),) * (least - 1)


def check_sizes(field: str, sizes: SizesOfEach) -> None:
    """Raise UserError for a field with a size that is too large to evaluate."""
    for group in sizes.values() if isinstance(sizes, dict) else (sizes,):
        for size in group:
            digits = size_digits(size)
            if max(digits) > DIGITS:
                raise UserError(f"{field} {quoted(size)}: at most {DIGITS:,} digits")
            if len(digits) > OPERANDS:
                raise UserError(f"{field} {quoted(size)}: at most {OPERANDS:,} operands")
