"""The transformer: embeddings, blocks of attention and MLP, head.

It reads from top to bottom: `Block` is one layer, `Transformer.attend` is attention, and
`Transformer.__call__` puts them together. Decoding with a cache (`decoding`), windows (`windows`)
and looking inside (`inspection`) run the same blocks.

Shapes: activations stay two-dimensional, (tokens, width) with tokens = batch * time, through every
linear layer and have a batch axis in attention only; XLA on CPU copies whole layouts otherwise.
Only what is scored is computed: after the keys of the last attention layer of the last recurrence,
the queries alone go on.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curta.config.model import ModelConfig
from curta.config.positions import Positions
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model import layers, weights
from curta.model.layers import (
    MLP,
    Attention,
    Dropout,
    DropoutMask,
    Flat,
    KVHeads,
    Logits,
    Queries,
    States,
    Tap,
    Tokens,
    below,
    dropped,
    feedforward,
    linear,
    normed,
    pick,
    plus_bias,
    rows_of,
    untouched,
)
from curta.model.positions import build as build_positions
from curta.model.positions.base import Encoding, Shape, VisibleKeys
from curta.model.weights import Weight, draw, normal

ActiveTokens = Float[Array, "active width"]  # tokens that go on after an attention layer
ScoredQueries = tuple[Queries, VisibleKeys]
Key = PRNGKeyArray | None

UNROLLED = 8
"""Blocks written out one after the other in the compiled program, at most.

A loop copies each block's weights and activations: four blocks of width 64 took 98 ms
a step in a loop and 73 ms written out.
"""


class BlockContext(NamedTuple):
    """Where a block's tokens stand and what they see; over windows, the embedded input alone."""

    where: Any  # TokenPositions
    visible_keys: Any  # VisibleKeys
    entry: Flat  # the embedded input


class AttentionOutput(NamedTuple):
    """What attention hands back to its block."""

    x: ActiveTokens
    context: BlockContext
    heads: ActiveTokens
    """What the heads take, side by side, before the out matrix."""
    kept: Any
    """For the caller: a cache, or the context of the tokens that go on."""


Attend = Callable[["Block", Flat, BlockContext], AttentionOutput]


class Block(eqx.Module):
    """One layer, or several, stacked along a leading axis."""

    mlp: MLP
    attention: Any  # Attention; None in an MLP-only layer
    positions: Any  # what the encoding learns for each attention layer
    dropout: Dropout
    config: ModelConfig = eqx.field(static=True)

    def __call__(
        self, x: Flat, context: BlockContext, attend: Attend | None = None, tap: Tap = untouched
    ) -> tuple[ActiveTokens, Any]:
        """x + attention(norm(x)), then x + mlp(norm(x)); also what `attend` keeps.

        `attend` is `Transformer.attend`, or the same over windows; None in an MLP-only layer.
        """
        x, kept = tap("before", self._inject(x, context, "block")), None
        if attend is not None:
            x, context, heads, kept = attend(self, x, context)
            change = tap("attention.output", self._out(heads, tap))
            x = self._add(x, change, self.attention, index_tree(self.dropout.output, 0))
            x = tap("middle", self._inject(x, context, "sublayer"))
        h = self.sublayer_input(x, self.mlp, context)
        change = feedforward(self.config, self.mlp, h, self.dropout.mlp, tap)
        change = tap("mlp.output", change)
        x = self._add(x, change, self.mlp, index_tree(self.dropout.output, 1))
        return tap("after", x), kept

    def sublayer_input(self, x: Flat, layer: Attention | MLP, context: BlockContext) -> Flat:
        """norm(x), where the norm stands before the sub-layer, plus the input where injected."""
        if self.config.norms_before:
            x = normed(self.config, x, layer.gain, layer.gain_bias)
        return x + context.entry if self.config.input_injection == "normed" else x

    def _out(self, heads: ActiveTokens, tap: Tap) -> ActiveTokens:
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

    def _add(self, x: Flat, change: Flat, layer: Attention | MLP, mask: DropoutMask) -> Flat:
        """x + dropout(change); normalised itself where the norm stands after the sub-layer."""
        x = x + dropped(self.config, change, mask)
        if not self.config.norms_after:
            return x
        return normed(self.config, x, layer.after, layer.after_bias)

    def _inject(self, x: Flat, context: BlockContext, before: str) -> Flat:
        """Add the embedded input, if the config has it before a block or another sub-layer."""
        return x + context.entry if self.config.input_injection in (before, "sublayer") else x


class Transformer(eqx.Module):
    """A transformer over the tokens of one layout: a decoder, unless it is not causal."""

    tokens: Weight
    roles: Weight | None
    positions: Encoding
    attention: Attention
    mlp: MLP
    gain: Float[Array, " width"] | None
    head: Weight | None
    config: ModelConfig = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)
    gain_bias: Weight | None = None
    head_bias: Weight | None = None

    @classmethod
    def init(
        cls, config: ModelConfig, positions: Positions, layout: Layout, *, key: PRNGKeyArray
    ) -> "Transformer":
        """A model whose weights come from one draw. Raises UserError if positions do not fit it."""
        width, characters = config.width, len(layout.characters)
        vectors = layout.parts().shape[1] if config.compositional_embeddings else characters
        is_arc = config.embedding == "arc"
        shape = Shape(layout, width, config.heads, config.num_attention_layers)
        ends_gained = config.has_gains and config.final_norm
        roles = normal(len(layout.roles), width, scale=1.0)
        head = normal(width, characters, scale=width**-0.5)
        with jax.ensure_compile_time_eval():  # what is not drawn is constant
            model = cls(
                tokens=weights.first_arc() if is_arc else normal(vectors, width, scale=1.0),
                roles=roles if config.role_embeddings else None,
                positions=build_positions(positions, shape),
                attention=weights.without_shared(config, layers.attention(config)),
                mlp=weights.without_gains(config, layers.mlp(config)),
                gain=jnp.ones(width) if ends_gained else None,
                head=None if config.tie_embeddings else head,
                config=config,
                layout=layout,
                gain_bias=layers.bias(config, "norms", width) if ends_gained else None,
                head_bias=layers.bias(config, "head", characters),
            )
        return draw(weights.describe(model), key)

    def __call__(
        self,
        tokens: Tokens,
        where: TokenPositions,
        queries: Queries,
        bounds: ShapeBounds,
        dropout_key: Key = None,
    ) -> Logits:
        """Logits for what follows `queries`, indices into time; with a key, some units drop out."""
        states = self.states(tokens, where, queries, bounds, dropout_key=dropout_key)
        return self.logits(states.last, queries)

    def states(
        self,
        tokens: Tokens,
        where: TokenPositions,
        queries: Queries,
        bounds: ShapeBounds,
        *,
        each: bool = False,
        num_recurrences: int | None = None,
        no_grad_recurrences: Int[Array, ""] | int = 0,
        dropout_key: Key = None,
    ) -> States:
        """The queries' states after `num_recurrences`, by default the config's.

        With `each`, also those after every earlier one. `no_grad_recurrences` are run before them
        without gradient; their number may differ from call to call of one compiled program.
        """
        index = self.positions.index(where, bounds)
        context = self.context(tokens, where, index, dropout_key)
        x, before = self.begin(context.entry), (num_recurrences or self.config.num_recurrences) - 1

        def recur(
            model: Transformer, context: BlockContext, x: Flat, number: Array | int
        ) -> ActiveTokens:
            return model._recurrence(x, context, model._dropped(dropout_key, number, tokens.shape))

        if not isinstance(no_grad_recurrences, int) or no_grad_recurrences:
            still, start = jax.lax.stop_gradient(((self, context), x))
            after = jax.lax.fori_loop(
                0, no_grad_recurrences, lambda number, x: recur(*still, x, number), start
            )
            x = jnp.where(no_grad_recurrences == 0, x, after)  # gradients reach x if there are none

        def followed(x: Flat, number: Array) -> tuple[Flat, ActiveTokens | None]:
            x = recur(self, context, x, number)
            return x, pick(x, queries) if each else None

        earlier = None
        if before:
            # Draws of dropout are slow to compile: not written out.
            unroll = 1 if dropout_key is not None else UNROLLED // self.config.num_layers
            numbers = no_grad_recurrences + jnp.arange(before)
            x, earlier = jax.lax.scan(followed, x, numbers, unroll=min(before, max(1, unroll)))
        last = (queries, self._visible_keys(index, pick(where, queries)))
        dropped = self._dropped(dropout_key, no_grad_recurrences + before, tokens.shape)
        return States(earlier, self._recurrence(x, context, dropped, last))

    def logits(self, state: Flat, queries: Queries, tap: Tap = untouched) -> Logits:
        """Logits for the tokens that follow `queries`, from their states."""
        config, h = self.config, state
        if config.final_norm:
            h = layers.normed(config, h, self.gain, self.gain_bias)
        h = tap("final", h)
        scale = config.width**-0.5 if config.tied_scale else 1.0
        head = self.characters().T * scale if self.head is None else self.head
        h, head = (part.astype(jnp.float32) for part in (h, head))
        logits = layers.linear(h, head, self.head_bias)
        return tap("logits", logits.reshape(*queries.shape, -1))

    def with_recurrences(self, num_recurrences: int) -> "Transformer":
        """The same weights, with another number of recurrences."""
        return replace(self, config=replace(self.config, num_recurrences=num_recurrences))

    def characters(self) -> Float[Array, "characters width"]:
        """The vector of each character."""
        if self.config.embedding == "arc":
            return weights.arc_vectors(self.tokens, len(self.layout.characters))
        if not self.config.compositional_embeddings:
            return self.tokens
        return jnp.asarray(self.layout.parts(), self.tokens.dtype) @ self.tokens

    def context(
        self, tokens: Tokens, where: TokenPositions, index: Any, key: Key = None
    ) -> BlockContext:
        return BlockContext(
            where, self._visible_keys(index, where), self._embed(tokens, where, key)
        )

    def _embed(self, tokens: Tokens, where: TokenPositions, key: Key) -> Flat:
        x = rows_of(self.characters(), tokens)
        if self.roles is not None:
            x = x + rows_of(self.roles, where.role)
        if self.config.qk_input == "state":
            x = x + jnp.asarray(self.positions.embed(where), x.dtype)
        x = x.reshape(tokens.size, -1)
        key = None if key is None else jax.random.fold_in(key, 0)
        mask = layers.dropout_mask(key, self.config, "embedding", *x.shape)
        return layers.dropped(self.config, x, mask)

    def _visible_keys(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        if self.config.causal:
            return self.positions.visible_keys(index, queries)
        return self.positions.bidirectional_mask(index, queries)

    def begin(self, entry: Flat) -> Flat:
        """The state before the first block, to which an injected input is still to be added."""
        return jnp.zeros_like(entry) if self.config.injects_into_state else entry

    def inject_input(self, x: Flat, entry: Flat) -> Flat:
        """The state with which a recurrence begins: with the embedded input, if it is added here.

        Of [1, 2] and the input [3, 4]: [4, 6] with `recurrence`, and [1, 2] otherwise.
        """
        return x + entry if self.config.input_injection == "recurrence" else x

    def _dropped(self, key: Key, number: Array | int, shape: tuple[int, ...]) -> Dropout:
        """What is left out of each block in one recurrence."""
        key, (batch, time) = None if key is None else jax.random.fold_in(key, 1 + number), shape
        return layers.draw_dropout(key, self.config, batch, time)

    def block(self, which: int | slice, dropped: Dropout = layers.NO_DROPOUT) -> Block:
        """One block, or several of one sort, stacked."""
        first = which.start or 0 if isinstance(which, slice) else which
        attends, model = first < self.config.num_attention_layers, weights.unshared(self)
        attention = model.attention if attends else None
        positions = self.positions.layers if attends else None
        dropped = dropped if attends else dropped.without_attention()
        stacked = Block(model.mlp, attention, positions, dropped, self.config)
        return index_tree(stacked, which)

    def _recurrence(
        self, x: Flat, context: BlockContext, dropped: Dropout, last: ScoredQueries | None = None
    ) -> ActiveTokens:
        """All blocks; if `last` are given, only they go on after the last keys and values."""
        num_attention_layers = self.config.num_attention_layers
        count, x = num_attention_layers - (last is not None), self.inject_input(x, context.entry)
        x = scan_blocks(self.block(slice(count), dropped), x, context, self.attend)
        if last is not None:
            dropped = dropped.of(last[0])

            def attend(block: Block, x: Flat, context: BlockContext) -> AttentionOutput:
                return self.attend(block, x, context, queries=last)

            x, context = self.block(count, dropped)(x, context, attend)
        return scan_blocks(self.block(slice(num_attention_layers, None), dropped), x, context)

    def in_turn(
        self, x: Flat, context: BlockContext, attends: Iterable[Attend], tap: Tap = untouched
    ) -> tuple[Flat, list[Any]]:
        """All blocks, written out one after the other, and what each attention layer keeps."""
        x, kept = self.inject_input(x, context.entry), []
        for number, attend in zip_longest(range(self.config.num_layers), attends):
            x, one = self.block(number)(x, context, attend, below(tap, f"layer.{number}."))
            kept.append(one)
        return x, kept[: self.config.num_attention_layers]

    def attend(
        self,
        block: Block,
        x: Flat,
        context: BlockContext,
        *,
        queries: ScoredQueries | None = None,
        store: Callable[[KVHeads, KVHeads], tuple[KVHeads, KVHeads, Any]] | None = None,
        tap: Tap = untouched,
    ) -> AttentionOutput:
        """Each token of `x` attends to those it sees: project, turn, score, mix.

        With `queries`, these tokens alone attend, and go on. `store` puts keys and values into a
        cache; it returns the keys and values to attend to, and what the caller keeps.
        """
        config, kept = self.config, None

        def inputs(x: Flat, context: BlockContext) -> tuple[Flat, Flat]:
            """Return the input of queries and keys, and that of values: norm(x) if from states."""
            h = block.sublayer_input(x, block.attention, context)
            if config.qk_input == "state":
                return h, h
            vectors = self.positions.embed(context.where)
            vectors = jnp.zeros((*context.where.index.shape, 1)) + vectors
            vectors = vectors.reshape(x.shape).astype(x.dtype)
            return block.sublayer_input(vectors, block.attention, context), h

        def turned(heads: KVHeads, where: TokenPositions) -> KVHeads:
            """Apply the encoding to queries or keys, in float32 whatever their dtype."""
            return self.positions.rotate(heads.astype(jnp.float32), where).astype(heads.dtype)

        located, h = inputs(x, context)
        shape = context.where.index.shape  # batch time
        keys = turned(project(block, located, "key", *shape), context.where)
        values = project(block, h, "value", *shape)  # batch time kv_heads features
        if store is not None:
            keys, values, kept = store(keys, values)
        if queries is not None:
            picked, seen = queries
            x = pick(x, picked)
            context = kept = BlockContext(seen.queries, seen, pick(context.entry, picked))
        located, _ = inputs(x, context)
        shape = context.where.index.shape  # batch queries
        query = turned(project(block, located, "query", *shape), context.where)
        if not config.attention_scale:  # encodings divide scores by this root
            query = query * config.head_dim**0.5
        query = tap("attention.queries", query)
        keys = tap("attention.keys", self.repeat_kv(keys))
        values = tap("attention.values", self.repeat_kv(values))

        seen, mask = context.visible_keys, block.dropout.attention
        if mask is not None:
            seen = seen._replace(factors=dropped(config, jnp.ones(mask.shape), mask))
        if tap is untouched:
            mixed = self.positions.attend(block.positions, seen, query, keys, values)
        else:
            shares = self.positions.weights(block.positions, seen, query, keys)
            shares = tap("attention.weights", shares).astype(values.dtype)
            mixed = jnp.einsum("bhqk,bkhe->bqhe", shares, values)
        return AttentionOutput(x, context, mixed.reshape(x.shape), kept)

    def repeat_kv(
        self, heads: Float[Array, "*tokens kv_heads features"]
    ) -> Float[Array, "*tokens heads features"]:
        """Keys or values for every head: of [k, l] those of four heads are [k, k, l, l]."""
        shared = self.config.heads // self.config.kv_heads
        return heads if shared == 1 else jnp.repeat(heads, shared, axis=-2)


def project(block: Block, h: Flat, name: str, *shape: int) -> Float[Array, "*shape heads features"]:
    """`h` times a matrix of attention, (tokens, width), cut into heads: (*shape, heads, features).

    Of one token, [1, 2, 3, 4] is [[1, 2], [3, 4]] in two heads.
    """
    layer = block.attention
    heads = linear(h, getattr(layer, name), getattr(layer, f"{name}_bias"))
    return heads.reshape(*shape, -1, block.config.head_dim)


def scan_blocks(
    blocks: Block, x: Flat, context: BlockContext, attend: Attend | None = None
) -> Flat:
    """`x` through stacked blocks; fewer than two need no loop to be compiled."""
    count = len(blocks.mlp.up)
    if count < 2:
        return index_tree(blocks, 0)(x, context, attend)[0] if count else x
    each = lambda x, block: block(x, context, attend)
    return jax.lax.scan(each, x, blocks, unroll=min(count, UNROLLED))[0]


def index_tree(tree: Any, which: int | slice | Array) -> Any:
    """`leaf[which]` of every leaf: one of the stacked blocks, or some of them."""
    return jax.tree.map(lambda leaf: leaf[which], tree)


def parameters(model: Transformer) -> int:
    """How many numbers are learned."""
    return sum(leaf.size for leaf in jax.tree.leaves(model))
