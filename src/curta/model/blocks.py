"""A block of the transformer: the one place that says what it does, and several in turn."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from curta.config.model import ModelConfig
from curta.model.dropout import Dropout, DropoutMask, dropped
from curta.model.layers import MLP, Attention, Flat, feedforward, linear, normed, plus_bias
from curta.model.taps import Tap, untouched

Going = Float[Array, "going width"]  # tokens that go on after an attention layer

UNROLLED = 8
"""Blocks written out one after the other in the compiled program, at most.

A loop copies each block's weights and activations: four blocks of width 64 took 98 ms
a step in a loop and 73 ms written out.
"""


class BlockContext(NamedTuple):
    """What a block is told of its tokens; over windows, the embedded input only."""

    where: Any  # where the tokens stand: TokenPositions
    visible_keys: Any  # what they see: VisibleKeys
    entry: Flat  # the embedded input


class Block(eqx.Module):
    """One block, or several, stacked along a leading axis."""

    mlp: MLP
    attention: Any  # Attention; None in an MLP-only layer
    positions: Any  # what the encoding learns for each attention layer
    dropout: Dropout
    config: ModelConfig = eqx.field(static=True)

    def __call__(
        self,
        x: Flat,
        context: BlockContext,
        attend: "Attend | None" = None,
        tap: Tap = untouched,
    ) -> tuple[Going, Any]:
        """x + attention(norm(x)), and then x + mlp(norm(x)); besides, what `attend` found.

        `attend` gives the heads of norm(x), which are not gathered in the same way in training,
        in decoding, or over windows; after it fewer tokens may go on. None: an MLP-only layer.
        """
        x, found = tap("before", self._inject(x, context, "block")), None
        if attend is not None:
            x, context, heads, found = attend(self, x, context)
            change = tap("attention.output", self._out(heads, tap))
            x = self._add(x, change, self.attention, index_tree(self.dropout.output, 0))
            x = tap("middle", self._inject(x, context, "sublayer"))
        entering = self.sublayer_input(x, self.mlp, context)
        change = feedforward(self.config, self.mlp, entering, self.dropout.mlp, tap)
        change = tap("mlp.output", change)
        x = self._add(x, change, self.mlp, index_tree(self.dropout.output, 1))
        return tap("after", x), found

    def _out(self, heads: Going, tap: Tap) -> Going:
        """What attention adds to the state; with a tap, as the sum of what each head adds.

        Two heads of one feature, [2, 3], and the rows [1, 0] and [0, 1]: [2, 0] and [0, 3].
        """
        weight, bias = self.attention.out, self.attention.out_bias
        if tap is untouched:
            return linear(heads, weight, bias)
        parts = heads.reshape(len(heads), self.config.heads, -1)
        rows = weight.reshape(self.config.heads, -1, weight.shape[-1])
        each = tap("attention.heads", jnp.einsum("the,hew->thw", parts, rows))
        return plus_bias(jnp.sum(each, axis=1), bias)

    def sublayer_input(self, x: Flat, layer: Attention | MLP, context: BlockContext) -> Flat:
        """What a sub-layer calculates with: the state, normalised unless it is so afterwards."""
        if self.config.norms_before:
            x = normed(self.config, x, layer.gain, layer.gain_bias)
        return x + context.entry if self.config.input_injection == "normed" else x

    def _add(self, x: Flat, change: Flat, layer: Attention | MLP, mask: DropoutMask) -> Flat:
        """The state after a sub-layer; itself normalised where the norm stands there."""
        x = x + dropped(self.config, change, mask)
        if not self.config.norms_after:
            return x
        return normed(self.config, x, layer.after, layer.after_bias)

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
