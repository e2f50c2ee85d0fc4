"""The section `[optimizer]` of a recipe; `training/optimizers.py` builds optimisers of it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt
from pydantic import Discriminator, Tag

from curta.config.limits import Rate, RateOrNone

Momentum = Annotated[float, Ge(0.0), Lt(1.0)]
Share = Annotated[float, Ge(0.0), Le(1.0)]


@dataclass(frozen=True)
class OptimizerSettings:
    """What all optimisers have: learning rate, schedule, and clipping of gradients."""

    name: str
    """Which optimiser; changing it keeps the fields that both have."""
    learning_rate: Rate = 1e-2
    """Peak learning rate, when the warm-up ends."""
    clip: Annotated[float, Ge(0.0), Le(1e12)] = 1.0
    """Global norm to which larger gradients are scaled down; 0: never."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Decay of the learning rate after the warm-up: cosine, linear, or constant."""
    warmup: Share = 0.1
    """Share of the steps in which the learning rate rises linearly."""
    final: Share = 0.0
    """Share of the learning rate that it decays to, one step after the last."""


@dataclass(frozen=True)
class SGD(OptimizerSettings):
    """Stochastic gradient descent."""

    name: Literal["sgd"] = "sgd"
    momentum: Momentum = 0.9
    """Momentum of updates."""


@dataclass(frozen=True)
class _Moments(OptimizerSettings):
    """What Adam and its successors have."""

    beta1: Momentum = 0.9
    """Decay of the running mean of gradients."""
    beta2: Momentum = 0.98
    """Decay of the running mean of squared gradients."""


@dataclass(frozen=True)
class _Decaying(_Moments):
    """What optimisers with weight decay have."""

    weight_decay: RateOrNone = 0.01
    """Share of every weight, times the learning rate, subtracted at each step."""


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
    """Muon for the matrices of blocks, with `momentum`; AdamW, with the betas, for the rest.

    By optax, both with Nesterov momentum.
    """

    name: Literal["muon"] = "muon"
    momentum: Momentum = 0.9
    """Decay of the running mean of gradients, for the matrices of blocks."""


OPTIMIZERS: dict[str, type[OptimizerSettings]] = {
    kind.name: kind for kind in (SGD, Adam, AdamW, Muon)
}
"""The settings of each optimiser, by name."""


def _name(value: object) -> object:
    """Return the name of the optimiser; AdamW if settings do not say."""
    return value.get("name", "adamw") if isinstance(value, dict) else getattr(value, "name", None)


Optimizer = Annotated[
    Annotated[SGD, Tag("sgd")]
    | Annotated[Adam, Tag("adam")]
    | Annotated[AdamW, Tag("adamw")]
    | Annotated[Muon, Tag("muon")],
    Discriminator(_name),
]
