"""The transformer: token and kind embeddings, attention layers, MLP-only layers, head.

What a block does stands in `blocks.Block`. Here are the ways through all blocks (training, token
by token with a cache, over windows, looking inside); they differ in how an attention layer attends.

Shapes: activations are kept two-dimensional, (tokens, width), through every
linear layer and get their batch axis back only for attention; XLA on CPU copies
whole layouts otherwise. Only what is scored is computed: after the keys of the
last attention layer of the last loop, nothing but the queries goes on.
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

from curta.config.model import Model
from curta.config.positions import Positions
from curta.layouts import Layout, Room, Where
from curta.layouts.program import ProgramLayout
from curta.model import blocks, recurrence
from curta.model.blocks import (
    MLP,
    Attend,
    Attended,
    Attention,
    Block,
    BlockContext,
    DropoutMask,
    Flat,
    Going,
)
from curta.model.deferred_init import Weight, draw, normal, rescaled
from curta.model.positions import Encoding, Links, Shape
from curta.model.positions import build as build_positions
from curta.model.positions.window import WindowEncoding
from curta.model.states import Cache, States, pick, rows_of

Tokens = Int[Array, "batch time"]
Queries = Int[Array, "batch queries"]
Logits = Float[Array, "batch queries vocabulary"]
Heads = Float[Array, "batch time heads features"]
KVHeads = Float[Array, "batch time remembered features"]
Slots = Float[Array, "loops batch slots heads features"]
Asked = tuple[Queries, Links]
Key = PRNGKeyArray | None


class Transformer(eqx.Module):
    """A transformer over the tokens of one layout: a decoder, unless it is not causal."""

    tokens: Weight
    kinds: Weight | None
    positions: Encoding
    attention: Attention
    mlp: MLP
    gain: Float[Array, " width"] | None
    head: Weight | None
    settings: Model = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    @classmethod
    def init(
        cls, settings: Model, positions: Positions, layout: Layout, *, key: PRNGKeyArray
    ) -> "Transformer":
        """A model whose weights come from one draw. Raises UserError if positions do not fit it."""
        width, characters = settings.width, len(layout.characters)
        vectors = layout.parts().shape[1] if settings.spelled else characters
        shape = Shape(layout, width, settings.heads, settings.attending)
        with jax.ensure_compile_time_eval():  # what is not drawn is constant
            model = cls(
                tokens=normal(vectors, width, scale=1.0),
                kinds=normal(len(layout.kinds), width, scale=1.0) if settings.kinds else None,
                positions=build_positions(positions, shape),
                attention=blocks.attention(settings),
                mlp=blocks.mlp(settings),
                gain=None if settings.norm == "plain" else jnp.ones(width),
                head=None if settings.tied else normal(width, characters, scale=width**-0.5),
                settings=settings,
                layout=layout,
            )
        return draw(model if settings.init == "fan_in" else rescaled(model, settings.init_std), key)

    def __call__(
        self, tokens: Tokens, where: Where, queries: Queries, room: Room, dropout_key: Key = None
    ) -> Logits:
        """Logits for what follows `queries`, indices into time; with a key, some units drop out."""
        states = self.states(tokens, where, queries, room, dropout_key=dropout_key)
        return self.logits(states.last, queries)

    def states(
        self, tokens: Tokens, where: Where, queries: Queries, room: Room, *, each: bool = False,
        loops: int | None = None, untaught: Int[Array, ""] | int = 0, dropout_key: Key = None,
    ) -> States:  # fmt: skip
        """The queries' states after `loops` loops, by default all, and after `each` of them.

        `untaught` loops come before them, through which no gradient goes; their number
        may be another in every call of one compiled program.
        """
        index = self.positions.index(where, room)
        context = self._context(tokens, where, index, dropout_key)
        masks = partial(self._masks, dropout_key, tokens=tokens.size)
        x, before = self._begin(context.entry), (loops or self.settings.loops) - 1
        # draws of dropout are slow to compile: not written out
        written_out = 0 if dropout_key is not None else blocks.UNROLLED // self.settings.blocks

        def loop(tree: tuple[Transformer, BlockContext], x: Flat, number: Array) -> Flat:
            return tree[0]._loop(x, tree[1], masks(number))

        def read(x: Flat) -> Going | None:
            return pick(x, queries) if each else None

        tree, numbers = (self, context), untaught + jnp.arange(before)
        x = recurrence.without_gradient(loop, tree, x, untaught)
        x, earlier = recurrence.followed(loop, tree, x, numbers, read, written_out)
        last = (queries, self._links(index, pick(where, queries)))
        return States(earlier, self._loop(x, context, masks(untaught + before), last))

    def logits(self, state: Flat, queries: Queries) -> Logits:
        """Logits for the tokens that follow `queries`, from their states."""
        h, scale = blocks.normed(self.settings, state, self.gain), self.settings.width**-0.5
        logits = h @ (self.characters().T * scale if self.head is None else self.head)
        return logits.reshape(*queries.shape, -1)

    def all_logits(self, tokens: Tokens, where: Where, room: Room) -> Logits:
        """Logits for what follows every token. For other programs; no training comes this way."""
        return self.logits(self._walk(tokens, where, room, self._attend)[0], tokens)

    def attention_weights(
        self, tokens: Tokens, where: Where, room: Room
    ) -> Float[Array, "layers batch heads time time"]:
        """The share of each token (last axis) in what every token takes; loop after loop."""
        return jnp.stack(self._walk(tokens, where, room, partial(self._attend, tell=True))[1])

    def of_windows(self, rows: Int[Array, "batch cells"]) -> Float[Array, "batch vocabulary"]:
        """Logits for what follows windows: a query's token, then its neighbours'; see `seen`.

        The one attention layer is the first, so keys and values of a token depend on nothing
        but the token: they are calculated once for the vocabulary and looked up.
        """
        entry = self._vocabulary()
        context, attend = BlockContext(None, None, entry), partial(self._attend_windows, rows=rows)
        x, context = self._blocks(0)(self._begin(entry), context, attend)
        x = blocks.scan_blocks(self._blocks(slice(1, None)), x, context)
        return self.logits(x, rows[None, :, 0])[0]

    def looped(self, loops: int) -> "Transformer":
        """The same weights, with another number of loops."""
        return replace(self, settings=replace(self.settings, loops=loops))

    def cache(self, where: Where, slots: int, room: Room) -> Cache:
        """An empty cache with `slots` tokens' room for each text of the batch."""
        design = self.settings
        shape = (design.loops, len(where.index), slots, design.remembered, design.features)
        blanks = (jnp.zeros(shape),) * design.attending
        return Cache(blanks, blanks, self.positions.blank(where, slots, room))

    def decode_step(self, cache: Cache, tokens: Tokens, where: Where) -> tuple[Cache, Logits]:
        """Appends tokens at the slots `where.index`; logits for what follows each of them."""
        index = self.positions.insert(cache.index, where)
        context = self._context(tokens, where, index)

        def loop(number: Array | int, now: tuple[Flat, Cache]) -> tuple[Flat, Cache]:
            x, (keys, values, index) = now
            attend = partial(self._attend, loop=number)
            layers = [partial(attend, past=past) for past in zip(keys, values, strict=True)]
            x, found = self._in_turn(x, context, layers)
            keys, values = zip(*found, strict=True)
            return x, Cache(keys, values, index)

        now, loops = (self._begin(context.entry), cache._replace(index=index)), self.settings.loops
        x, cache = loop(0, now) if loops == 1 else jax.lax.fori_loop(0, loops, loop, now)
        return cache, self.logits(x, where.index)

    def characters(self) -> Float[Array, "characters width"]:
        """The vector of each character."""
        if not self.settings.spelled:
            return self.tokens
        return jnp.asarray(self.layout.parts()) @ self.tokens

    def _vocabulary(self) -> Float[Array, "tokens width"]:
        """The vector of each token, its role's included."""
        if self.kinds is None:
            return self.characters()
        assert isinstance(self.layout, ProgramLayout)
        return self.characters() + self.kinds[self.layout.machine.role]

    def _context(self, tokens: Tokens, where: Where, index: Any, key: Key = None) -> BlockContext:
        return BlockContext(where, self._links(index, where), self._embed(tokens, where, key))

    def _embed(self, tokens: Tokens, where: Where, key: Key) -> Flat:
        x = rows_of(self.characters(), tokens)
        if self.kinds is not None:
            x = x + rows_of(self.kinds, where.kind)
        x = (x + self.positions.embed(where)).reshape(tokens.size, -1)
        key = None if key is None else jax.random.fold_in(key, 0)
        return blocks.dropout(self.settings, x, blocks.dropout_mask(key, self.settings, *x.shape))

    def _links(self, index: Any, queries: Where) -> Links:
        look = self.positions.links if self.settings.causal else self.positions.everyone
        return look(index, queries)

    def _begin(self, entry: Flat) -> Flat:
        """The state before the first block, to which an injected input is still to be added."""
        return entry if self.settings.inject == "none" else jnp.zeros_like(entry)

    def _masks(self, key: Key, loop: Array | int, tokens: int) -> DropoutMask:
        """What dropout leaves of each block's two sub-layers in this loop; None if all."""
        key, design = None if key is None else jax.random.fold_in(key, 1 + loop), self.settings
        return blocks.dropout_mask(key, design, design.blocks, 2, tokens, design.width)

    def _blocks(self, which: int | slice, masks: DropoutMask = None) -> Block:
        """One block, or several of one sort, stacked."""
        first = which.start or 0 if isinstance(which, slice) else which
        attends = first < self.settings.attending
        attention, layers = (self.attention, self.positions.layers) if attends else (None, None)
        stacked = Block(self.mlp, attention, layers, masks, self.settings)
        return blocks.index_tree(stacked, which)

    def _loop(
        self, x: Flat, context: BlockContext, masks: DropoutMask, last: Asked | None = None
    ) -> Going:
        """All blocks; if `last` are given, only they go on after the last keys and values."""
        attending = self.settings.attending
        count = attending - (last is not None)
        x = blocks.scan_blocks(self._blocks(slice(count), masks), x, context, self._attend)
        if last is not None:
            masks = jax.tree.map(jax.vmap(jax.vmap(partial(pick, queries=last[0]))), masks)
            attend = partial(self._attend, only=last)
            x, context = self._blocks(count, masks)(x, context, attend)
        return blocks.scan_blocks(self._blocks(slice(attending, None), masks), x, context)

    def _in_turn(
        self, x: Flat, context: BlockContext, attends: Iterable[Attend]
    ) -> tuple[Flat, Any]:
        """All blocks, written out one after the other, and what each attention layer found."""
        found = []
        for number, attend in zip_longest(range(self.settings.blocks), attends):
            x, one = self._blocks(number)(x, context, attend)
            found.append(one)
        return x, found[: self.settings.attending]

    def _walk(self, tokens: Tokens, where: Where, room: Room, attend: Attend) -> tuple[Flat, Any]:
        """The state of all tokens after all loops, and what was found on the way."""
        context = self._context(tokens, where, self.positions.index(where, room))
        x, found = self._begin(context.entry), []
        for _ in range(self.settings.loops):
            x, more = self._in_turn(x, context, [attend] * self.settings.attending)
            found += more
        return x, found

    def _attend(
        self, block: Block, x: Flat, context: BlockContext, only: Asked | None = None, *,
        past: tuple[Slots, Slots] | None = None, loop: Array | int = 0, tell: bool = False,
    ) -> Attended:  # fmt: skip
        """How tokens of texts attend. Keys and values are those of `x`, and of the `past`, if any.

        `only` these tokens have queries and go on, if they are given, with their links. What is
        found is the longer past, the context of those tokens or, to `tell`, attention's weights.
        """
        found: Any = None
        keys, values = self.keys_values(block, x, context.where)
        if past is not None:
            spot = (loop, jnp.arange(len(keys))[:, None], context.where.index)
            found = past[0].at[spot].set(keys), past[1].at[spot].set(values)
            keys, values = blocks.index_tree(found, loop)
        if only is not None:
            x, entry = pick(x, only[0]), pick(context.entry, only[0])
            context = found = BlockContext(only[1].queries, only[1], entry)
        links, keys, values = context.links, self.repeat_kv(keys), self.repeat_kv(values)
        (query,) = self._heads(block, x, links.queries.index.shape, "query")
        query = self._scaled(self.positions.rotate(query, links.queries))
        if tell:
            found = self.positions.weights(block.positions, links, query, keys)
        heads = self.positions.attend(block.positions, links, query, keys, values)
        return x, context, heads.reshape(x.shape), found

    def _attend_windows(
        self, block: Block, x: Flat, context: BlockContext, rows: Int[Array, "batch cells"]
    ) -> Attended:
        """`x` is the vocabulary; the first token of each window sees the window, and goes on."""
        assert isinstance(self.positions, WindowEncoding)
        query, keys, values = self._heads(block, x, (1, len(x)), "query", "key", "value")
        tables = self._scaled(query)[0], self.repeat_kv(keys)[0], self.repeat_kv(values)[0]
        heads = self.positions.of_windows(block.positions, rows, *tables)
        x, context = x[rows[:, 0]], context._replace(entry=context.entry[rows[:, 0]])
        return x, context, heads.reshape(len(rows), -1), context

    def keys_values(self, block: Block, x: Flat, where: Where) -> tuple[KVHeads, KVHeads]:
        """Keys and values of all tokens of `x`."""
        keys, values = self._heads(block, x, where.index.shape, "key", "value")
        return self.positions.rotate(keys, where), values

    def _heads(self, block: Block, x: Flat, shape: tuple[int, ...], *names: str) -> list[Heads]:
        """norm(x) times weights of these names, (tokens, width), as (batch, time, heads, features).

        Heads are cut out of the width: [1, 2, 3, 4] is [[1, 2], [3, 4]] in two heads.
        """
        h, features = blocks.normed(self.settings, x, block.attention.gain), self.settings.features
        return [(h @ getattr(block.attention, n)).reshape(*shape, -1, features) for n in names]

    def _scaled(self, query: Heads) -> Heads:
        """Queries for encodings, which divide scores by the root of the features."""
        return query if self.settings.attention_scale else query * self.settings.features**0.5

    def repeat_kv(self, heads: KVHeads) -> Heads:
        """Keys or values for every head: of [k, l] those of four heads are [k, k, l, l]."""
        shared = self.settings.heads // self.settings.remembered
        return heads if shared == 1 else jnp.repeat(heads, shared, axis=2)


def parameters(model: Transformer) -> int:
    """How many numbers are learned."""
    return sum(leaf.size for leaf in jax.tree.leaves(model))
