"""The layers of a block: their weights, and what MLP and norm calculate.

Attention is in `transformer`, with its encoding of positions, and dropout in `dropout`. A bias is
named after what it follows: `up_bias`, and `gain_bias` of a norm.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from curta.config.model import Bias, ModelConfig
from curta.model.deferred_init import Weight, constant, normal
from curta.model.dropout import DropoutMask, dropped
from curta.model.taps import Tap, untouched

Flat = Float[Array, "tokens width"]
Gains = Float[Array, "*blocks width"] | None
Biases = Weight | None  # blocks features

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "relu2": lambda x: jnp.square(jax.nn.relu(x)),
    "gelu": jax.nn.gelu,
    "gelu_erf": partial(jax.nn.gelu, approximate=False),
    "silu": jax.nn.silu,
}


class Attention(eqx.Module):
    """Weights of an attention layer, or of all of them, stacked along a leading axis.

    What follows from others, by `model.weight_sharing`, is None (`sharing`).
    """

    query: Weight  # blocks width width
    key: Weight | None  # blocks width kv_width
    value: Weight | None  # blocks width kv_width
    out: Weight | None  # blocks width width
    gain: Gains
    after: Gains = None
    turn: Weight | None = None  # blocks 1
    query_bias: Biases = None
    key_bias: Biases = None
    value_bias: Biases = None
    out_bias: Biases = None
    gain_bias: Biases = None
    after_bias: Biases = None


class MLP(eqx.Module):
    """Feed-forward weights of a block, or of all of them, stacked along a leading axis."""

    up: Weight  # blocks width wide
    down: Weight  # blocks wide width
    gain: Gains
    after: Gains = None
    gate: Weight | None = None  # blocks width wide
    up_bias: Biases = None
    down_bias: Biases = None
    gate_bias: Biases = None
    gain_bias: Biases = None
    after_bias: Biases = None


def attention(config: ModelConfig) -> Attention:
    """Weights of all attention layers, still to be drawn."""
    width, count, scale = config.width, config.num_attention_layers, config.width**-0.5
    smaller = 1.0 if config.attention_scale else config.head_dim**-0.5
    query, out = (normal(count, width, width, scale=scale * by) for by in (smaller, 1.0))
    kv_width = config.kv_heads * config.head_dim
    shared = normal(count, width, kv_width, scale=scale)
    return Attention(
        *(query, shared, shared, out, *_gains(config, count)),
        query_bias=bias(config, "qkv", count, width),
        key_bias=bias(config, "qkv", count, kv_width),
        value_bias=bias(config, "qkv", count, kv_width),
        out_bias=bias(config, "out", count, width),
        **_norm_biases(config, count),
    )


def mlp(config: ModelConfig) -> MLP:
    """Feed-forward weights of all blocks, still to be drawn."""
    width, count, wide = config.width, config.num_layers, config.mlp_width
    up = normal(count, width, wide, scale=width**-0.5)
    down = normal(count, wide, width, scale=wide**-0.5)
    return MLP(
        *(up, down, *_gains(config, count), up if config.gated else None),
        up_bias=bias(config, "mlp", count, wide),
        down_bias=bias(config, "mlp", count, width),
        gate_bias=bias(config, "mlp", count, wide) if config.gated else None,
        **_norm_biases(config, count),
    )


def bias(config: ModelConfig, of: Bias, *shape: int) -> Biases:
    """Zeros where a recipe has this bias, and None where it has not."""
    return constant(np.zeros(shape)) if of in config.biases else None


def _gains(config: ModelConfig, count: int) -> tuple[Gains, Gains]:
    """Gains of the norms before a sub-layer and after it, where there are any."""
    gains = jnp.ones((count, config.width)) if config.has_gains else None
    return gains if config.norms_before else None, gains if config.norms_after else None


def _norm_biases(config: ModelConfig, count: int) -> dict[str, Any]:
    """The same of their biases."""
    found = bias(config, "norms", count, config.width)
    before, after = config.norms_before, config.norms_after
    return {"gain_bias": found if before else None, "after_bias": found if after else None}


def linear(
    x: Float[Array, "tokens inputs"],
    weight: Float[Array, "inputs outputs"],
    bias: Float[Array, " outputs"] | None,
) -> Float[Array, "tokens outputs"]:
    """`x` times a matrix, and its bias if it has one."""
    return plus_bias(x @ weight, bias)


def plus_bias(
    x: Float[Array, "tokens outputs"], bias: Float[Array, " outputs"] | None
) -> Float[Array, "tokens outputs"]:
    """`x`, and a bias if there is one."""
    return x if bias is None else x + bias[None].astype(x.dtype)


def feedforward(
    config: ModelConfig, mlp: MLP, x: Flat, mask: DropoutMask = None, tap: Tap = untouched
) -> Flat:
    """Two layers, the inner one multiplied by a gate if there is one (Shazeer, 2002.05202)."""
    activate, inner = ACTIVATIONS[config.activation], linear(x, mlp.up, mlp.up_bias)
    if mlp.gate is None:
        inner = activate(inner)
    else:
        inner = activate(linear(x, mlp.gate, mlp.gate_bias)) * inner
    inner = tap("mlp.inner", inner)
    return linear(dropped(config, inner, mask), mlp.down, mlp.down_bias)


def normed(
    config: ModelConfig,
    x: Flat,
    gain: Float[Array, " width"] | None,
    bias: Float[Array, " width"] | None = None,
) -> Flat:
    """`x` with each token's root mean square 1, and its mean 0 unless the norm is "rms".

    [3, 4] becomes [0.85, 1.13] with "rms" and [-1, 1] with the others, times `gain`, and `bias`
    added; with "none" it stays as it is. Calculated in float32, whatever the dtype of `x`.
    """
    if config.norm == "none":
        return x
    exact = x.astype(jnp.float32)
    if config.norm != "rms":
        exact = exact - jnp.mean(exact, axis=-1, keepdims=True)
    square = jnp.mean(jnp.square(exact), axis=-1, keepdims=True)
    exact = exact * jax.lax.rsqrt(square + config.norm_epsilon)
    exact = exact if gain is None else exact * gain[None]
    return (exact if bias is None else exact + bias[None]).astype(x.dtype)
