"""The contract of a position encoding: how attention sees where a token stands.

An encoding may add vectors to the embeddings (`embed`), turn queries and keys
(`rotate`), add a bias to attention scores (`bias`), or decide which keys a query
sees at all (`index`, `visible_keys`, `attend`). The defaults are a causal transformer
without positions; each encoding overrides what it is about.

Parameters that differ from block to block live in `layers`, with the attention
layers as leading axis; the model hands each block its own slice.

Encodings calculate in float32; in mixed precision only `attend` is given bfloat16, and its scores
and their softmax are float32 there too.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, Shaped

from curta.config.positions import NoPE
from curta.layouts import Layout, ShapeBounds, TokenPositions

HIDDEN = -1e9
"""Score of a key that is not visible: finite, so that no softmax divides by zero."""

LONG, PAIRS = 1 << 19, 1 << 17
"""Query-key pairs of a text from which on it is attended to part by part, and those of a part.

1,400 sums of 1,000 digits took 126 s of a processor and 3.5 GB as a whole, 37 s and 0.6 GB so.
"""

Heads = Float[Array, "batch time heads features"]
Queries = Float[Array, "batch queries heads features"]
Keys = Float[Array, "batch keys heads features"]


@dataclass(frozen=True)
class Shape:
    """What an encoding must know of the model that it is built for."""

    layout: Layout
    width: int
    heads: int
    num_attention_layers: int


class VisibleKeys(NamedTuple):
    """Queries, keys, and which of the keys each query sees."""

    queries: TokenPositions
    keys: Any
    mask: Bool[Array, "batch queries keys"]
    factors: Float[Array, "batch queries heads keys"] | None = None
    """By what attention weights are multiplied in training (dropout); None: they stay."""


class Encoding(eqx.Module):
    """No positions at all: order is only what causal masking lets the model infer.

    Base of all encodings. Source: Kazemnejad et al., arXiv 2305.19466.
    """

    @property
    def layers(self) -> Any:
        """Parameters with the attention layers as leading axis."""
        return ()

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        """Raises UserError if texts of this size have no positions, displaced as in training."""

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        """Random displacement in training, one draw for the whole batch."""
        return where

    def shift_each(self, where: TokenPositions, keys: Key[Array, " texts"]) -> TokenPositions:
        """Random displacement in training, one key for each text of the batch."""
        return where

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"] | float:
        """Added to the token embeddings."""
        return 0.0

    def rotate(self, heads: Heads, where: TokenPositions) -> Heads:
        """Applied to queries and to keys, in every attention layer."""
        return heads

    def bias(
        self, layer: Any, visible_keys: VisibleKeys
    ) -> Float[Array, "#batch heads queries keys"] | float:
        """Added to the attention scores."""
        return 0.0

    def index(self, keys: TokenPositions, bounds: ShapeBounds) -> Any:
        """What is kept of the keys, so that each query's can be found."""
        return keys

    def blank(self, like: TokenPositions, slots: int, bounds: ShapeBounds) -> Any:
        """The index of texts with room for `slots` tokens, of which none is written yet."""
        batch, _, axes = like.coordinates.shape
        never = jnp.full((batch, slots), jnp.iinfo(jnp.int32).max, jnp.int32)
        role, coordinates = jnp.full_like(never, -1), jnp.zeros((batch, slots, axes), jnp.int32)
        return TokenPositions(never, role, coordinates)

    def insert(self, index: Any, new: TokenPositions) -> Any:
        """The index after more tokens have been written at the slots `new.index`."""
        rows = jnp.arange(len(new.index))[:, None]
        return jax.tree.map(lambda old, added: old.at[rows, new.index].set(added), index, new)

    def keys_per_query(self, bounds: ShapeBounds) -> int:
        """How many keys are scored for each query."""
        return bounds.total

    def visible_keys(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        """Every key that does not come after the query."""
        visible = index.index[:, None, :] <= queries.index[:, :, None]
        return VisibleKeys(queries, index, visible)

    def bidirectional_mask(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        """Every key of the text, before the query or after it; padding is none."""
        visible = jnp.broadcast_to(
            index.role[:, None, :] >= 0, (*queries.role.shape, index.role.shape[1])
        )
        return VisibleKeys(queries, index, visible)

    def attend(
        self, layer: Any, visible_keys: VisibleKeys, q: Queries, k: Keys, v: Keys
    ) -> Queries:
        """Softmax attention of each query over its visible keys; of long texts, part by part."""
        size = queries_at_once(q.shape[1], k.shape[1])
        if size == q.shape[1]:
            return self._attend(layer, visible_keys, q, k, v)

        def one(part: tuple[Queries, VisibleKeys]) -> Queries:
            heads, seen = part
            return self._attend(layer, seen._replace(keys=visible_keys.keys), heads, k, v)

        whole = (q, visible_keys._replace(keys=None))
        found = jax.lax.map(one, jax.tree.map(partial(_parts, size=size), whole))
        joined: Queries = jnp.moveaxis(found, 0, 1).reshape(len(q), -1, *q.shape[2:])
        return joined[:, : q.shape[1]]

    def _attend(
        self, layer: Any, visible_keys: VisibleKeys, q: Queries, k: Keys, v: Keys
    ) -> Queries:
        weights = self.weights(layer, visible_keys, q, k)
        if visible_keys.factors is not None:
            weights = weights * jnp.moveaxis(visible_keys.factors, 2, 1)
        weights = weights.astype(v.dtype)
        return jnp.einsum("bhqk,bkhe->bqhe", weights, v)

    def weights(
        self, layer: Any, visible_keys: VisibleKeys, q: Queries, k: Keys
    ) -> Float[Array, "batch heads queries keys"]:
        """The share of each key of `k` in what each query takes; 0 where it is not visible."""
        return jax.nn.softmax(self.scores(layer, visible_keys, q, k), axis=-1)

    def scores(
        self, layer: Any, visible_keys: VisibleKeys, q: Queries, k: Keys
    ) -> Float[Array, "batch heads queries keys"]:
        """Scaled products of queries and keys with their bias; hidden where not visible."""
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k, preferred_element_type=jnp.float32)
        scores = scores * q.shape[-1] ** -0.5 + self.bias(layer, visible_keys)
        return jnp.where(visible_keys.mask[:, None], scores, HIDDEN)


def build_nope(settings: NoPE, shape: Shape) -> Encoding:
    return Encoding()


def queries_at_once(queries: int, keys: int) -> int:
    """Queries of a text that are scored together: all of a short one.

    So they are where a length is no number, as in a graph for texts of any length.
    """
    short = not isinstance(queries * keys, int) or queries * keys <= LONG
    return queries if short else max(1, PAIRS // keys)


def _parts(
    array: Shaped[Array, "batch queries *rest"], size: int
) -> Shaped[Array, "parts batch size *rest"]:
    """Cut along the queries, the last part filled up with zeros: 5 by twos are 3 parts."""
    count = -(-array.shape[1] // size)
    spare = ((0, 0), (0, count * size - array.shape[1])) + ((0, 0),) * (array.ndim - 2)
    cut = jnp.pad(array, spare).reshape(len(array), count, size, *array.shape[2:])
    return jnp.moveaxis(cut, 1, 0)


def one_for_all(visible_keys: VisibleKeys) -> VisibleKeys:
    """Of a single text, where every query has all keys: all texts stand at the same indices.

    What is added to their scores is then calculated once, and not for every text: ten
    steps of `addition-hints` took 3.3 s of a core without this, 1.6 s with it.
    """
    if visible_keys.queries is not visible_keys.keys:
        return visible_keys
    first: TokenPositions = jax.tree.map(lambda part: part[:1], visible_keys.keys)
    return VisibleKeys(first, first, visible_keys.mask[:1])


def distances(visible_keys: VisibleKeys) -> Int[Array, "batch queries keys"]:
    """How many indices each key stands before each query, where each query has all keys."""
    return visible_keys.queries.index[:, :, None] - visible_keys.keys.index[:, None, :]


def is_digit(layout: Layout, role: Int[Array, "batch time"]) -> Bool[Array, "batch time"]:
    """Whether a token of that role is a digit; padding is not."""
    digit = jnp.array([role.digit for role in layout.roles])
    return (role >= 0) & digit[role]
