"""The optimiser, as a recipe states it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt


@dataclass(frozen=True)
class Optimizer:
    """Which optimiser, how its rate runs, and at what norm gradients are clipped (0: never)."""

    name: Literal["sgd", "adam", "adamw", "muon"] = "adamw"
    learning_rate: Annotated[float, Gt(0.0)] = 1e-2
    weight_decay: Annotated[float, Ge(0.0)] = 0.01
    momentum: Annotated[float, Ge(0.0), Lt(1.0)] = 0.9
    beta2: Annotated[float, Ge(0.0), Lt(1.0)] = 0.98
    clip: Annotated[float, Ge(0.0)] = 1.0
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: Annotated[float, Ge(0.0), Le(1.0)] = 0.1
    final: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
