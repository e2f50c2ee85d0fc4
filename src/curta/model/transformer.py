"""The transformer: token and kind embeddings, attending blocks, pointwise blocks, head.

Shapes: activations are kept two-dimensional, (tokens, width), through every
linear layer and get their batch axis back only for attention; XLA on CPU copies
whole layouts otherwise. Only what is scored is computed: after the keys of the
last attending block of the last loop, nothing but the queries goes on.
"""

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curta.config.model import Model
from curta.config.positions import Positions
from curta.layouts import Layout, Room, Where
from curta.layouts.program import ProgramLayout
from curta.model import blocks
from curta.model.blocks import MLP, UNROLLED, Attention, Flat, Kept, at, dropped, through
from curta.model.deferred_init import Weight, normal, rescaled
from curta.model.positions import Encoding, Links, Shape
from curta.model.positions import build as build_positions
from curta.model.positions.window import WindowEncoding
from curta.model.states import BlockContext, Cache, States, pick, rows_of


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

    def __call__(
        self,
        tokens: Int[Array, "batch time"],
        where: Where,
        queries: Int[Array, "batch queries"],
        room: Room,
        noise: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch queries vocabulary"]:
        """Logits for the token that follows each of `queries` (indices into time).

        `noise` is the key of dropout, in training only.
        """
        states = self.states(tokens, where, queries, room, noise=noise)
        return self.logits(states.last, queries)

    def states(
        self,
        tokens: Int[Array, "batch time"],
        where: Where,
        queries: Int[Array, "batch queries"],
        room: Room,
        *,
        loops: int | None = None,
        untaught: Int[Array, ""] | int = 0,
        each: bool = False,
        noise: PRNGKeyArray | None = None,
    ) -> States:
        """The queries' states after `loops` loops, by default all, and after `each` of them.

        `untaught` loops come before them, through which no gradient goes; their number
        may be another in every call of one compiled program.
        """
        index = self.positions.index(where, room)
        links = self._links(index, where)
        context = BlockContext(where, links, self._embed(tokens, where, noise))
        x = self._untaught(untaught, context, noise)
        before = (loops or self.settings.loops) - 1

        def loop(x: Flat, number: Array) -> tuple[Flat, Array | None]:
            x = self._loop(x, context, self._keep(noise, number, len(x)))
            return x, pick(x, queries) if each else None

        earlier = None
        if before:
            drawing = noise is not None  # draws are slow to compile: not written out
            unroll = 1 if drawing else min(before, max(1, UNROLLED // self.settings.blocks))
            x, earlier = jax.lax.scan(loop, x, untaught + jnp.arange(before), unroll=unroll)
        kept = self._keep(noise, untaught + before, len(x))
        return States(earlier, self._last(x, context, kept, index, queries))

    def logits(
        self, state: Flat, queries: Int[Array, "batch queries"]
    ) -> Float[Array, "batch queries vocabulary"]:
        """Logits for the tokens that follow `queries`, from their states."""
        h = blocks.normed(self.settings, state, self.gain)
        logits = h @ (
            self.characters().T * self.settings.width**-0.5 if self.head is None else self.head
        )
        return logits.reshape(*queries.shape, -1)

    def of_windows(self, rows: Int[Array, "batch cells"]) -> Float[Array, "batch vocabulary"]:
        """Logits for what follows windows: a query's token, then its neighbours'; see `seen`.

        The one attention layer is the first, so keys and values of a token depend on nothing
        but the token: they are calculated once for the vocabulary and looked up.
        """
        assert isinstance(self.positions, WindowEncoding)
        x = self._vocabulary()
        attention, layer, mlp = self._blocks(0)
        h = self._norm(x, attention.gain)
        heads = (len(x), -1, self.settings.features)
        query = self._scaled((h @ attention.query).reshape(heads))
        key, value = (
            jnp.pad(self._spread((h @ w).reshape(1, *heads))[0], ((0, 1), (0, 0), (0, 0)))
            for w in (attention.key, attention.value)
        )
        own = rows[:, 0]
        seen = self.positions.of_windows(layer, rows, query[own], key[rows], value[rows])
        change = seen.reshape(len(rows), -1) @ attention.out
        x = blocks.added(self.settings, x[own], change, attention.after)
        x = self._pointwise(self._think(mlp, x), x, None)
        return self.logits(x, own[None])[0]

    def looped(self, loops: int) -> "Transformer":
        """The same weights, with another number of loops."""
        return replace(self, settings=replace(self.settings, loops=loops))

    def cache(self, where: Where, slots: int, room: Room) -> Cache:
        """An empty cache with `slots` tokens' room for each text of the batch."""
        design = self.settings
        shape = (design.loops, len(where.index), slots, design.remembered, design.features)
        blanks = (jnp.zeros(shape),) * design.attending
        return Cache(blanks, blanks, self.positions.blank(where, slots, room))

    def extend(
        self, cache: Cache, tokens: Int[Array, "batch time"], where: Where
    ) -> tuple[Cache, Float[Array, "batch time vocabulary"]]:
        """Appends tokens at the slots `where.index`; logits for what follows each of them."""
        index = self.positions.insert(cache.index, where)
        context = BlockContext(where, self._links(index, where), self._embed(tokens, where))
        now = (self._begin(context.entry), cache._replace(index=index))
        if self.settings.loops == 1:
            x, cache = self._extend(0, now, context)
        else:
            loop = partial(self._extend, context=context)
            x, cache = jax.lax.fori_loop(0, self.settings.loops, loop, now)
        return cache, self.logits(x, where.index)

    def _extend(
        self, loop: Array | int, now: tuple[Flat, Cache], context: BlockContext
    ) -> tuple[Flat, Cache]:
        """One loop over all blocks, with a cache."""
        (x, cache), keys, values = now, [], []
        spot = (loop, jnp.arange(len(context.where.index))[:, None], context.where.index)
        for number in range(self.settings.attending):
            attention, layer, mlp = self._blocks(number)
            x = self._inject(x, context.entry, "block")
            key, value = self._remember(attention, x, context.where)
            keys.append(cache.keys[number].at[spot].set(key))
            values.append(cache.values[number].at[spot].set(value))
            x = self._attend(attention, layer, x, context.links, keys[-1][loop], values[-1][loop])
            x = self._think(mlp, self._inject(x, context.entry, "sublayer"))
        for number in range(self.settings.attending, self.settings.blocks):
            x = self._think(at(self.mlp, number), self._inject(x, context.entry, "block"))
        return x, Cache(tuple(keys), tuple(values), cache.index)

    def attention_weights(
        self, tokens: Int[Array, "batch time"], where: Where, room: Room
    ) -> Float[Array, "blocks batch heads time time"]:
        """The share of each token (last axis) in what every token takes; loop after loop."""
        found: list[Array] = []
        self._walk(tokens, where, room, found)
        return jnp.stack(found)

    def everywhere(
        self, tokens: Int[Array, "batch time"], where: Where, room: Room
    ) -> Float[Array, "batch time vocabulary"]:
        """Logits for what follows every token. For other programs; no training comes this way."""
        return self.logits(self._walk(tokens, where, room), tokens)

    def _walk(
        self,
        tokens: Int[Array, "batch time"],
        where: Where,
        room: Room,
        found: list[Array] | None = None,
    ) -> Flat:
        """The state of all tokens after all blocks; what attention saw goes to `found`."""
        links = self._links(self.positions.index(where, room), where)
        entry = self._embed(tokens, where)
        x = self._begin(entry)
        for number in list(range(self.settings.blocks)) * self.settings.loops:
            x = self._inject(x, entry, "block")
            if number < self.settings.attending:
                attention, layer, _ = self._blocks(number)
                key, value = self._remember(attention, x, where)
                if found is not None:
                    query = self._query(attention, x, where)
                    found.append(self.positions.weights(layer, links, query, self._spread(key)))
                x = self._attend(attention, layer, x, links, key, value)
                x = self._inject(x, entry, "sublayer")
            x = self._think(at(self.mlp, number), x)
        return x

    def _embed(
        self, tokens: Int[Array, "batch time"], where: Where, noise: PRNGKeyArray | None = None
    ) -> Flat:
        x = rows_of(self.characters(), tokens)
        if self.kinds is not None:
            x = x + rows_of(self.kinds, where.kind)
        x = (x + self.positions.embed(where)).reshape(tokens.size, -1)
        key = None if noise is None else jax.random.fold_in(noise, 0)
        return dropped(self.settings, x, blocks.keep(key, self.settings, *x.shape))

    def _vocabulary(self) -> Float[Array, "tokens width"]:
        """The vector of each token, its role's included."""
        if self.kinds is None:
            return self.characters()
        assert isinstance(self.layout, ProgramLayout)
        return self.characters() + self.kinds[self.layout.machine.role]

    def characters(self) -> Float[Array, "characters width"]:
        """The vector of each character."""
        if not self.settings.spelled:
            return self.tokens
        return jnp.asarray(self.layout.parts()) @ self.tokens

    def _links(self, index: Any, queries: Where) -> Links:
        look = self.positions.links if self.settings.causal else self.positions.everyone
        return look(index, queries)

    def _begin(self, entry: Flat) -> Flat:
        """The state before the first block, to which an injected input is still to be added."""
        return entry if self.settings.inject == "none" else jnp.zeros_like(entry)

    def _inject(self, x: Flat, entry: Flat, before: Literal["block", "sublayer"]) -> Flat:
        """The embedded input added, if the design has it before a block or another sub-layer."""
        return x + entry if self.settings.inject in (before, "sublayer") else x

    def _untaught(
        self, count: Array | int, context: BlockContext, noise: PRNGKeyArray | None
    ) -> Flat:
        """The state after `count` loops without gradient."""
        x = self._begin(context.entry)
        if isinstance(count, int) and not count:
            return x
        model, seen, start = jax.lax.stop_gradient((self, context, x))

        def loop(number: Array, x: Flat) -> Flat:
            return model._loop(x, seen, self._keep(noise, number, len(x)))

        return jnp.where(count == 0, x, jax.lax.fori_loop(0, count, loop, start))

    def _keep(self, noise: PRNGKeyArray | None, loop: Array | int, tokens: int) -> Kept:
        """What dropout leaves of each block's two sub-layers in this loop; None if all."""
        if noise is None:
            return None
        key, design = jax.random.fold_in(noise, 1 + loop), self.settings
        return blocks.keep(key, design, design.blocks, 2, tokens, design.width)

    def _loop(self, x: Flat, context: BlockContext, kept: Kept) -> Flat:
        """All blocks, over all tokens."""
        x = self._attending(x, context, kept, self.settings.attending)
        return self._pointwise(x, context.entry, kept)

    def _last(
        self,
        x: Float[Array, "all width"],
        context: BlockContext,
        kept: Array | None,
        index: Any,
        queries: Int[Array, "batch queries"],
    ) -> Flat:
        """All blocks; after the keys of the last that attends, only the queries go on."""
        last = self.settings.attending - 1
        x = self._attending(x, context, kept, last)
        attention, layer, mlp = self._blocks(last)
        x = self._inject(x, context.entry, "block")
        remembered = self._remember(attention, x, context.where)
        x, entry = pick(x, queries), pick(context.entry, queries)
        kept = jax.tree.map(jax.vmap(jax.vmap(partial(pick, queries=queries))), kept)
        links = self._links(index, pick(context.where, queries))
        mine = at(kept, last)
        x = self._attend(attention, layer, x, links, *remembered, at(mine, 0))
        x = self._think(mlp, self._inject(x, entry, "sublayer"), at(mine, 1))
        return self._pointwise(x, entry, kept)

    def _attending(self, x: Flat, context: BlockContext, kept: Kept, count: int) -> Flat:
        """The first `count` blocks, all of which attend."""

        def block(x: Flat, parts: Any) -> tuple[Flat, None]:
            (attention, layer, mlp), kept = parts
            x = self._inject(x, context.entry, "block")
            remembered = self._remember(attention, x, context.where)
            x = self._attend(attention, layer, x, context.links, *remembered, at(kept, 0))
            x = self._inject(x, context.entry, "sublayer")
            return self._think(mlp, x, at(kept, 1)), None

        return through(block, x, (self._blocks(slice(count)), at(kept, slice(count))), count)

    def _pointwise(self, x: Flat, entry: Flat, kept: Kept) -> Flat:
        """The blocks that do not attend."""

        def block(x: Flat, parts: Any) -> tuple[Flat, None]:
            mlp, kept = parts
            return self._think(mlp, self._inject(x, entry, "block"), at(kept, 1)), None

        rest = slice(self.settings.attending, None)
        count = self.settings.blocks - self.settings.attending
        return through(block, x, (at(self.mlp, rest), at(kept, rest)), count)

    def _blocks(self, which: int | slice) -> tuple[Attention, Any, MLP]:
        """Attending blocks: attention, what their positions learn, and feed-forward."""
        return at((self.attention, self.positions.layers, self.mlp), which)

    def _remember(self, attention: Attention, x: Flat, where: Where) -> tuple[Array, Array]:
        """Keys and values of all tokens of `x`."""
        h = self._norm(x, attention.gain)
        split = (*where.index.shape, self.settings.remembered, -1)
        key = self.positions.rotate((h @ attention.key).reshape(split), where)
        return key, (h @ attention.value).reshape(split)

    def _attend(
        self,
        attention: Attention,
        layer: Any,
        x: Flat,
        links: Links,
        key: Array,
        value: Array,
        kept: Kept = None,
    ) -> Flat:
        query = self._query(attention, x, links.queries)
        key, value = self._spread(key), self._spread(value)
        seen = self.positions.attend(layer, links, query, key, value)
        change = dropped(self.settings, seen.reshape(x.shape) @ attention.out, kept)
        return blocks.added(self.settings, x, change, attention.after)

    def _query(self, attention: Attention, x: Flat, where: Where) -> Array:
        """Queries of all tokens of `x`."""
        design, h = self.settings, self._norm(x, attention.gain)
        split = (*where.index.shape, design.heads, -1)
        return self._scaled(self.positions.rotate((h @ attention.query).reshape(split), where))

    def _scaled(self, query: Array) -> Array:
        """Queries for encodings, which divide scores by the root of the features."""
        return query if self.settings.attention_scale else query * self.settings.features**0.5

    def _spread(self, heads: Array) -> Array:
        """Keys or values, each as often as there are queries that share it."""
        shared = self.settings.heads // self.settings.remembered
        return heads if shared == 1 else jnp.repeat(heads, shared, axis=2)

    def _think(self, mlp: MLP, x: Flat, kept: Kept = None) -> Flat:
        change = blocks.feedforward(self.settings, mlp, self._norm(x, mlp.gain))
        return blocks.added(self.settings, x, dropped(self.settings, change, kept), mlp.after)

    def _norm(self, x: Flat, gain: Array | None) -> Flat:
        return blocks.normed(self.settings, x, gain)


def build(settings: Model, positions: Positions, layout: Layout) -> Transformer:
    """The model with its random weights still to be drawn (see `initial.draw`)."""
    width, attending = settings.width, settings.attending
    model = Transformer(
        tokens=normal(_vectors(settings, layout), width, scale=1.0),
        kinds=normal(len(layout.kinds), width, scale=1.0) if settings.kinds else None,
        positions=build_positions(positions, Shape(layout, width, settings.heads, attending)),
        attention=blocks.attention(settings),
        mlp=blocks.mlp(settings),
        gain=None if settings.norm == "plain" else jnp.ones(width),
        head=None if settings.tied else normal(width, len(layout.characters), scale=width**-0.5),
        settings=settings,
        layout=layout,
    )
    return model if settings.init == "fan_in" else rescaled(model, settings.init_std)


def parameters(model: Transformer) -> int:
    """How many numbers are learned."""
    return sum(leaf.size for leaf in jax.tree.leaves(model))


def _vectors(settings: Model, layout: Layout) -> int:
    """How many vectors the tokens have between them."""
    return layout.parts().shape[1] if settings.spelled else len(layout.characters)
