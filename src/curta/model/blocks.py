"""A block of the transformer: its weights, and the one place that says what it does with them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curta.config.model import ModelConfig
from curta.model.deferred_init import Weight, normal

Flat = Float[Array, "tokens width"]
Going = Float[Array, "going width"]  # tokens that go on after an attention layer
Gains = Float[Array, "*blocks width"] | None
DropoutMask = Bool[Array, "*sites tokens width"] | None

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
    """Weights of an attention layer, or of all of them, stacked along a leading axis."""

    query: Weight  # blocks width width
    key: Weight  # blocks width kv_width
    value: Weight  # blocks width kv_width
    out: Weight  # blocks width width
    gain: Gains
    after: Gains = None


class MLP(eqx.Module):
    """Feed-forward weights of a block, or of all of them, stacked along a leading axis."""

    up: Weight  # blocks width wide
    down: Weight  # blocks wide width
    gain: Gains
    after: Gains = None
    gate: Weight | None = None  # blocks width wide


class BlockContext(NamedTuple):
    """What a block is told of its tokens; over windows, the embedded input only."""

    where: Any  # where the tokens stand, a Where
    visible_keys: Any  # what they see, Links
    entry: Flat  # the embedded input


class Block(eqx.Module):
    """One block, or several, stacked along a leading axis."""

    mlp: MLP
    attention: Any  # Attention; None in an MLP-only layer
    positions: Any  # what the encoding learns for each attention layer
    masks: DropoutMask  # of the outputs of both sub-layers
    config: ModelConfig = eqx.field(static=True)

    def __call__(
        self, x: Flat, context: BlockContext, attend: "Attend | None" = None
    ) -> tuple[Going, Any]:
        """x + attention(norm(x)), and then x + mlp(norm(x)); besides, what `attend` found.

        `attend` gives the heads of norm(x), which are not gathered in the same way in training,
        in decoding, or over windows; after it fewer tokens may go on. None: an MLP-only layer.
        """
        x, found = self._inject(x, context, "block"), None
        if attend is not None:
            x, context, heads, found = attend(self, x, context)
            x = self._add(x, heads @ self.attention.out, self.attention, index_tree(self.masks, 0))
            x = self._inject(x, context, "sublayer")
        change = feedforward(self.config, self.mlp, normed(self.config, x, self.mlp.gain))
        return self._add(x, change, self.mlp, index_tree(self.masks, 1)), found

    def _add(self, x: Flat, change: Flat, layer: Attention | MLP, mask: DropoutMask) -> Flat:
        """The state after a sub-layer; itself normalised where the norm stands there."""
        x = x + dropout(self.config, change, mask)
        return x if self.config.norm_placement == "pre" else normed(self.config, x, layer.after)

    def _inject(self, x: Flat, context: BlockContext, before: str) -> Flat:
        """The embedded input added, if the config has it before a block or another sub-layer."""
        return x + context.entry if self.config.input_injection in (before, "sublayer") else x


Attended = tuple[Going, BlockContext, Going, Any]
"""The tokens that go on, their context, what their heads took, and what the caller is to get."""
Attend = Callable[[Block, Flat, BlockContext], Attended]


def scan_blocks(
    blocks: Block, x: Flat, context: BlockContext, attend: Attend | None = None
) -> Flat:
    """`x` through stacked blocks; fewer than two need no loop to be compiled."""

    def one(x: Flat, block: Block) -> tuple[Flat, Any]:
        return block(x, context, attend)

    count = len(blocks.mlp.up)
    if count < 2:
        return one(x, index_tree(blocks, 0))[0] if count else x
    return jax.lax.scan(one, x, blocks, unroll=min(count, UNROLLED))[0]


def index_tree(tree: Any, which: int | slice | Array) -> Any:
    """`leaf[which]` of every leaf: one of the stacked blocks, or some of them."""
    return jax.tree.map(lambda leaf: leaf[which], tree)


def feedforward(config: ModelConfig, mlp: MLP, x: Flat) -> Flat:
    """Two layers, the inner one multiplied by a gate if there is one (Shazeer, 2002.05202)."""
    activate = ACTIVATIONS[config.activation]
    if mlp.gate is None:
        return activate(x @ mlp.up) @ mlp.down
    return (activate(x @ mlp.gate) * (x @ mlp.up)) @ mlp.down


def normed(config: ModelConfig, x: Flat, gain: Float[Array, " width"] | None) -> Flat:
    """`x` with each token's root mean square 1, and its mean 0 unless the norm is "rms".

    [3, 4] becomes [0.85, 1.13] with "rms" and [-1, 1] with the others, times `gain`.
    """
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
    gains = None if config.norm == "plain" else jnp.ones((count, config.width))
    return gains, gains if config.norm_placement == "post_residual" else None
