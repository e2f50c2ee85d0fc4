"""The transformer: token and kind embeddings, attending blocks, pointwise blocks, head.

Shapes: activations are kept two-dimensional, (tokens, width), through every
linear layer and get their batch axis back only for attention; XLA on CPU copies
whole layouts otherwise. Only what is scored is computed: after the keys of the
last attending block, nothing but the queries goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from annotated_types import Ge
from jaxtyping import Array, Float, Int

from .errors import UserError
from .initial import Weight, normal
from .layouts import Layout, Room, Where
from .positions import Encoding, Links, Positions, Shape

Count = Annotated[int, Ge(1)]
Flat = Float[Array, "tokens width"]


@dataclass(frozen=True)
class Model:
    """Size and design of the transformer.

    `attending` counts the blocks, from the first on, that have attention; the
    others see one token at a time. `kinds` adds an embedding of the part each
    token plays in its layout, and `spelled` makes the vector of a digit that carries the
    sum of the digit's and the carry's: structure that a plain model would have to find.
    """

    width: Count = 32
    heads: Count = 4
    blocks: Count = 2
    attending: Count = 2
    mlp_factor: Count = 4
    activation: Literal["relu", "relu2", "gelu", "silu"] = "relu2"
    norm: Literal["rms", "layer", "plain"] = "rms"
    tied: bool = False
    kinds: bool = False
    spelled: bool = False

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise UserError(
                f"model.width {self.width} is not divisible by model.heads {self.heads}"
            )
        if self.attending > self.blocks:
            raise UserError(
                f"model.attending {self.attending} is more than model.blocks {self.blocks}"
            )


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
    key: Weight
    value: Weight
    out: Weight
    gain: Float[Array, "blocks width"] | None


class MLP(eqx.Module):
    """Feed-forward weights of all blocks, stacked along a leading axis."""

    up: Weight  # blocks width wide
    down: Weight  # blocks wide width
    gain: Float[Array, "blocks width"] | None


class Cache(NamedTuple):
    """Keys and values of all tokens so far, for each attending block, and where they stand."""

    keys: tuple[Float[Array, "batch slots heads features"], ...]
    values: tuple[Float[Array, "batch slots heads features"], ...]
    index: Any


class Transformer(eqx.Module):
    """A decoder over the tokens of one layout."""

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
    ) -> Float[Array, "batch queries vocabulary"]:
        """Logits for the token that follows each of `queries` (indices into time)."""
        index = self.positions.index(where, room)
        links = self.positions.links(index, where)
        x = self._embed(tokens, where)

        def early(x: Flat, parts: Any) -> tuple[Flat, None]:
            attention, layer, mlp = parts
            x = self._attend(attention, layer, x, links, *self._remember(attention, x, where))
            return self._think(mlp, x), None

        def late(x: Flat, mlp: MLP) -> tuple[Flat, None]:
            return self._think(mlp, x), None

        last = self.settings.attending - 1
        before, (attention, layer, mlp) = self._blocks(slice(last)), self._blocks(last)
        x = _through(early, x, before, last)
        remembered = self._remember(attention, x, where)
        x, links = _pick(x, queries), self.positions.links(index, _pick(where, queries))
        x = self._think(mlp, self._attend(attention, layer, x, links, *remembered))
        rest = self.settings.blocks - self.settings.attending
        x = _through(late, x, _at(self.mlp, slice(last + 1, None)), rest)
        return self._logits(x).reshape(*queries.shape, -1)

    def cache(self, where: Where, slots: int, room: Room) -> Cache:
        """An empty cache with `slots` tokens' room for each text of the batch."""
        width, heads = self.settings.width, self.settings.heads
        blank = jnp.zeros((len(where.index), slots, heads, width // heads))
        blanks = (blank,) * self.settings.attending
        return Cache(blanks, blanks, self.positions.blank(where, slots, room))

    def extend(
        self, cache: Cache, tokens: Int[Array, "batch time"], where: Where
    ) -> tuple[Cache, Float[Array, "batch time vocabulary"]]:
        """Appends tokens at the slots `where.index`; logits for what follows each of them."""
        rows = jnp.arange(len(tokens))[:, None]
        index = self.positions.insert(cache.index, where)
        links = self.positions.links(index, where)
        x, keys, values = self._embed(tokens, where), [], []
        for number in range(self.settings.attending):
            attention, layer, mlp = self._blocks(number)
            key, value = self._remember(attention, x, where)
            keys.append(cache.keys[number].at[rows, where.index].set(key))
            values.append(cache.values[number].at[rows, where.index].set(value))
            x = self._attend(attention, layer, x, links, keys[-1], values[-1])
            x = self._think(mlp, x)
        for number in range(self.settings.attending, self.settings.blocks):
            x = self._think(_at(self.mlp, number), x)
        logits = self._logits(x).reshape(*tokens.shape, -1)
        return Cache(tuple(keys), tuple(values), index), logits

    def attention_weights(
        self, tokens: Int[Array, "batch time"], where: Where, room: Room
    ) -> Float[Array, "blocks batch heads time time"]:
        """The share of each token (last axis) in what every token takes, in every attending block.

        For looking at a model; no training and no answer comes this way.
        """
        links = self.positions.links(self.positions.index(where, room), where)
        x, found = self._embed(tokens, where), []
        for number in range(self.settings.attending):
            attention, layer, mlp = self._blocks(number)
            key, value = self._remember(attention, x, where)
            query = self._query(attention, x, where)
            found.append(self.positions.weights(layer, links, query, key))
            x = self._think(mlp, self._attend(attention, layer, x, links, key, value))
        return jnp.stack(found)

    def _embed(self, tokens: Int[Array, "batch time"], where: Where) -> Flat:
        x = _rows(self.characters(), tokens)
        if self.kinds is not None:
            x = x + _rows(self.kinds, where.kind)
        return (x + self.positions.embed(where)).reshape(tokens.size, -1)

    def characters(self) -> Float[Array, "characters width"]:
        """The vector of each character."""
        if not self.settings.spelled:
            return self.tokens
        return jnp.asarray(self.layout.parts()) @ self.tokens

    def _blocks(self, which: int | slice) -> tuple[Attention, Any, MLP]:
        """Attending blocks: attention, what their positions learn, and feed-forward."""
        return _at((self.attention, self.positions.layers, self.mlp), which)

    def _remember(self, attention: Attention, x: Flat, where: Where) -> tuple[Array, Array]:
        """Keys and values of all tokens of `x`."""
        h = self._norm(x, attention.gain)
        split = (*where.index.shape, self.settings.heads, -1)
        key = self.positions.rotate((h @ attention.key).reshape(split), where)
        return key, (h @ attention.value).reshape(split)

    def _attend(
        self, attention: Attention, layer: Any, x: Flat, links: Links, key: Array, value: Array
    ) -> Flat:
        query = self._query(attention, x, links.queries)
        seen = self.positions.attend(layer, links, query, key, value)
        return x + seen.reshape(x.shape) @ attention.out

    def _query(self, attention: Attention, x: Flat, where: Where) -> Array:
        """Queries of all tokens of `x`."""
        h = self._norm(x, attention.gain)
        split = (*where.index.shape, self.settings.heads, -1)
        return self.positions.rotate((h @ attention.query).reshape(split), where)

    def _think(self, mlp: MLP, x: Flat) -> Flat:
        h = self._norm(x, mlp.gain) @ mlp.up
        return x + ACTIVATIONS[self.settings.activation](h) @ mlp.down

    def _logits(self, x: Flat) -> Float[Array, "tokens vocabulary"]:
        h = self._norm(x, self.gain)
        return h @ (
            self.characters().T * self.settings.width**-0.5 if self.head is None else self.head
        )

    def _norm(self, x: Flat, gain: Array | None) -> Flat:
        if self.settings.norm != "rms":
            x = x - jnp.mean(x, axis=-1, keepdims=True)
        x = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)
        return x if gain is None else x * gain


def build(settings: Model, positions: Positions, layout: Layout) -> Transformer:
    """The model with its random weights still to be drawn (see `initial.draw`)."""
    width, attending = settings.width, settings.attending
    gained = settings.norm != "plain"
    return Transformer(
        tokens=normal(_vectors(settings, layout), width, scale=1.0),
        kinds=normal(len(layout.kinds), width, scale=1.0) if settings.kinds else None,
        positions=positions.build(Shape(layout, width, settings.heads, attending)),
        attention=_attention(settings),
        mlp=_mlp(settings),
        gain=jnp.ones(width) if gained else None,
        head=None if settings.tied else normal(width, len(layout.characters), scale=width**-0.5),
        settings=settings,
        layout=layout,
    )


def parameters(model: Transformer) -> int:
    """How many numbers are learned."""
    return sum(leaf.size for leaf in jax.tree.leaves(model))


def _vectors(settings: Model, layout: Layout) -> int:
    """How many vectors the tokens have between them."""
    return layout.parts().shape[1] if settings.spelled else len(layout.characters)


def _attention(settings: Model) -> Attention:
    width, blocks = settings.width, settings.attending
    square = normal(blocks, width, width, scale=width**-0.5)
    gain = None if settings.norm == "plain" else jnp.ones((blocks, width))
    return Attention(square, square, square, square, gain)


def _mlp(settings: Model) -> MLP:
    width, blocks, wide = settings.width, settings.blocks, settings.width * settings.mlp_factor
    up = normal(blocks, width, wide, scale=width**-0.5)
    down = normal(blocks, wide, width, scale=wide**-0.5)
    return MLP(up, down, None if settings.norm == "plain" else jnp.ones((blocks, width)))


def _through(
    block: Callable[[Flat, Any], tuple[Flat, None]], x: Flat, parts: Any, count: int
) -> Flat:
    """`x` through `count` stacked blocks; fewer than two need no loop to be compiled."""
    if count < 2:
        return block(x, _at(parts, 0))[0] if count else x
    return jax.lax.scan(block, x, parts, unroll=min(count, UNROLLED))[0]


def _at(tree: Any, which: int | slice) -> Any:
    """One of the stacked blocks, or some of them."""
    return jax.tree.map(lambda leaf: leaf[which], tree)


def _rows(table: Float[Array, "rows width"], index: Int[Array, "batch time"]) -> Array:
    """`table[index]` as a matrix product: its gradient is one too, not a serial scatter."""
    return jax.nn.one_hot(index, len(table), dtype=table.dtype) @ table


def _pick(tree: Any, queries: Int[Array, "batch queries"]) -> Any:
    """The rows that belong to `queries`, of flat activations or of whole `Where`s."""
    rows = jnp.arange(len(queries))[:, None]
    if isinstance(tree, Where):
        return jax.tree.map(lambda part: part[rows, queries], tree)
    time = len(tree) // len(queries)
    return tree[(rows * time + queries).reshape(-1)]
