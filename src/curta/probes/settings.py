"""What each of Curta's probes is: its name, its options, and what it can examine.

How it examines is a class of the same name elsewhere: lists and help need no JAX.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from curta.config.errors import UserError
from curta.config.limits import INT32, LAYERS, PROBLEMS, RATIO, WIDTH
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.problems.operations import operation_named

CARRIES = {"+": "carry", "-": "borrow"}
"""What the places of an operation hand on, by operator."""


def option(default: Any, says: str, kind: type = int, least: int = 1, most: int = PROBLEMS) -> Any:
    """A field that is an option: its default, one line for the help, and what it may be."""
    about = {"says": says, "kind": kind, "least": least, "most": most}
    return dataclasses.field(default=default, metadata=about)


@dataclass(frozen=True)
class Options:
    """A probe's name and options; UserError for a number that is too small, or too large."""

    name: ClassVar[str]
    summary: ClassVar[str]
    scope: ClassVar[str] = "any operation"
    """The kind of run it needs, for the error message."""
    token_by_token: ClassVar[bool] = False
    """Whether it asks what follows tokens of the answer, which an encoder never sees."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, least = getattr(self, field.name), field.metadata["least"]
            most = field.metadata["most"]
            if isinstance(value, int) and value < least:
                raise UserError(f"--{field.name} must be at least {least}, not {value}")
            if isinstance(value, int) and value > most:
                raise UserError(f"--{field.name} must be at most {most:,}, not {value:,}")

    @classmethod
    def about(cls, task: Task) -> bool:
        """Return whether it can examine problems of this task."""
        return True

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        """Return what a model of this recipe is, if that is nothing to examine."""
        if cls.token_by_token and not recipe.model.causal:
            return "a model that writes all tokens at once"
        return None


@dataclass(frozen=True)
class Sample(Options):
    """Options of a probe that uses one sample of random problems."""

    count: int = option(50, "problems of the sample")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)


@dataclass(frozen=True)
class SingleDigits(Options):
    name: ClassVar[str] = "single-digits"
    summary: ClassVar[str] = "all problems of two single digits"
    scope: ClassVar[str] = "operations of two numbers in base ten"

    @classmethod
    def about(cls, task: Task) -> bool:
        return operation_named(task.operator).takes(2) and task.base == 10


@dataclass(frozen=True)
class Commutativity(Options):
    name: ClassVar[str] = "commutativity"
    summary: ClassVar[str] = "the same answer whichever operand stands first"
    scope: ClassVar[str] = "operations of two numbers whose order makes no difference"

    count: int = option(50, "pairs of each size")
    seed: int = option(1, "seed of the pairs", least=0, most=INT32)

    @classmethod
    def about(cls, task: Task) -> bool:
        operation = operation_named(task.operator)
        return operation.takes(2) and operation.commutes


@dataclass(frozen=True)
class Patterns(Options):
    name: ClassVar[str] = "patterns"
    summary: ClassVar[str] = "named problems, each telling in its own way"
    scope: ClassVar[str] = "operations that name such problems"

    @classmethod
    def about(cls, task: Task) -> bool:
        return bool(operation_named(task.operator).patterns)


@dataclass(frozen=True)
class CarryChains(Options):
    name: ClassVar[str] = "carry-chains"
    summary: ClassVar[str] = "exact match by the longest chain of carries or borrows"
    scope: ClassVar[str] = "sums and differences of two numbers in base ten"

    count: int = option(50, "problems of each length of chain")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)

    @classmethod
    def about(cls, task: Task) -> bool:
        return task.operator in CARRIES and task.base == 10


@dataclass(frozen=True)
class OperandRange(Options):
    name: ClassVar[str] = "operand-range"
    summary: ClassVar[str] = "exact match by the values of operands beyond training"
    scope: ClassVar[str] = "operations of two numbers in base ten, and not modulo a number"

    limit: int | None = option(None, "first number beyond training", least=14, most=10**9)
    count: int = option(50, "problems of each range")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)

    @classmethod
    def about(cls, task: Task) -> bool:
        operation = operation_named(task.operator)
        return operation.takes(2) and task.base == 10 and not operation.modulus


@dataclass(frozen=True)
class Longer(Options):
    name: ClassVar[str] = "longer"
    summary: ClassVar[str] = "exact match at each digit count beyond training"
    scope: ClassVar[str] = "operations that are not modulo a number"

    count: int = option(30, "random problems of each digit count")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)

    @classmethod
    def about(cls, task: Task) -> bool:
        return not operation_named(task.operator).modulus


@dataclass(frozen=True)
class Recurrences(Options):
    name: ClassVar[str] = "recurrences"
    summary: ClassVar[str] = "exact match and perplexity by the number of recurrences"
    scope: ClassVar[str] = "looped models"

    most: int = option(
        32, "greatest number of recurrences; those asked are 1, 2, 4, ...", most=LAYERS
    )
    count: int = option(100, "random problems of each digit count")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        return None if recipe.model.num_recurrences > 1 else "a model without recurrences"


@dataclass(frozen=True)
class Top(Options):
    name: ClassVar[str] = "top-k"
    summary: ClassVar[str] = "the likeliest tokens at every position of one problem"

    problem: str | None = option(None, "such as 57+68 (an example)", kind=str)
    k: int = option(3, "how many tokens at each position")


@dataclass(frozen=True)
class Attention(Options):
    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "what attention looks at, by place and role of token"
    scope: ClassVar[str] = "models that write token by token"
    token_by_token: ClassVar[bool] = True

    problem: str | None = option(None, "one problem, such as 57+68 (a sample)", kind=str)
    count: int = option(20, "problems of the sample")
    seed: int = option(1, "seed of the sample", least=0, most=INT32)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.problem is not None and (self.count, self.seed) != (20, 1):
            raise UserError("--count and --seed are of a sample: leave them out with --problem")


@dataclass(frozen=True)
class Counterfactual(Options):
    name: ClassVar[str] = "counterfactual"
    summary: ClassVar[str] = "whether later tokens follow a digit that is changed"
    scope: ClassVar[str] = "models that write token by token"
    token_by_token: ClassVar[bool] = True

    count: int = option(10, "problems of the sample")
    seed: int = option(1, "seed of the problems and of the digits", least=0, most=INT32)


@dataclass(frozen=True)
class Ablation(Sample):
    name: ClassVar[str] = "ablation"
    summary: ClassVar[str] = "the digits of the answer without each head, MLP and neighbour"

    how: str = option("zero", "what stands in place of a part: zero, or its mean", kind=str)


@dataclass(frozen=True)
class Patching(Options):
    name: ClassVar[str] = "patching"
    summary: ClassVar[str] = "which part at which token carries a digit, by activation patching"

    problem: str | None = option(None, "such as 57+68 (an example)", kind=str)
    other: str | None = option(None, "from which is patched (one digit more)", kind=str)


@dataclass(frozen=True)
class LogitLens(Sample):
    name: ClassVar[str] = "logit-lens"
    summary: ClassVar[str] = "after which layer the digits of the answer are there"


@dataclass(frozen=True)
class DirectLogits(Sample):
    name: ClassVar[str] = "direct-logits"
    summary: ClassVar[str] = "what each head and MLP adds to the right digit's logit"
    scope: ClassVar[str] = "models whose state is a sum"

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        if recipe.model.norms_after:
            return "norms after its sub-layers"
        if recipe.model.injects_into_state:
            return "an input that is injected into the state"
        return None


@dataclass(frozen=True)
class Linear(Options):
    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "from which state the carry can be read, by linear probes"
    scope: ClassVar[str] = "sums and differences of two numbers"

    count: int = option(800, "problems, half of them to fit by", least=2)
    seed: int = option(1, "seed of the problems and of the control task", least=0, most=INT32)

    @classmethod
    def about(cls, task: Task) -> bool:
        return task.operator in CARRIES


@dataclass(frozen=True)
class Neuron(Options):
    name: ClassVar[str] = "neuron"
    summary: ClassVar[str] = "one neuron's activation in every window, and what explains it"
    scope: ClassVar[str] = "models that see a window"

    layer: int | None = option(None, "the neuron's layer (any)", least=0, most=LAYERS)
    neuron: int | None = option(None, "its number (the costliest one)", least=0, most=WIDTH * RATIO)
    role: str | None = option(None, "whose windows (those of the role that has most)", kind=str)
    x: str | None = option(None, "cell of the window that is drawn downwards", kind=str)
    y: str | None = option(None, "cell that is drawn across, such as 'b place+1'", kind=str)
    count: int = option(1000, "windows by which the costliest neuron is found")
    seed: int = option(1, "seed of these windows", least=0, most=INT32)

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        return None if isinstance(recipe.positions, Window) else "one that sees whole texts"


@dataclass(frozen=True)
class Tokens(Options):
    name: ClassVar[str] = "tokens"
    summary: ClassVar[str] = "the vectors of digits and signs in a plane, and how they moved"

    plane: str = option("dimensions", "dimensions (0 and 1), or principal (components)", kind=str)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plane not in ("dimensions", "principal"):
            raise UserError(f"--plane must be dimensions or principal, not {self.plane!r}")


@dataclass(frozen=True)
class EverySum(Options):
    name: ClassVar[str] = "every-sum"
    summary: ClassVar[str] = "a proof for all sums of ten digits, or a sum that is wrong"
    scope: ClassVar[str] = "models of layout 'columns' that attend by positions alone"

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        fits = recipe.layout == "columns" and recipe.model.qk_input == "positions"
        return None if fits else "other texts, or attention that depends on digits"


@dataclass(frozen=True)
class Fourier(Options):
    name: ClassVar[str] = "fourier"
    summary: ClassVar[str] = "the frequencies of the vectors of residues, of neurons and logits"
    scope: ClassVar[str] = "sums and differences modulo a number"

    top: int = option(5, "how many of the largest frequencies are told")

    @classmethod
    def about(cls, task: Task) -> bool:
        operation = operation_named(task.operator)
        return operation.modulus is not None and operation.mark in "+-"


SETTINGS: dict[str, type[Options]] = {
    kind.name: kind
    for kind in (
        SingleDigits,
        Commutativity,
        Patterns,
        CarryChains,
        OperandRange,
        Longer,
        Recurrences,
        Top,
        Attention,
        Counterfactual,
        Ablation,
        Patching,
        LogitLens,
        DirectLogits,
        Linear,
        Neuron,
        Tokens,
        EverySum,
        Fourier,
    )
}
"""Curta's own probes by name, in the order of a listing."""
