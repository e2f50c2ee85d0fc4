"""Which tensor of a file is which weight of a model, said once and read both ways."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from curta.config.errors import UserError
from curta.export.base import Tensors, weights_of
from curta.model.transformer import Transformer


@dataclass(frozen=True)
class Part:
    """A tensor that is made of weights: joined side by side, turned, and multiplied."""

    name: str
    weights: tuple[str, ...]
    block: int | None = None
    turned: bool = False
    factor: float = 1.0

    @property
    def rounds(self) -> bool:
        """Whether the factor costs the last bit, so that dividing does not bring it back."""
        return math.frexp(self.factor)[0] != 0.5

    def write(self, weights: Tensors) -> np.ndarray:
        tensor = np.concatenate([self._of(weights[name]) for name in self.weights], axis=-1)
        tensor = tensor * np.float32(self.factor)
        return np.ascontiguousarray(tensor.T if self.turned else tensor)

    def read(self, tensor: np.ndarray, weights: Tensors, former: Any) -> None:
        """Puts the tensor's numbers where they belong; UserError if there are more or fewer.

        `former` are the weights before they were multiplied: where the tensor is still what
        was made of them, they are taken.
        """
        if tensor.shape != (expected := self.write(weights).shape):
            raise UserError(f"{self.name} has shape {tensor.shape}, not {expected}")
        found = (tensor.T if self.turned else tensor) / np.float32(self.factor)
        if former is not None:
            known = self._known(former, found.shape)
            made = known * np.float32(self.factor)
            found = np.where(made == (tensor.T if self.turned else tensor), known, found)
        widths = [self._of(weights[name]).shape[-1] for name in self.weights]
        shares = np.split(found, np.cumsum(widths)[:-1], axis=-1)
        for name, share in zip(self.weights, shares, strict=True):
            self._of(weights[name])[...] = share

    def _known(self, former: Any, shape: tuple[int, ...]) -> np.ndarray:
        try:
            return np.array(former, np.float32).reshape(shape)
        except (TypeError, ValueError):
            raise UserError(f"curta.former of {self.name} is damaged") from None

    def _of(self, weight: np.ndarray) -> np.ndarray:
        return weight if self.block is None else weight[self.block]


@dataclass(frozen=True)
class Constant:
    """A tensor that the other class has and Curta's models do without: one number everywhere."""

    name: str
    shape: tuple[int, ...]
    value: float = 0.0

    def write(self) -> np.ndarray:
        return np.full(self.shape, self.value, np.float32)

    def check(self, tensor: np.ndarray) -> None:
        """Raises UserError if it has become something else."""
        if not np.array_equal(tensor, self.write()):
            raise UserError(
                f"{self.name} is not {self.value:g} everywhere any more, and Curta's models have"
                " no such weight: train without it (see the folder's README.md)"
            )


Parts = Sequence[Part | Constant]


def write(parts: Parts, model: Transformer) -> Tensors:
    """The tensors of a file."""
    weights = weights_of(model)
    return {
        part.name: part.write() if isinstance(part, Constant) else part.write(weights)
        for part in parts
    }


def read(
    parts: Parts, tensors: Tensors, blank: Transformer, former: Mapping[str, Any]
) -> Transformer:
    """The model whose tensors these are, in the structure of `blank`; UserError if none is."""
    weights = {name: np.zeros_like(weight) for name, weight in weights_of(blank).items()}
    for part in parts:
        if part.name not in tensors:
            raise UserError(f"{part.name} is missing")
        if isinstance(part, Constant):
            part.check(tensors[part.name])
        else:
            part.read(tensors[part.name], weights, former.get(part.name))
    return jax.tree.unflatten(jax.tree.structure(blank), list(weights.values()))


def former(parts: Parts, model: Transformer) -> dict[str, list[float]]:
    """Of each part whose factor rounds, the weights as they were before."""
    weights = weights_of(model)
    return {
        part.name: np.concatenate([weights[name].ravel() for name in part.weights]).tolist()
        for part in parts
        if isinstance(part, Part) and part.rounds
    }
