"""The optimisers, as a recipe states them. `training/optimizers.py` makes them of these."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt
from pydantic import Discriminator, Tag

from curta.config.limits import FACTOR, Name, Rate, RateOrNone

Momentum = Annotated[float, Ge(0.0), Lt(1.0)]
Share = Annotated[float, Ge(0.0), Le(1.0)]


@dataclass(frozen=True)
class OptimizerSettings:
    """The learning rate, its course over the steps, and the norm at which gradients are clipped."""

    name: Name
    """Which optimiser; another one keeps the fields that both have."""
    learning_rate: Rate = 1e-2
    """Size of updates at its largest, when the warm-up has ended."""
    clip: Annotated[float, Ge(0.0), Le(FACTOR)] = 1.0
    """Norm of all gradients together, above which they are scaled down to it; 0: never."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate falls after the warm-up: cosine, linear, or not at all (constant)."""
    warmup: Share = 0.1
    """Share of the steps, from 0 to 1, in which the learning rate rises."""
    final: Share = 0.0
    """Share of the learning rate towards which it falls: the step after the last would have it."""


@dataclass(frozen=True)
class SGD(OptimizerSettings):
    """Stochastic gradient descent."""

    name: Literal["sgd"] = "sgd"
    momentum: Momentum = 0.9
    """Share of the former update that is part of the next; 0: none."""


@dataclass(frozen=True)
class _Moments(OptimizerSettings):
    """What Adam has, and what follows it."""

    beta1: Momentum = 0.9
    """Share that the running mean of gradients keeps at each step."""
    beta2: Momentum = 0.98
    """Share that the running mean of squared gradients keeps at each step."""


@dataclass(frozen=True)
class _Decaying(_Moments):
    """What has weight decay besides."""

    weight_decay: RateOrNone = 0.01
    """Share of every weight, times the learning rate, taken off it at each step; 0: none."""


@dataclass(frozen=True)
class Adam(_Moments):
    """Adam (Kingma and Ba, arXiv 1412.6980)."""

    name: Literal["adam"] = "adam"


@dataclass(frozen=True)
class AdamW(_Decaying):
    """Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101)."""

    name: Literal["adamw"] = "adamw"


@dataclass(frozen=True)
class Muon(_Decaying):
    """Muon for the blocks' matrices, with `momentum`; AdamW for all else, with the betas.

    As optax has it, both with Nesterov's momentum.
    """

    name: Literal["muon"] = "muon"
    momentum: Momentum = 0.9
    """Share that the running mean of gradients keeps, for the matrices of the blocks."""


OPTIMIZERS: dict[str, type[OptimizerSettings]] = {
    "sgd": SGD,
    "adam": Adam,
    "adamw": AdamW,
    "muon": Muon,
}
"""Settings of every optimiser, by name."""


def _name(value: object) -> object:
    """Which optimiser settings are of; AdamW where they do not say it."""
    return value.get("name", "adamw") if isinstance(value, dict) else getattr(value, "name", None)


Optimizer = Annotated[
    Annotated[SGD, Tag("sgd")]
    | Annotated[Adam, Tag("adam")]
    | Annotated[AdamW, Tag("adamw")]
    | Annotated[Muon, Tag("muon")],
    Discriminator(_name),
]
