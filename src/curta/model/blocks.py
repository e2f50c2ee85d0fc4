"""Blocks of the transformer: their weights, stacked along a leading axis, and their parts."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curta.config.model import Model
from curta.model.deferred_init import Weight, normal

Flat = Float[Array, "tokens width"]
Gains = Float[Array, "blocks width"] | None
Kept = Bool[Array, "*sites tokens width"] | None

ACTIVATIONS = {
    "relu": jax.nn.relu,
    "relu2": lambda x: jnp.square(jax.nn.relu(x)),
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
}

UNROLLED = 8
"""Blocks written out one after the other in the compiled program, at most.

A loop copies each block's weights and activations: four blocks of width 64 took 98 ms
a step in a loop and 73 ms written out.
"""


class Attention(eqx.Module):
    """Attention weights of all attending blocks, stacked along a leading axis."""

    query: Weight  # blocks width width
    key: Weight  # blocks width remembered
    value: Weight  # blocks width remembered
    out: Weight  # blocks width width
    gain: Gains
    after: Gains = None


class MLP(eqx.Module):
    """Feed-forward weights of all blocks, stacked along a leading axis."""

    up: Weight  # blocks width wide
    down: Weight  # blocks wide width
    gain: Gains
    after: Gains = None
    gate: Weight | None = None  # blocks width wide


def attention(settings: Model) -> Attention:
    """Attention weights, still to be drawn."""
    width, blocks = settings.width, settings.attending
    scale = width**-0.5
    square = normal(blocks, width, width, scale=scale)
    query = (
        square
        if settings.attention_scale
        else normal(blocks, width, width, scale=scale * settings.features**-0.5)
    )
    shared = normal(blocks, width, settings.remembered * settings.features, scale=scale)
    return Attention(query, shared, shared, square, *_gains(settings, blocks))


def mlp(settings: Model) -> MLP:
    """Feed-forward weights, still to be drawn."""
    width, blocks, wide = settings.width, settings.blocks, settings.width * settings.mlp_factor
    up = normal(blocks, width, wide, scale=width**-0.5)
    down = normal(blocks, wide, width, scale=wide**-0.5)
    return MLP(up, down, *_gains(settings, blocks), up if settings.gated else None)


def feedforward(settings: Model, mlp: MLP, x: Flat) -> Flat:
    """Two layers, the inner one multiplied by a gate if there is one (Shazeer, 2002.05202)."""
    activate = ACTIVATIONS[settings.activation]
    if mlp.gate is None:
        return activate(x @ mlp.up) @ mlp.down
    return (activate(x @ mlp.gate) * (x @ mlp.up)) @ mlp.down


def normed(settings: Model, x: Flat, gain: Array | None) -> Flat:
    """`x` with each token's root mean square 1, and its mean 0 unless the norm is "rms"."""
    if settings.norm != "rms":
        x = x - jnp.mean(x, axis=-1, keepdims=True)
    x = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)
    return x if gain is None else x * gain


def added(settings: Model, x: Flat, change: Flat, gain: Array | None) -> Flat:
    """The state after a sub-layer; itself normalised where the norm stands there."""
    if settings.norm_placement == "pre":
        return x + change
    return normed(settings, x + change, gain)


def keep(noise: PRNGKeyArray | None, settings: Model, *shape: int) -> Kept:
    """Which numbers dropout leaves; None if it leaves all. One draw for all of them."""
    if noise is None or not settings.dropout:
        return None
    return jax.random.bernoulli(noise, 1 - settings.dropout, shape)


def dropped(settings: Model, x: Flat, kept: Kept) -> Flat:
    """`x` with only what is kept, scaled up so that its mean stays."""
    return x if kept is None else jnp.where(kept, x / (1 - settings.dropout), 0.0)


def through(
    block: Callable[[Flat, Any], tuple[Flat, None]], x: Flat, parts: Any, count: int
) -> Flat:
    """`x` through `count` stacked blocks; fewer than two need no loop to be compiled."""
    if count < 2:
        return block(x, at(parts, 0))[0] if count else x
    return jax.lax.scan(block, x, parts, unroll=min(count, UNROLLED))[0]


def at(tree: Any, which: int | slice) -> Any:
    """One of the stacked blocks, or some of them."""
    return jax.tree.map(lambda leaf: leaf[which], tree)


def _gains(settings: Model, blocks: int) -> tuple[Array | None, Array | None]:
    """Gains of the norms before a sub-layer and after it, where there are any."""
    if settings.norm == "plain":
        return None, None
    ones = jnp.ones((blocks, settings.width))
    return ones, ones if settings.norm_placement == "post_residual" else None
