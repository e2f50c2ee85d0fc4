"""The interface of a position encoding: how attention learns where a token stands.

An encoding may add vectors to the embeddings (`embed`), rotate queries and keys (`rotate`), add a
bias to attention scores (`bias`), or choose the keys that a query sees (`index`, `visible_keys`,
`attend`). The defaults are those of a causal transformer without positions; each encoding overrides
only what it changes.

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
"""Texts of more than LONG query-key pairs attend in chunks of PAIRS pairs.

1,400 sums of 1,000 digits took 126 s of a processor and 3.5 GB at once, 37 s and 0.6 GB in chunks.
"""

Heads = Float[Array, "batch time heads features"]
QueryHeads = Float[Array, "batch queries heads features"]
KeyHeads = Float[Array, "batch keys heads features"]
Scores = Float[Array, "#batch heads queries keys"]
PositionVectors = Float[Array, "batch time width"]


@dataclass(frozen=True)
class Shape:
    """The properties of a model on which an encoding may depend."""

    layout: Layout
    """The way problems are written, with its characters, roles and axes."""
    width: int
    """The width of the residual stream."""
    heads: int
    """The number of attention heads in each layer."""
    num_attention_layers: int
    """The number of attention layers."""


class VisibleKeys(NamedTuple):
    """Queries, keys, and which keys each query sees."""

    queries: TokenPositions
    """The positions of the queries."""
    keys: Any
    """The positions of the keys, in the form that `Encoding.index` returns."""
    mask: Bool[Array, "batch queries keys"]
    """Whether a query sees a key."""
    factors: Float[Array, "batch queries heads keys"] | None = None
    """Dropout factors of the attention weights; None outside training."""


class Encoding(eqx.Module):
    """Base class of position encodings; by itself, an encoding without positions (NoPE).

    Without positions the model infers order from causal masking alone. To write an encoding,
    override some of the methods below. Tokens are described by `TokenPositions`: the `index` of
    each token in its text, its `role` (-1 for padding) and its `coordinates` (squares), each with
    axes batch and time.

    Example, the file `decay.py` of a recipe with `positions.name=./decay.py`::

        @dataclass(frozen=True)
        class Decay:
            name: str = "decay"
            strength: float = 0.5

            def build(self, shape):
                return DecayEncoding(self.strength)


        class DecayEncoding(curta.Encoding):
            strength: float = eqx.field(static=True)

            def bias(self, layer, visible_keys):
                queries, keys = visible_keys.queries, visible_keys.keys
                distance = queries.index[:, :, None] - keys.index[:, None, :]
                return -self.strength * distance[:, None].astype(jnp.float32)

    Source: Kazemnejad et al., arXiv 2305.19466.
    """

    @property
    def layers(self) -> Any:
        """Parameters that differ between attention layers, with the layer as leading axis.

        `bias`, `attend`, `weights` and `scores` receive the slice of their layer.
        """
        return ()

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        """Check that the encoding has positions for all texts within these bounds.

        Args:
            bounds: The largest prompt, completion and coordinates.
            training: Whether texts are displaced at random, as in training.

        Raises:
            UserError: Such texts are too long for the encoding.
        """

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        """Displace positions in training, by one random draw for the whole batch."""
        return where

    def shift_each(self, where: TokenPositions, keys: Key[Array, " texts"]) -> TokenPositions:
        """Displace positions in training, with one random key for each text of the batch."""
        return where

    def embed(self, where: TokenPositions) -> PositionVectors | float:
        """Return vectors to add to the token embeddings: batch x time x width, or 0."""
        return 0.0

    def rotate(self, heads: Heads, where: TokenPositions) -> Heads:
        """Rotate or otherwise transform the queries, or the keys, of every attention layer."""
        return heads

    def bias(self, layer: Any, visible_keys: VisibleKeys) -> Scores | float:
        """Return a bias to add to the attention scores: batch x heads x queries x keys, or 0."""
        return 0.0

    def index(self, keys: TokenPositions, bounds: ShapeBounds) -> Any:
        """Return the keys in the form that `visible_keys` needs; computed once for each text."""
        return keys

    def blank(self, like: TokenPositions, slots: int, bounds: ShapeBounds) -> Any:
        """Return the index of empty texts, with room for `slots` tokens to generate."""
        batch, _, axes = like.coordinates.shape
        # An index that no query reaches, so that a slot is invisible until it is filled.
        never = jnp.full((batch, slots), jnp.iinfo(jnp.int32).max, jnp.int32)
        coordinates = jnp.zeros((batch, slots, axes), jnp.int32)
        return TokenPositions(never, jnp.full_like(never, -1), coordinates)

    def insert(self, index: Any, new: TokenPositions) -> Any:
        """Return the index with further tokens, stored at the slots `new.index`."""
        rows = jnp.arange(len(new.index))[:, None]  # batch 1
        return jax.tree.map(lambda old, tokens: old.at[rows, new.index].set(tokens), index, new)

    def keys_per_query(self, bounds: ShapeBounds) -> int:
        """Return the number of keys that are scored for each query; it sets the cost."""
        return bounds.total

    def visible_keys(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        """Return the keys that each query sees: by default itself and all before it."""
        visible = index.index[:, None, :] <= queries.index[:, :, None]  # batch queries keys
        return VisibleKeys(queries, index, visible)

    def bidirectional_mask(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        """Return the keys that each query of an encoder sees: all of the text except padding."""
        visible = jnp.broadcast_to(
            index.role[:, None, :] >= 0, (*queries.role.shape, index.role.shape[1])
        )
        return VisibleKeys(queries, index, visible)

    def attend(
        self, layer: Any, visible_keys: VisibleKeys, q: QueryHeads, k: KeyHeads, v: KeyHeads
    ) -> QueryHeads:
        """Return the output of attention for each query, computed in chunks for long texts.

        Args:
            layer: Parameters of the attention layer, from `layers`.
            visible_keys: What each query sees.
            q: Queries, batch x queries x heads x features.
            k: Keys, batch x keys x heads x features.
            v: Values, of the same shape as the keys.
        """

        def attend_chunk(chunk: tuple[QueryHeads, VisibleKeys]) -> QueryHeads:
            queries, visible = chunk
            visible = visible._replace(keys=visible_keys.keys)
            weights = self.weights(layer, visible, queries, k)  # batch heads queries keys
            if visible.factors is not None:
                weights = weights * jnp.moveaxis(visible.factors, 2, 1)
            return jnp.einsum("bhqk,bkhe->bqhe", weights.astype(v.dtype), v)

        size = queries_at_once(q.shape[1], k.shape[1])
        if size == q.shape[1]:
            return attend_chunk((q, visible_keys))
        # Everything but the keys is split along its query axis; the last chunk has padding.
        whole = (q, visible_keys._replace(keys=None))
        chunks = jax.tree.map(partial(_split_queries, size=size), whole)
        heads = jax.lax.map(attend_chunk, chunks)  # chunks batch size heads features
        by_query: QueryHeads = jnp.moveaxis(heads, 0, 1).reshape(len(q), -1, *q.shape[2:])
        return by_query[:, : q.shape[1]]

    def weights(self, layer: Any, visible_keys: VisibleKeys, q: QueryHeads, k: KeyHeads) -> Scores:
        """Return attention weights, which sum to 1 over the keys; 0 for an invisible key."""
        return jax.nn.softmax(self.scores(layer, visible_keys, q, k), axis=-1)

    def scores(self, layer: Any, visible_keys: VisibleKeys, q: QueryHeads, k: KeyHeads) -> Scores:
        """Return scaled query-key products plus bias; -1e9 for an invisible key."""
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k, preferred_element_type=jnp.float32)
        scores = scores * q.shape[-1] ** -0.5 + self.bias(layer, visible_keys)
        return jnp.where(visible_keys.mask[:, None], scores, HIDDEN)


def build_nope(settings: NoPE, shape: Shape) -> Encoding:
    return Encoding()


def queries_at_once(queries: int, keys: int) -> int:
    """Return how many queries of a text attend at once: all of them in a short text.

    Also all of them if a length is symbolic, as in an exported graph for texts of any length.
    """
    short = not isinstance(queries * keys, int) or queries * keys <= LONG
    return queries if short else max(1, PAIRS // keys)


def _split_queries(
    array: Shaped[Array, "batch queries *rest"], size: int
) -> Shaped[Array, "chunks batch size *rest"]:
    """Split the query axis into chunks, the last one zero-padded: 5 queries by 2 are 3 chunks."""
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
    """Return the distance from each key to each query, in tokens; positive for earlier keys."""
    return visible_keys.queries.index[:, :, None] - visible_keys.keys.index[:, None, :]


def is_digit(layout: Layout, role: Int[Array, "batch time"]) -> Bool[Array, "batch time"]:
    """Return whether tokens of these roles are digits; padding (role -1) is not."""
    digit = jnp.array([role.digit for role in layout.roles])
    return (role >= 0) & digit[role]
