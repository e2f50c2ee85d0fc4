"""The interface of a position encoding: how attention sees where a token stands.

An encoding may add vectors to the embeddings (`embed`), rotate queries and keys (`rotate`), add a
bias to attention scores (`bias`), or choose the keys that a query sees (`index`, `visible_keys`,
`attend`). The defaults are those of a causal transformer without positions; each encoding overrides
what it changes.

Parameters that differ between blocks are in `layers`, with the attention layers as leading axis;
the model passes each block its slice.

Encodings compute in float32. In mixed precision only `attend` gets bfloat16, and its scores and
softmax are float32 even then.
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
"""Score of an invisible key: finite, so that no softmax divides by zero."""

LONG, PAIRS = 1 << 19, 1 << 17
"""Longer texts, in query-key pairs, attend in chunks of this many pairs.

1,400 sums of 1,000 digits took 126 s of a processor and 3.5 GB at once, 37 s and 0.6 GB in chunks.
"""

Heads = Float[Array, "batch time heads features"]
Queries = Float[Array, "batch queries heads features"]
Keys = Float[Array, "batch keys heads features"]
Scores = Float[Array, "#batch heads queries keys"]
Vectors = Float[Array, "batch time width"]


@dataclass(frozen=True)
class Shape:
    """What an encoding depends on in its model."""

    layout: Layout
    width: int
    heads: int
    num_attention_layers: int


class VisibleKeys(NamedTuple):
    """Queries, keys, and a mask of the keys that each query sees."""

    queries: TokenPositions
    keys: Any
    mask: Bool[Array, "batch queries keys"]
    factors: Float[Array, "batch queries heads keys"] | None = None
    """Dropout: factors of the attention weights in training; None outside of it."""


class Encoding(eqx.Module):
    """No positions: the model infers order from causal masking alone. Base of all encodings.

    Source: Kazemnejad et al., arXiv 2305.19466.
    """

    @property
    def layers(self) -> Any:
        """Parameters of each attention layer, stacked along a leading axis."""
        return ()

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        """Raise UserError if such texts have no positions; with `training`, if displaced."""

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        """Displace positions at random in training, by one draw for the whole batch."""
        return where

    def shift_each(self, where: TokenPositions, keys: Key[Array, " texts"]) -> TokenPositions:
        """Displace positions at random in training, by one key for each text of the batch."""
        return where

    def embed(self, where: TokenPositions) -> Vectors | float:
        """Return what is added to the token embeddings."""
        return 0.0

    def rotate(self, heads: Heads, where: TokenPositions) -> Heads:
        """Transform queries, or keys, in every attention layer."""
        return heads

    def bias(self, layer: Any, visible_keys: VisibleKeys) -> Scores | float:
        """Return what is added to the attention scores."""
        return 0.0

    def index(self, keys: TokenPositions, bounds: ShapeBounds) -> Any:
        """Return what `visible_keys` needs to know of the keys."""
        return keys

    def blank(self, like: TokenPositions, slots: int, bounds: ShapeBounds) -> Any:
        """Return the index of texts with room for `slots` tokens, none of them written yet."""
        batch, _, axes = like.coordinates.shape
        never = jnp.full((batch, slots), jnp.iinfo(jnp.int32).max, jnp.int32)
        coordinates = jnp.zeros((batch, slots, axes), jnp.int32)
        return TokenPositions(never, jnp.full_like(never, -1), coordinates)

    def insert(self, index: Any, new: TokenPositions) -> Any:
        """Return the index with more tokens, written at the slots `new.index`."""
        rows = jnp.arange(len(new.index))[:, None]
        return jax.tree.map(lambda old, tokens: old.at[rows, new.index].set(tokens), index, new)

    def keys_per_query(self, bounds: ShapeBounds) -> int:
        """Return how many keys are scored for each query."""
        return bounds.total

    def visible_keys(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        """Let each query see every key that does not come after it."""
        visible = index.index[:, None, :] <= queries.index[:, :, None]
        return VisibleKeys(queries, index, visible)

    def bidirectional_mask(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        """Let each query see every key of the text, before or after it, except padding."""
        visible = jnp.broadcast_to(
            index.role[:, None, :] >= 0, (*queries.role.shape, index.role.shape[1])
        )
        return VisibleKeys(queries, index, visible)

    def attend(
        self, layer: Any, visible_keys: VisibleKeys, q: Queries, k: Keys, v: Keys
    ) -> Queries:
        """Return softmax attention of each query over its visible keys; in chunks if long."""

        def attend_chunk(chunk: tuple[Queries, VisibleKeys]) -> Queries:
            heads, visible = chunk
            visible = visible._replace(keys=visible_keys.keys)
            weights = self.weights(layer, visible, heads, k)
            if visible.factors is not None:
                weights = weights * jnp.moveaxis(visible.factors, 2, 1)
            return jnp.einsum("bhqk,bkhe->bqhe", weights.astype(v.dtype), v)

        size = queries_at_once(q.shape[1], k.shape[1])
        if size == q.shape[1]:
            return attend_chunk((q, visible_keys))
        whole = (q, visible_keys._replace(keys=None))
        mixed = jax.lax.map(attend_chunk, jax.tree.map(partial(_split_queries, size=size), whole))
        joined: Queries = jnp.moveaxis(mixed, 0, 1).reshape(len(q), -1, *q.shape[2:])
        return joined[:, : q.shape[1]]

    def weights(self, layer: Any, visible_keys: VisibleKeys, q: Queries, k: Keys) -> Scores:
        """Return attention weights; 0 where a key is not visible."""
        return jax.nn.softmax(self.scores(layer, visible_keys, q, k), axis=-1)

    def scores(self, layer: Any, visible_keys: VisibleKeys, q: Queries, k: Keys) -> Scores:
        """Return scaled products of queries and keys plus bias; HIDDEN where not visible."""
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k, preferred_element_type=jnp.float32)
        scores = scores * q.shape[-1] ** -0.5 + self.bias(layer, visible_keys)
        return jnp.where(visible_keys.mask[:, None], scores, HIDDEN)


def build_nope(settings: NoPE, shape: Shape) -> Encoding:
    return Encoding()


def queries_at_once(queries: int, keys: int) -> int:
    """Return how many queries of a text attend at once: all of a short one.

    All, too, where a length is symbolic, as in an exported graph for texts of any length.
    """
    short = not isinstance(queries * keys, int) or queries * keys <= LONG
    return queries if short else max(1, PAIRS // keys)


def _split_queries(
    array: Shaped[Array, "batch queries *rest"], size: int
) -> Shaped[Array, "chunks batch size *rest"]:
    """Split the query axis into chunks, the last one zero-padded: 5 by twos are 3 chunks."""
    count = -(-array.shape[1] // size)
    padding = ((0, 0), (0, count * size - array.shape[1])) + ((0, 0),) * (array.ndim - 2)
    chunks = jnp.pad(array, padding).reshape(len(array), count, size, *array.shape[2:])
    return jnp.moveaxis(chunks, 1, 0)


def first_text(visible_keys: VisibleKeys) -> VisibleKeys:
    """Return the visible keys of the first text, if all texts of the batch have the same indices.

    A bias by index is then computed once instead of for every text: ten steps of `addition-hints`
    took 3.3 s of a core without this, 1.6 s with it.
    """
    if visible_keys.queries is not visible_keys.keys:
        return visible_keys
    first: TokenPositions = jax.tree.map(lambda column: column[:1], visible_keys.keys)
    return VisibleKeys(first, first, visible_keys.mask[:1])


def distances(visible_keys: VisibleKeys) -> Int[Array, "batch queries keys"]:
    """Return how many tokens each key stands before each query."""
    return visible_keys.queries.index[:, :, None] - visible_keys.keys.index[:, None, :]


def is_digit(layout: Layout, role: Int[Array, "batch time"]) -> Bool[Array, "batch time"]:
    """Return whether tokens of these roles are digits; padding (role -1) is not."""
    digit = jnp.array([role.digit for role in layout.roles])
    return (role >= 0) & digit[role]
