"""The contract of a class of the transformers library: which recipes it supports, and how.

A class declares once which tensor of its file is which weight of a model; the file is written and
read by that table.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.export.base import Tensors, weights_of
from curta.layouts import layout_named
from curta.model.transformer import Transformer


@dataclass(frozen=True)
class FileTensor:
    """A tensor made of weights: joined side by side, transposed, and multiplied.

    With `{}` in its name there is one for each layer, with that layer's share of each weight. A
    tensor that no weight of the model determines is `fixed`.
    """

    name: str
    weights: tuple[str, ...]
    transposed: bool = False
    factor: float = 1.0
    layer: int | None = None
    fixed: np.ndarray | None = None

    def write(self, weights: Tensors) -> np.ndarray:
        if self.fixed is not None:
            return self.fixed
        joined = np.concatenate([self._share(weights[name]) for name in self.weights], axis=-1)
        tensor = joined * np.float32(self.factor)
        return np.ascontiguousarray(tensor.T if self.transposed else tensor)

    def read(self, tensor: np.ndarray, weights: Tensors) -> None:
        """Put the tensor's numbers into their places in `weights`.

        Raises UserError for another shape, or for another fixed tensor.
        """
        expected = self.write(weights)
        if tensor.shape != expected.shape:
            raise UserError(f"{self.name} has shape {tensor.shape}, not {expected.shape}")
        if self.fixed is not None:
            if not np.array_equal(tensor, expected):
                raise UserError(
                    f"{self.name} is not {expected.flat[0]:g} everywhere any more, and Curta's"
                    " models have no such weight: train without it (see the folder's README.md)"
                )
            return
        joined = (tensor.T if self.transposed else tensor) / np.float32(self.factor)
        widths = [self._share(weights[name]).shape[-1] for name in self.weights]
        shares = np.split(joined, np.cumsum(widths)[:-1], axis=-1)
        for name, share in zip(self.weights, shares, strict=True):
            self._share(weights[name])[...] = share

    def _share(self, weight: np.ndarray) -> np.ndarray:
        return weight if self.layer is None else weight[self.layer]


def tensors_of(
    model: Transformer, rows: Iterable[FileTensor], neutral: Tensors | None = None
) -> list[FileTensor]:
    """Return the tensors of these rows, one for each layer where they are of layers.

    Where the model lacks the weights, a tensor is fixed to the `neutral` ones, or left out if there
    are none. MLP-only layers are the last ones, and lack the weights of attention.
    """
    weights, tensors = weights_of(model), list[FileTensor]()
    for row in rows:
        for layer in range(model.config.num_layers) if "{}" in row.name else (None,):
            tensor = replace(row, name=row.name.format(layer), layer=layer)
            counts = [len(weights.get(name, ())) for name in row.weights]
            if min(counts) > (layer or 0):
                tensors.append(tensor)
            elif neutral and all(name in neutral for name in row.weights):
                tensors.append(replace(tensor, fixed=tensor.write(neutral)))
    return tensors


def read_tensors(tensors: Iterable[FileTensor], values: Tensors, blank: Transformer) -> Transformer:
    """Return the model of these tensors, structured as `blank`; UserError if they do not fit."""
    weights = {name: np.zeros_like(weight) for name, weight in weights_of(blank).items()}
    if further := sorted(values.keys() - {tensor.name for tensor in tensors}):
        raise UserError(f"it has {further[0]} besides")
    for each in tensors:
        if each.name not in values:
            raise UserError(f"{each.name} is missing")
        each.read(values[each.name], weights)
    return jax.tree.unflatten(jax.tree.structure(blank), list(weights.values()))


class ModelClass(ABC):
    """One class that `AutoModelForCausalLM` opens. Stateless; registered in `CLASSES`."""

    kind: str
    """Its `model_type`."""
    architecture: str
    """The name of the class."""

    @abstractmethod
    def refusals(self, recipe: Recipe) -> dict[str, bool]:
        """Return settings that the class does not support, and whether the recipe has them."""

    @abstractmethod
    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        """Return the model's entries in config.json; `n_positions` if texts are limited."""

    @abstractmethod
    def tensors(self, model: Transformer) -> list[FileTensor]:
        """Return every tensor of the file, with each weight in exactly one of them."""

    def code(self) -> dict[str, str]:
        """Return the Python files that accompany the class."""
        return {}

    def lacks(self, recipe: Recipe) -> str | None:
        """Return a setting of the recipe that the class does not support; None if there is none."""
        config = recipe.model
        endless = recipe.layout is not None and not layout_named(recipe.layout).end_sign
        refusals = self.refusals(recipe) | {
            "model.causal False (all of an answer is written at once)": not config.causal,
            f"layout {recipe.layout!r} (its texts have no end sign)": endless,
            f"model.embedding {config.embedding!r}": config.embedding != "table",
            f"model.qk_input {config.qk_input!r}": config.qk_input != "state",
            "model.norm 'none'": config.norm == "none",
            "model.weight_sharing": bool(config.weight_sharing),
        }
        return next((reason for reason, holds in refusals.items() if holds), None)
