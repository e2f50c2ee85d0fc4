"""The layers of a block: their weights, and what MLP, norm and dropout calculate.

Attention is in `transformer`, with its encoding of positions.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curta.config.model import ModelConfig
from curta.model.deferred_init import Weight, normal

Flat = Float[Array, "tokens width"]
Gains = Float[Array, "*blocks width"] | None
DropoutMask = Bool[Array, "*sites tokens width"] | None

ACTIVATIONS = {
    "relu": jax.nn.relu,
    "relu2": lambda x: jnp.square(jax.nn.relu(x)),
    "gelu": jax.nn.gelu,
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


class MLP(eqx.Module):
    """Feed-forward weights of a block, or of all of them, stacked along a leading axis."""

    up: Weight  # blocks width wide
    down: Weight  # blocks wide width
    gain: Gains
    after: Gains = None
    gate: Weight | None = None  # blocks width wide


def attention(config: ModelConfig) -> Attention:
    """Weights of all attention layers, still to be drawn."""
    width, count, scale = config.width, config.num_attention_layers, config.width**-0.5
    smaller = 1.0 if config.attention_scale else config.head_dim**-0.5
    query, out = (normal(count, width, width, scale=scale * by) for by in (smaller, 1.0))
    shared = normal(count, width, config.kv_heads * config.head_dim, scale=scale)
    return Attention(query, shared, shared, out, *_gains(config, count))


def mlp(config: ModelConfig) -> MLP:
    """Feed-forward weights of all blocks, still to be drawn."""
    width, count, wide = config.width, config.num_layers, config.width * config.mlp_ratio
    up = normal(count, width, wide, scale=width**-0.5)
    down = normal(count, wide, width, scale=wide**-0.5)
    return MLP(up, down, *_gains(config, count), up if config.gated else None)


def _gains(config: ModelConfig, count: int) -> tuple[Gains, Gains]:
    """Gains of the norms before a sub-layer and after it, where there are any."""
    gains = jnp.ones((count, config.width)) if config.has_gains else None
    return gains, gains if config.norm_placement == "post_residual" else None


def feedforward(config: ModelConfig, mlp: MLP, x: Flat) -> Flat:
    """Two layers, the inner one multiplied by a gate if there is one (Shazeer, 2002.05202)."""
    activate = ACTIVATIONS[config.activation]
    if mlp.gate is None:
        return activate(x @ mlp.up) @ mlp.down
    return (activate(x @ mlp.gate) * (x @ mlp.up)) @ mlp.down


def normed(config: ModelConfig, x: Flat, gain: Float[Array, " width"] | None) -> Flat:
    """`x` with each token's root mean square 1, and its mean 0 unless the norm is "rms".

    [3, 4] becomes [0.85, 1.13] with "rms" and [-1, 1] with the others, times `gain`; with "none"
    it stays as it is.
    """
    if config.norm == "none":
        return x
    if config.norm != "rms":
        x = x - jnp.mean(x, axis=-1, keepdims=True)
    x = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)
    return x if gain is None else x * gain[None]


def dropout_mask(key: PRNGKeyArray | None, config: ModelConfig, *shape: int) -> DropoutMask:
    """Which numbers dropout leaves; None if it leaves all. One draw for all of them."""
    if key is None or not config.dropout:
        return None
    return jax.random.bernoulli(key, 1 - config.dropout, shape)


def dropout(config: ModelConfig, x: Flat, mask: DropoutMask) -> Flat:
    """`x` with only what the mask leaves, scaled up so that its mean stays."""
    return x if mask is None else jnp.where(mask, x / (1 - config.dropout), 0.0)
