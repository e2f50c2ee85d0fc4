"""The contract of a class of the transformers library: which recipes it supports, and how.

A class declares once which tensor of its file is which weight of a model; the file is written and
read by that table.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
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

    With a `block` it has that block's share of each weight. Without weights it is `value`
    everywhere: the other class has such a tensor and the model lacks it.
    """

    name: str
    weights: tuple[str, ...]
    block: int | None = None
    transposed: bool = False
    factor: float = 1.0
    shape: tuple[int, ...] = ()
    value: float = 0.0

    @property
    def rounds(self) -> bool:
        """Whether multiplying by the factor rounds, so dividing does not restore the weight."""
        return math.frexp(self.factor)[0] != 0.5

    def write(self, weights: Tensors) -> np.ndarray:
        if not self.weights:
            return np.full(self.shape, self.value, np.float32)
        joined = np.concatenate([self._share(weights[name]) for name in self.weights], axis=-1)
        tensor = joined * np.float32(self.factor)
        return np.ascontiguousarray(tensor.T if self.transposed else tensor)

    def read(self, tensor: np.ndarray, weights: Tensors, former: Any) -> None:
        """Put the tensor's numbers into their places in `weights`.

        `former` are the weights before multiplication: they are used where the tensor is still
        their product. Raises UserError for another shape, or for another constant.
        """
        expected = self.write(weights)
        if tensor.shape != expected.shape:
            raise UserError(f"{self.name} has shape {tensor.shape}, not {expected.shape}")
        if not self.weights:
            if not np.array_equal(tensor, expected):
                raise UserError(
                    f"{self.name} is not {self.value:g} everywhere any more, and Curta's models"
                    " have no such weight: train without it (see the folder's README.md)"
                )
            return
        product = tensor.T if self.transposed else tensor
        joined = product / np.float32(self.factor)
        if former is not None:
            unscaled = np.array(former, np.float32).reshape(joined.shape)
            joined = np.where(unscaled * np.float32(self.factor) == product, unscaled, joined)
        widths = [self._share(weights[name]).shape[-1] for name in self.weights]
        shares = np.split(joined, np.cumsum(widths)[:-1], axis=-1)
        for name, share in zip(self.weights, shares, strict=True):
            self._share(weights[name])[...] = share

    def _share(self, weight: np.ndarray) -> np.ndarray:
        return weight if self.block is None else weight[self.block]


def or_constant(row: FileTensor, weights: Tensors) -> FileTensor:
    """Return the tensor, as a constant if one of its weights is missing."""
    return row if all(name in weights for name in row.weights) else replace(row, weights=())


def layer_tensors(model: Transformer, prefix: str, rows: Iterable[FileTensor]) -> list[FileTensor]:
    """Return these tensors of every layer, as constants where a layer lacks their weights."""
    tensors, weights = [], weights_of(model)
    for block in range(model.config.num_layers):
        if block == model.config.num_attention_layers:
            weights = {name: w for name, w in weights.items() if name.startswith("mlp.")}
        tensors += [
            replace(or_constant(row, weights), name=f"{prefix}.{block}.{row.name}", block=block)
            for row in rows
        ]
    return tensors


def read_tensors(
    tensors: Sequence[FileTensor], values: Tensors, blank: Transformer, former: Mapping[str, Any]
) -> Transformer:
    """Return the model of these tensors, structured as `blank`; UserError if they do not fit."""
    weights = {name: np.zeros_like(weight) for name, weight in weights_of(blank).items()}
    for each in tensors:
        if each.name not in values:
            raise UserError(f"{each.name} is missing")
        each.read(values[each.name], weights, former.get(each.name))
    return jax.tree.unflatten(jax.tree.structure(blank), list(weights.values()))


class ModelClass(ABC):
    """One class that `AutoModelForCausalLM` opens. Stateless; registered in `CLASSES`."""

    kind: str
    """Its `model_type`."""
    architecture: str
    """The name of the class."""

    @abstractmethod
    def lacks(self, recipe: Recipe) -> str | None:
        """Return a setting of the recipe that the class does not support; None if there is none."""

    @abstractmethod
    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        """Return the model's entries in config.json; `n_positions` if texts are limited."""

    @abstractmethod
    def tensors(self, model: Transformer) -> list[FileTensor]:
        """Return every tensor of the file, with each weight in exactly one of them."""

    def code(self) -> dict[str, str]:
        """Return the Python files that accompany the class."""
        return {}


def first(reasons: dict[str, bool]) -> str | None:
    """Return the first reason that holds."""
    return next((reason for reason, holds in reasons.items() if holds), None)


def lacking_everywhere(recipe: Recipe) -> dict[str, bool]:
    """Return what no class supports."""
    config = recipe.model
    endless = recipe.layout is not None and not layout_named(recipe.layout).end_sign
    return {
        "model.causal False (all of an answer is written at once)": not config.causal,
        f"layout {recipe.layout!r} (its texts have no end sign)": endless,
        f"model.embedding {config.embedding!r}": config.embedding != "table",
        f"model.qk_input {config.qk_input!r}": config.qk_input != "state",
        "model.norm 'none'": config.norm == "none",
        "model.weight_sharing": bool(config.weight_sharing),
    }


def lacking_in_library(recipe: Recipe) -> dict[str, bool]:
    """Return what neither GPT-2 nor Llama supports."""
    config = recipe.model
    return {
        "model.role_embeddings": config.role_embeddings,
        "model.compositional_embeddings": config.compositional_embeddings,
        f"model.num_recurrences {config.num_recurrences}": config.num_recurrences > 1,
        f"model.input_injection {config.input_injection!r}": config.input_injection != "none",
        f"model.norm_placement {config.norm_placement!r}": config.norm_placement != "pre",
        "model.final_norm False": not config.final_norm,
        **lacking_everywhere(recipe),
    }


def tied_scale(model: Transformer) -> float:
    """Return the factor of a tied head's logits, which moves into the last norm's gain."""
    config = model.config
    return config.width**-0.5 if config.tie_embeddings and config.tied_scale else 1.0
