"""The contract of a class of the transformers library: which recipes it expresses, and how.

A class says once which tensor of its file is which weight of a model (`FileTensors`); the file is
written and read back by it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.export.base import Tensors, weights_of
from curta.layouts import layout_named
from curta.model.transformer import Transformer


@dataclass(frozen=True)
class WeightTensor:
    """A tensor that is made of weights: joined side by side, transposed, and multiplied.

    With a `block` it has that block's share of each weight.
    """

    name: str
    weights: tuple[str, ...]
    block: int | None = None
    transposed: bool = False
    factor: float = 1.0

    @property
    def rounds(self) -> bool:
        """Whether the factor costs the last bit, so that dividing does not bring it back."""
        return math.frexp(self.factor)[0] != 0.5

    def write(self, weights: Tensors) -> np.ndarray:
        joined = np.concatenate([self._share(weights[name]) for name in self.weights], axis=-1)
        tensor = joined * np.float32(self.factor)
        return np.ascontiguousarray(tensor.T if self.transposed else tensor)

    def read(self, tensor: np.ndarray, weights: Tensors, former: Any) -> None:
        """Put the tensor's numbers where they belong in `weights`.

        `former` are the weights as they were before they were multiplied: where the tensor is
        still what was made of them, they are taken. Raises UserError for another shape.
        """
        if tensor.shape != (expected := self.write(weights).shape):
            raise UserError(f"{self.name} has shape {tensor.shape}, not {expected}")
        product = tensor.T if self.transposed else tensor
        joined = product / np.float32(self.factor)
        if former is not None:
            try:
                known = np.array(former, np.float32).reshape(joined.shape)
            except (TypeError, ValueError):
                raise UserError(f"curta.former of {self.name} is damaged") from None
            joined = np.where(known * np.float32(self.factor) == product, known, joined)
        widths = [self._share(weights[name]).shape[-1] for name in self.weights]
        shares = np.split(joined, np.cumsum(widths)[:-1], axis=-1)
        for name, share in zip(self.weights, shares, strict=True):
            self._share(weights[name])[...] = share

    def _share(self, weight: np.ndarray) -> np.ndarray:
        return weight if self.block is None else weight[self.block]


@dataclass(frozen=True)
class ConstantTensor:
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


FileTensors = Sequence[WeightTensor | ConstantTensor]


def write_tensors(tensors: FileTensors, model: Transformer) -> Tensors:
    """The tensors of a file."""
    weights = weights_of(model)
    return {
        each.name: each.write() if isinstance(each, ConstantTensor) else each.write(weights)
        for each in tensors
    }


def read_tensors(
    tensors: FileTensors, values: Tensors, blank: Transformer, former: Mapping[str, Any]
) -> Transformer:
    """The model whose tensors these are, in the structure of `blank`; UserError if none is."""
    weights = {name: np.zeros_like(weight) for name, weight in weights_of(blank).items()}
    for each in tensors:
        if each.name not in values:
            raise UserError(f"{each.name} is missing")
        if isinstance(each, ConstantTensor):
            each.check(values[each.name])
        else:
            each.read(values[each.name], weights, former.get(each.name))
    return jax.tree.unflatten(jax.tree.structure(blank), list(weights.values()))


def former_weights(tensors: FileTensors, model: Transformer) -> dict[str, list[float]]:
    """The weights before they were multiplied, of each tensor whose factor rounds."""
    weights = weights_of(model)
    return {
        each.name: np.concatenate([weights[name].ravel() for name in each.weights]).tolist()
        for each in tensors
        if isinstance(each, WeightTensor) and each.rounds
    }


class ModelClass(ABC):
    """One class that `AutoModelForCausalLM` opens. Stateless; registered in `CLASSES`."""

    kind: str
    """Its `model_type`."""
    architecture: str
    """The class's own name."""

    @abstractmethod
    def lacks(self, recipe: Recipe) -> str | None:
        """What of such a recipe the class does not have, if there is anything."""

    @abstractmethod
    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        """What config.json says of the model; `n_positions` if texts end at a number of tokens."""

    @abstractmethod
    def tensors(self, model: Transformer) -> FileTensors:
        """Every tensor of the file, each weight in one of them."""

    def code(self) -> dict[str, str]:
        """The files of Python that the class brings with it."""
        return {}


def first(reasons: dict[str, bool]) -> str | None:
    """The first reason that holds."""
    return next((reason for reason, holds in reasons.items() if holds), None)


def lacking_everywhere(recipe: Recipe) -> dict[str, bool]:
    """What no class has."""
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
    """What neither GPT-2 nor Llama has."""
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
    """What logits of a tied head are multiplied by: it is put into the last norm's gain."""
    config = model.config
    return config.width**-0.5 if config.tie_embeddings and config.tied_scale else 1.0
