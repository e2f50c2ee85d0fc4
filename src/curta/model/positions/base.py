"""The contract of a position encoding: how attention sees where a token stands.

An encoding may add vectors to the embeddings (`embed`), turn queries and keys
(`rotate`), add a bias to attention scores (`bias`), or decide which keys a query
sees at all (`index`, `links`, `attend`). The defaults are a causal transformer
without positions; each encoding overrides what it is about.

Parameters that differ from block to block live in `layers`, with the attending
blocks as leading axis; the model hands each block its own slice.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from curta.layouts import Layout, Room, Where

HIDDEN = -1e9
"""Score of a key that is not visible: finite, so that no softmax divides by zero."""

Heads = Float[Array, "batch time heads features"]
Queries = Float[Array, "batch queries heads features"]
Keys = Float[Array, "batch keys heads features"]


@dataclass(frozen=True)
class Shape:
    """What an encoding must know of the model that it is built for."""

    layout: Layout
    width: int
    heads: int
    attending: int


class Links(NamedTuple):
    """Queries, keys, and which of the keys each query sees."""

    queries: Where
    keys: Any
    visible: Bool[Array, "batch queries keys"]


class Encoding(eqx.Module):
    """No positions at all; base of all encodings."""

    @property
    def layers(self) -> Any:
        """Parameters with the attending blocks as leading axis."""
        return ()

    def check(self, room: Room, *, training: bool = False) -> None:
        """Raises UserError if texts of this size have no positions, displaced as in training."""

    def jitter(self, where: Where, key: PRNGKeyArray) -> Where:
        """Random displacement in training, one draw for the whole batch."""
        return where

    def stagger(self, where: Where, keys: Key[Array, " texts"]) -> Where:
        """Random displacement in training, one key for each text of the batch."""
        return where

    def embed(self, where: Where) -> Float[Array, "batch time width"] | float:
        """Added to the token embeddings."""
        return 0.0

    def rotate(self, heads: Heads, where: Where) -> Heads:
        """Applied to queries and to keys, in every attending block."""
        return heads

    def bias(self, layer: Any, links: Links) -> Float[Array, "#batch heads queries keys"] | float:
        """Added to the attention scores."""
        return 0.0

    def index(self, keys: Where, room: Room) -> Any:
        """What is kept of the keys, so that each query's can be found."""
        return keys

    def blank(self, like: Where, slots: int, room: Room) -> Any:
        """The index of texts with room for `slots` tokens, of which none is written yet."""
        batch, _, axes = like.coordinates.shape
        never = jnp.full((batch, slots), jnp.iinfo(jnp.int32).max, jnp.int32)
        kind, coordinates = jnp.full_like(never, -1), jnp.zeros((batch, slots, axes), jnp.int32)
        return Where(never, kind, coordinates)

    def insert(self, index: Any, new: Where) -> Any:
        """The index after more tokens have been written at the slots `new.index`."""
        rows = jnp.arange(len(new.index))[:, None]
        return jax.tree.map(lambda old, added: old.at[rows, new.index].set(added), index, new)

    def fan_in(self, room: Room) -> int:
        """How many keys are scored for each query."""
        return room.total

    def links(self, index: Any, queries: Where) -> Links:
        """Every key that does not come after the query."""
        visible = index.index[:, None, :] <= queries.index[:, :, None]
        return Links(queries, index, visible)

    def everyone(self, index: Any, queries: Where) -> Links:
        """Every key of the text, before the query or after it; padding is none."""
        visible = jnp.broadcast_to(
            index.kind[:, None, :] >= 0, (*queries.kind.shape, index.kind.shape[1])
        )
        return Links(queries, index, visible)

    def attend(self, layer: Any, links: Links, q: Queries, k: Keys, v: Keys) -> Queries:
        """Softmax attention of each query over its visible keys."""
        return jnp.einsum("bhqk,bkhe->bqhe", self.weights(layer, links, q, k), v)

    def weights(
        self, layer: Any, links: Links, q: Queries, k: Keys
    ) -> Float[Array, "batch heads queries keys"]:
        """The share of each key of `k` in what each query takes; 0 where it is not visible."""
        return jax.nn.softmax(self.scores(layer, links, q, k), axis=-1)

    def scores(
        self, layer: Any, links: Links, q: Queries, k: Keys
    ) -> Float[Array, "batch heads queries keys"]:
        """Scaled products of queries and keys with their bias; hidden where not visible."""
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) * q.shape[-1] ** -0.5
        scores = scores + self.bias(layer, links)
        return jnp.where(links.visible[:, None], scores, HIDDEN)


def one_for_all(links: Links) -> Links:
    """Links of a single text where whole texts are linked: all stand at the same indices.

    What is added to their scores is then calculated once, and not for every text: ten
    steps of `addition-hints` took 3.3 s of a core without this, 1.6 s with it.
    """
    if links.queries is not links.keys:
        return links
    first: Where = jax.tree.map(lambda part: part[:1], links.keys)
    return Links(first, first, links.visible[:1])


def distances(links: Links) -> Int[Array, "batch queries keys"]:
    """How many indices each key stands before each query, where all keys are linked."""
    return links.queries.index[:, :, None] - links.keys.index[:, None, :]


def is_digit(layout: Layout, kind: Int[Array, "batch time"]) -> Bool[Array, "batch time"]:
    """Whether a token of that kind is a digit; padding is not."""
    digit = jnp.array([kind.digit for kind in layout.kinds])
    return (kind >= 0) & digit[kind]
