"""Mixed precision: activations in bfloat16, all else in float32.

Activations have the dtype of the matrices that they are multiplied by, so a model calculates in
bfloat16 once its matrices are cast. Parameters, and with them gradients and the optimizer's state,
stay float32: the cast is part of the step. So do the statistics and gains of norms, what encodings
calculate, scores, softmax, logits and loss; but a tied head is rounded with the embeddings, which
it is.
Source: Micikevicius et al., arXiv 1710.03740; without loss scaling, since bfloat16 has float32's
exponents.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.model import sharing
from curta.model.transformer import Transformer

KEPT = ("positions", "gain", "after", "head", "gain_bias", "after_bias", "head_bias")
"""Weights that are not multiplied by activations in bfloat16."""


def cast(model: Transformer, precision: Literal["float32", "bfloat16"]) -> Transformer:
    """The model as it calculates in a training step; evaluations take it as it is, in float32.

    Raises nothing: gradients with respect to `model` are float32 either way.
    """
    if precision == "float32":
        return model
    return jax.tree_util.tree_map_with_path(_half, _written_out(model))


def _written_out(model: Transformer) -> Transformer:
    """The same with weights that follow from others, and vectors on an arc, in float32."""
    model = sharing.unshared(model)
    if model.config.embedding == "table":
        return model
    config = replace(model.config, embedding="table")
    return replace(model, tokens=model.characters(), config=config)


def _half(path: Sequence[Any], leaf: Array) -> Array:
    kept = any(getattr(part, "name", None) in KEPT for part in path)
    return leaf if kept else leaf.astype(jnp.bfloat16)
