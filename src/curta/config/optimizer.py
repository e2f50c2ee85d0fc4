"""The optimisers, as a recipe states them. `training/optimizers.py` makes them of these."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, Lt
from pydantic import Discriminator, Tag

from curta.config.limits import FACTOR, Rate, RateOrNone

Momentum = Annotated[float, Ge(0.0), Lt(1.0)]
Share = Annotated[float, Ge(0.0), Le(1.0)]


@dataclass(frozen=True)
class Common:
    """The learning rate, its course over the steps, and the norm at which gradients are clipped.

    The rate rises over a share `warmup` of the steps, and then falls to a share `final` of
    itself. With a `clip` of 0 gradients are never clipped.
    """

    learning_rate: Rate = 1e-2
    clip: Annotated[float, Ge(0.0), Le(FACTOR)] = 1.0
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: Share = 0.1
    final: Share = 0.0


@dataclass(frozen=True)
class SGD(Common):
    """Stochastic gradient descent."""

    name: Literal["sgd"] = "sgd"
    momentum: Momentum = 0.9


@dataclass(frozen=True)
class Adam(Common):
    """Adam (Kingma and Ba, arXiv 1412.6980)."""

    name: Literal["adam"] = "adam"
    beta1: Momentum = 0.9
    beta2: Momentum = 0.98


@dataclass(frozen=True)
class AdamW(Common):
    """Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101)."""

    name: Literal["adamw"] = "adamw"
    weight_decay: RateOrNone = 0.01
    beta1: Momentum = 0.9
    beta2: Momentum = 0.98


@dataclass(frozen=True)
class Muon(Common):
    """Muon for the blocks' matrices, with `momentum`; AdamW for all else, with the betas."""

    name: Literal["muon"] = "muon"
    weight_decay: RateOrNone = 0.01
    momentum: Momentum = 0.9
    beta1: Momentum = 0.9
    beta2: Momentum = 0.98


OPTIMIZERS: dict[str, type[Common]] = {"sgd": SGD, "adam": Adam, "adamw": AdamW, "muon": Muon}
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
