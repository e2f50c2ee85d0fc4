"""The options of Curta's own probes, apart from the probes: help needs no JAX."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from curta.config.errors import UserError
from curta.config.limits import INT32, LAYERS, PROBLEMS, RATIO, WIDTH


def option(default: Any, says: str, kind: type = int, least: int = 1, most: int = PROBLEMS) -> Any:
    """A field that is an option: its default, one line for the help, and what it may be."""
    about = {"says": says, "kind": kind, "least": least, "most": most}
    return dataclasses.field(default=default, metadata=about)


@dataclass(frozen=True)
class Options:
    """The options of a probe. Raises UserError for a number that is too small, or too large."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, least = getattr(self, field.name), field.metadata["least"]
            most = field.metadata["most"]
            if isinstance(value, int) and value < least:
                raise UserError(f"--{field.name} must be at least {least}, not {value}")
            if isinstance(value, int) and value > most:
                raise UserError(f"--{field.name} must be at most {most:,}, not {value:,}")


@dataclass(frozen=True)
class Commutativity(Options):
    count: int = option(50, "pairs of each size")
    seed: int = option(1, "seed of the pairs", least=0, most=INT32)


@dataclass(frozen=True)
class CarryChains(Options):
    count: int = option(50, "problems of each length of chain")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)


@dataclass(frozen=True)
class OperandRange(Options):
    limit: int | None = option(None, "first number beyond training", least=14, most=10**9)
    count: int = option(50, "problems of each range")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)


@dataclass(frozen=True)
class Longer(Options):
    count: int = option(30, "random problems of each digit count")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)


@dataclass(frozen=True)
class Recurrences(Options):
    most: int = option(
        32, "greatest number of recurrences; those asked are 1, 2, 4, ...", most=LAYERS
    )
    count: int = option(100, "random problems of each digit count")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)


@dataclass(frozen=True)
class Top(Options):
    problem: str | None = option(None, "such as 57+68 (an example)", kind=str)
    k: int = option(3, "how many tokens at each position")


@dataclass(frozen=True)
class Attention(Options):
    problem: str | None = option(None, "one problem, such as 57+68 (a sample)", kind=str)
    count: int = option(20, "problems of the sample")
    seed: int = option(1, "seed of the sample", least=0, most=INT32)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.problem is not None and (self.count, self.seed) != (20, 1):
            raise UserError("--count and --seed are of a sample: leave them out with --problem")


@dataclass(frozen=True)
class Counterfactual(Options):
    count: int = option(10, "problems of the sample")
    seed: int = option(1, "seed of the problems and of the digits", least=0, most=INT32)


@dataclass(frozen=True)
class Sample(Options):
    """Of a probe that asks one sample of random problems."""

    count: int = option(50, "problems of the sample")
    seed: int = option(1, "seed of the problems", least=0, most=INT32)


@dataclass(frozen=True)
class Ablation(Sample):
    how: str = option("zero", "what stands in place of a part: zero, or its mean", kind=str)


@dataclass(frozen=True)
class Patching(Options):
    problem: str | None = option(None, "such as 57+68 (an example)", kind=str)
    other: str | None = option(None, "from which is patched (one digit more)", kind=str)


@dataclass(frozen=True)
class Fourier(Options):
    top: int = option(5, "how many of the largest frequencies are told")


@dataclass(frozen=True)
class Linear(Options):
    count: int = option(800, "problems, half of them to fit by", least=2)
    seed: int = option(1, "seed of the problems and of the control task", least=0, most=INT32)


@dataclass(frozen=True)
class Neuron(Options):
    layer: int | None = option(None, "the neuron's layer (any)", least=0, most=LAYERS)
    neuron: int | None = option(None, "its number (the costliest one)", least=0, most=WIDTH * RATIO)
    role: str | None = option(None, "whose windows (those of the role that has most)", kind=str)
    x: str | None = option(None, "cell of the window that is drawn downwards", kind=str)
    y: str | None = option(None, "cell that is drawn across, such as 'b place+1'", kind=str)
    count: int = option(1000, "windows by which the costliest neuron is found")
    seed: int = option(1, "seed of these windows", least=0, most=INT32)


OPTIONS: dict[str, type[Options]] = {
    "commutativity": Commutativity,
    "carry-chains": CarryChains,
    "operand-range": OperandRange,
    "longer": Longer,
    "recurrences": Recurrences,
    "top-k": Top,
    "attention": Attention,
    "counterfactual": Counterfactual,
    "ablation": Ablation,
    "patching": Patching,
    "logit-lens": Sample,
    "direct-logits": Sample,
    "fourier": Fourier,
    "linear": Linear,
    "neuron": Neuron,
}
"""Of every probe that has any."""
