"""Weights that stand for several: which are learned, and how the others follow from them.

A model learns only what its recipe does not share; `unshared` writes the rest out, as blocks,
proofs and exports read it.
Source: AdderBoard, github.com/anadim/AdderBoard, trained entries of a few dozen parameters. There
one angle turns a head's whole key; here every pair of features by the same angle.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from curta.config.model import ModelConfig
from curta.model.deferred_init import constant
from curta.model.layers import MLP, Attention

if TYPE_CHECKING:
    from curta.model.transformer import Transformer


def learned(config: ModelConfig, attention: Attention) -> Attention:
    """Attention without the weights that are made of others; with the angle that turns keys."""
    shared = config.weight_sharing
    turns = "key-query" in shared
    return replace(
        attention,
        key=None if turns else attention.key,
        value=None if "value-key" in shared else attention.value,
        out=None if {"out-query", "out-value"} & set(shared) else attention.out,
        gain=None if "norms" in shared else attention.gain,
        after=None if "norms" in shared else attention.after,
        turn=constant(np.zeros((config.num_attention_layers, 1))) if turns else None,
    )


def without_gains(config: ModelConfig, mlp: MLP) -> MLP:
    """Feed-forward weights; without gains where the last norm's are those of all norms."""
    return replace(mlp, gain=None, after=None) if "norms" in config.weight_sharing else mlp


def unshared(model: "Transformer") -> "Transformer":
    """A model that calculates the same, with every weight in its own place."""
    config = model.config
    if not config.weight_sharing:
        return model
    attention, mlp = model.attention, model.mlp
    key = turned(attention.query, attention.turn) if attention.key is None else attention.key
    value = key if attention.value is None else attention.value
    leaves = -value if "out-value" in config.weight_sharing else attention.query
    out = leaves.swapaxes(1, 2) if attention.out is None else attention.out
    attention = replace(attention, key=key, value=value, out=out, turn=None)
    if "norms" in config.weight_sharing:
        attention = replace(attention, **_gains(model, config.num_attention_layers))
        mlp = replace(mlp, **_gains(model, config.num_layers))
    return replace(model, attention=attention, mlp=mlp, config=replace(config, weight_sharing=()))


def turned(
    query: Float[Array, "blocks width features"], turn: Float[Array, "blocks 1"] | None
) -> Float[Array, "blocks width features"]:
    """Each pair of features turned by its block's angle, in radians.

    >>> turned(jnp.array([[[1.0, 0.0], [0.0, 2.0]]]), jnp.array([[jnp.pi / 2]])).round(3).tolist()
    [[[-0.0, 1.0], [-2.0, -0.0]]]
    """
    assert turn is not None
    pairs = query.reshape(*query.shape[:2], -1, 2)
    angle = turn[:, :, None]
    first, second = pairs[..., 0], pairs[..., 1]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    both = first * cos - second * sin, first * sin + second * cos
    return jnp.stack(both, axis=-1).reshape(query.shape)


def _gains(model: "Transformer", blocks: int) -> dict[str, Any]:
    """Gains of the norms of so many blocks, all of them the last norm's."""
    assert model.gain is not None
    gains, config = jnp.broadcast_to(model.gain, (blocks, model.config.width)), model.config
    after = gains if config.norms_after else None
    return {"gain": gains if config.norms_before else None, "after": after}
