"""The transformer: token and role embeddings, attention layers, MLP-only layers, head.

What a block does stands in `blocks.Block`, how the model is trained and asked here. The other
ways through the blocks differ in how an attention layer attends: token by token with a cache
(`decoding`), over windows (`windows`), and looking inside (`inspection`).

Shapes: activations are kept two-dimensional, (tokens, width), through every
linear layer and get their batch axis back only for attention; XLA on CPU copies
whole layouts otherwise. Only what is scored is computed: after the keys of the
last attention layer of the last recurrence, nothing but the queries goes on.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curta.config.model import ModelConfig
from curta.config.positions import Positions
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model import arc, blocks, dropout, first_weights, layers, recurrence, sharing
from curta.model.blocks import Attend, Attended, Block, BlockContext, Going
from curta.model.deferred_init import Weight, draw, normal
from curta.model.dropout import Dropout
from curta.model.layers import MLP, Attention, Flat
from curta.model.positions import build as build_positions
from curta.model.positions.base import Encoding, Shape, VisibleKeys
from curta.model.states import Heads, KVHeads, Logits, Queries, States, Tokens, pick, rows_of
from curta.model.taps import Tap, untouched

Asked = tuple[Queries, VisibleKeys]
Key = PRNGKeyArray | None


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
                tokens=arc.first() if is_arc else normal(vectors, width, scale=1.0),
                roles=roles if config.role_embeddings else None,
                positions=build_positions(positions, shape),
                attention=sharing.learned(config, layers.attention(config)),
                mlp=sharing.without_gains(config, layers.mlp(config)),
                gain=jnp.ones(width) if ends_gained else None,
                head=None if config.tie_embeddings else head,
                config=config,
                layout=layout,
                gain_bias=layers.bias(config, "norms", width) if ends_gained else None,
                head_bias=layers.bias(config, "head", characters),
            )
        return draw(first_weights.described(model), key)

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
        dropped = partial(self._dropped, dropout_key, shape=tokens.shape)
        x, before = self.begin(context.entry), (num_recurrences or self.config.num_recurrences) - 1
        # draws of dropout are slow to compile: not written out
        written_out = 0 if dropout_key is not None else blocks.UNROLLED // self.config.num_layers

        def loop(tree: tuple[Transformer, BlockContext], x: Flat, number: Array) -> Flat:
            return tree[0]._loop(x, tree[1], dropped(number))

        def read(x: Flat) -> Going | None:
            return pick(x, queries) if each else None

        tree, numbers = (self, context), no_grad_recurrences + jnp.arange(before)
        x = recurrence.without_gradient(loop, tree, x, no_grad_recurrences)
        x, earlier = recurrence.followed(loop, tree, x, numbers, read, written_out)
        last = (queries, self._visible_keys(index, pick(where, queries)))
        return States(earlier, self._loop(x, context, dropped(no_grad_recurrences + before), last))

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
            return arc.vectors(self.tokens, len(self.layout.characters))
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
        mask = dropout.mask(key, self.config, "embedding", *x.shape)
        return dropout.dropped(self.config, x, mask)

    def _visible_keys(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        look = self.positions.visible_keys if self.config.causal else self.positions.everyone
        return look(index, queries)

    def begin(self, entry: Flat) -> Flat:
        """The state before the first block, to which an injected input is still to be added."""
        return jnp.zeros_like(entry) if self.config.injects_into_state else entry

    def entered(self, x: Flat, entry: Flat) -> Flat:
        """The state with which a recurrence begins: with the embedded input, if it is added here.

        Of [1, 2] and the input [3, 4]: [4, 6] with `recurrence`, and [1, 2] otherwise.
        """
        return x + entry if self.config.input_injection == "recurrence" else x

    def _dropped(self, key: Key, number: Array | int, shape: tuple[int, ...]) -> Dropout:
        """What is left out of each block in one recurrence."""
        key, (batch, time) = None if key is None else jax.random.fold_in(key, 1 + number), shape
        return dropout.drawn(key, self.config, batch, time)

    def block(self, which: int | slice, dropped: Dropout = dropout.NOTHING) -> Block:
        """One block, or several of one sort, stacked."""
        first = which.start or 0 if isinstance(which, slice) else which
        attends, model = first < self.config.num_attention_layers, sharing.unshared(self)
        attention = model.attention if attends else None
        positions = self.positions.layers if attends else None
        dropped = dropped if attends else dropped.without_attention()
        stacked = Block(model.mlp, attention, positions, dropped, self.config)
        return blocks.index_tree(stacked, which)

    def _loop(
        self, x: Flat, context: BlockContext, dropped: Dropout, last: Asked | None = None
    ) -> Going:
        """All blocks; if `last` are given, only they go on after the last keys and values."""
        num_attention_layers = self.config.num_attention_layers
        count, x = num_attention_layers - (last is not None), self.entered(x, context.entry)
        x = blocks.scan_blocks(self.block(slice(count), dropped), x, context, self.attend)
        rest = slice(num_attention_layers, None)
        if last is not None:
            dropped = dropped.of(last[0])
            attend = partial(self._attend_last, asked=last)
            x, context = self.block(count, dropped)(x, context, attend)
        return blocks.scan_blocks(self.block(rest, dropped), x, context)

    def in_turn(
        self, x: Flat, context: BlockContext, attends: Iterable[Attend]
    ) -> tuple[Flat, Any]:
        """All blocks, written out one after the other, and what each attention layer found."""
        x, found = self.entered(x, context.entry), []
        for number, attend in zip_longest(range(self.config.num_layers), attends):
            x, one = self.block(number)(x, context, attend)
            found.append(one)
        return x, found[: self.config.num_attention_layers]

    def attend(self, block: Block, x: Flat, context: BlockContext) -> Attended:
        """Every token of `x` attends to the tokens of `x` that it sees."""
        keys, values = self.keys_values(block, x, context)
        return x, context, self.heads(block, x, context, keys, values), None

    def _attend_last(self, block: Block, x: Flat, context: BlockContext, asked: Asked) -> Attended:
        """As `attend`; only the tokens that are asked for have queries, and go on."""
        (queries, seen), (keys, values) = asked, self.keys_values(block, x, context)
        x = pick(x, queries)
        context = BlockContext(seen.queries, seen, pick(context.entry, queries))
        return x, context, self.heads(block, x, context, keys, values), context

    def heads(
        self, block: Block, x: Flat, context: BlockContext, keys: KVHeads, values: KVHeads
    ) -> Flat:
        """What the tokens of `x` take from keys and values, head beside head."""
        query, seen, mask = self.query(block, x, context), context.visible_keys, block.dropout
        keys, values = self.repeat_kv(keys), self.repeat_kv(values)
        if mask.attention is not None:
            ones = jnp.ones(mask.attention.shape)
            seen = seen._replace(factors=dropout.dropped(self.config, ones, mask.attention))
        return self.positions.attend(block.positions, seen, query, keys, values).reshape(x.shape)

    def query(self, block: Block, x: Flat, context: BlockContext) -> Heads:
        """The queries of all tokens of `x`."""
        where = context.where
        (query,) = self.project(block, self.located(x, where), context, "query")
        return self.scaled(self.rotated(query, where))

    def keys_values(self, block: Block, x: Flat, context: BlockContext) -> tuple[KVHeads, KVHeads]:
        """Keys and values of all tokens of `x`."""
        where = context.where
        if self.config.qk_input == "state":
            keys, values = self.project(block, x, context, "key", "value")
        else:
            (keys,) = self.project(block, self.located(x, where), context, "key")
            (values,) = self.project(block, x, context, "value")
        return self.rotated(keys, where), values

    def rotated(self, heads: KVHeads, where: TokenPositions) -> KVHeads:
        """Queries or keys as the encoding turns them, in float32, whatever their dtype."""
        return self.positions.rotate(heads.astype(jnp.float32), where).astype(heads.dtype)

    def located(self, x: Flat, where: TokenPositions) -> Flat:
        """What queries and keys are made of: the state, or the vectors of positions alone."""
        if self.config.qk_input == "state":
            return x
        vectors = jnp.zeros((*where.index.shape, 1)) + self.positions.embed(where)
        return vectors.reshape(x.shape).astype(x.dtype)

    def project(self, block: Block, x: Flat, context: BlockContext, *names: str) -> list[Heads]:
        """norm(x) times weights of these names, (tokens, width), as (batch, time, heads, features).

        Heads are cut out of the width: [1, 2, 3, 4] is [[1, 2], [3, 4]] in two heads. Tokens
        that stand nowhere, as a vocabulary's, are one text.
        """
        h, layer = block.sublayer_input(x, block.attention, context), block.attention
        shape = (1, len(x)) if context.where is None else context.where.index.shape
        found = [
            layers.linear(h, getattr(layer, name), getattr(layer, f"{name}_bias")) for name in names
        ]
        return [part.reshape(*shape, -1, self.config.head_dim) for part in found]

    def scaled(self, query: Heads) -> Heads:
        """Encodings divide scores by the root of `head_dim`; queries undo it without a scale."""
        return query if self.config.attention_scale else query * self.config.head_dim**0.5

    def repeat_kv(self, heads: KVHeads) -> Heads:
        """Keys or values for every head: of [k, l] those of four heads are [k, k, l, l]."""
        shared = self.config.heads // self.config.kv_heads
        return heads if shared == 1 else jnp.repeat(heads, shared, axis=2)


def parameters(model: Transformer) -> int:
    """How many numbers are learned."""
    return sum(leaf.size for leaf in jax.tree.leaves(model))
