"""Encodings that add a vector to the embedding of each token, by its position."""

import math
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from curta.config import positions
from curta.config.errors import UserError, refuse_if
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model.positions.base import Encoding, Heads, PositionVectors, Shape, is_digit
from curta.model.weights import Weight, normal


def build_learned(settings: positions.Learned, shape: Shape) -> Encoding:
    return LearnedEncoding(normal(settings.length, shape.width, scale=1.0))


class LearnedEncoding(Encoding):
    """Learned absolute positions: one vector for each index."""

    table: Weight  # length width

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        if bounds.total > self.table.shape[0]:
            raise UserError(
                f"a text of up to {bounds.total:,} tokens is too long for this model: it has"
                f" {self.table.shape[0]:,} learned positions (positions.length)"
            )

    def embed(self, where: TokenPositions) -> PositionVectors:
        return self.table[where.index]


def build_sinusoidal(settings: positions.Sinusoidal, shape: Shape) -> Encoding:
    refuse_if(shape.width % 2, "positions 'sinusoidal' has pairs: model.width must be even")
    return SinusoidalEncoding(settings.base, shape.width)


class SinusoidalEncoding(Encoding):
    """Sinusoidal positions: sines and cosines of the index, added to the embeddings.

    Features 2i and 2i + 1 are the sine and cosine of index / base^(2i / width). Any length has
    vectors, and nothing is learned.
    Source: Vaswani et al., arXiv 1706.03762, section 3.5.
    """

    base: float = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def embed(self, where: TokenPositions) -> PositionVectors:
        half = self.width // 2
        return waves(where.index, self.base ** (-jnp.arange(half, dtype=jnp.float32) / half))


def waves(
    places: Int[Array, "*shape"], frequencies: Float[Array, " pairs"]
) -> Float[Array, "*shape width"]:
    """Return the sine and the cosine of each place times each frequency, in turn.

    >>> jnp.abs(waves(jnp.array([1]), jnp.array([0.0, jnp.pi / 2]))).round(3).tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """
    angles = places[..., None].astype(jnp.float32)
    angles = angles * jnp.expand_dims(frequencies, tuple(range(places.ndim)))
    pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)  # *shape pairs 2
    return pairs.reshape(*places.shape, -1)


def build_randomised(settings: positions.Randomised, shape: Shape) -> Encoding:
    if settings.of == "learned":
        vectors = build_learned(positions.Learned(length=settings.max_length), shape)
    else:
        vectors = build_sinusoidal(positions.Sinusoidal(), shape)
    return RandomisedEncoding(vectors, settings.max_length)


class RandomisedEncoding(Encoding):
    """Randomised positions: in training, tokens have random indices in ascending order.

    A sorted random subset of 0 to `max_length` - 1 replaces 0, 1, 2 ..., so indices of longer texts
    occur in training. One subset is drawn for the batch of each step; outside of training indices
    are 0, 1, 2 ... again. (The paper also draws subsets in its tests; this is McLeish et al.'s
    form.)
    Source: Ruoss et al., arXiv 2305.16843.
    """

    vectors: Encoding
    max_length: int = eqx.field(static=True)

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        check_subset(bounds, self.max_length)

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        return replace(where, index=subset(key, self.max_length, where.index.shape[1])[where.index])

    def embed(self, where: TokenPositions) -> PositionVectors | float:
        return self.vectors.embed(where)


def subset(key: PRNGKeyArray, size: int, count: int) -> Int[Array, " count"]:
    """Draw `count` different numbers from 0 to `size` - 1, in ascending order: 1, 4, 5 of 6."""
    return jnp.sort(jax.random.permutation(key, size)[:count])


def check_subset(bounds: ShapeBounds, max_length: int) -> None:
    """Raise UserError if a text has more tokens than there are indices to draw from."""
    if bounds.total > max_length:
        raise UserError(
            f"a text of up to {bounds.total:,} tokens is too long for random positions below"
            f" {max_length:,} (positions.max_length)"
        )


def build_coupled(settings: positions.Coupled, shape: Shape) -> Encoding:
    tables = normal(len(shape.layout.axes), settings.rows, shape.width, scale=1.0)
    return CoupledEncoding(tables, settings.max_start)


class CoupledEncoding(Encoding):
    """Coupled absolute positions: tokens of equal significance share a learned vector.

    Each axis of the layout's coordinates has its own table; vectors are summed. In training one
    random start per axis is drawn for the whole batch, such that the longest text still fits;
    afterwards it is 0.
    Source: Cho et al., Position Coupling, arXiv 2405.20671 (there with a start for each problem,
    and zero-padded operands in the usual order).
    """

    tables: Weight  # axes rows width
    max_start: int = eqx.field(static=True)

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        rows = self.tables.shape[1]
        highest = max(high for _, high in bounds.extents) + 1 + training * self.max_start
        below = max(0, -1 - min(low for low, _ in bounds.extents))
        if highest >= rows - below:
            raise UserError(
                f"places of up to {highest:,}, random start included, are too many for this"
                f" model: it has {rows:,} coupled positions (positions.rows)"
            )

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        start = jax.random.randint(key, (len(self.tables),), 0, self.max_start + 1)
        return replace(where, coordinates=where.coordinates + start[None, None])

    def embed(self, where: TokenPositions) -> PositionVectors:
        rows = where.coordinates + 1  # negative ones, for places below -1, index from the end
        axes = jnp.arange(len(self.tables))
        return jnp.sum(self.tables[axes, rows], axis=-2)  # batch time axes width, axes summed up


def build_coupled_sinusoidal(settings: positions.CoupledSinusoidal, shape: Shape) -> Encoding:
    refuse_if(shape.width % 2, "positions 'coupled-sinusoidal' has pairs: model.width must be even")
    return CoupledSinusoidalEncoding(settings.period, shape.width)


class CoupledSinusoidalEncoding(Encoding):
    """Coupled sinusoidal positions: fixed sines and cosines of the coordinate.

    Features 2i and 2i + 1 are the sine and cosine of (i + 1) 2 pi coordinate / period, so tokens of
    equal significance share a vector. Vectors of several axes are summed.
    Source: entries of the AdderBoard (github.com/anadim/AdderBoard), which combine the coordinates
    of Cho et al., Position Coupling, arXiv 2405.20671, with sinusoids as in Vaswani et al., arXiv
    1706.03762, but harmonics of one period.
    """

    period: float = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def embed(self, where: TokenPositions) -> PositionVectors:
        frequencies = jnp.arange(1.0, self.width // 2 + 1) * (2 * math.pi / self.period)
        return jnp.sum(waves(where.coordinates, frequencies), axis=-2)


def build_position_coupling(settings: positions.PositionCoupling, shape: Shape) -> Encoding:
    axes = len(shape.layout.axes)
    return PositionCouplingEncoding(normal(axes, settings.max_position + 1, shape.width, scale=1.0))


class PositionCouplingEncoding(Encoding):
    """Position Coupling: a learned vector for each position id, a random start for each problem.

    An id is a coordinate plus 1; id 0 (coordinate -1, and padding) never moves. In training all
    other ids of a problem are shifted by one random number, uniform over those that keep its
    highest id at most `max_position`, so short problems move farther than long ones. Outside of
    training they are not shifted. Each axis has its own table and its own start; vectors are
    summed. Layout `position-coupling` has the texts and ids of the source; other layouts use their
    own coordinates.
    Source: Cho et al., arXiv 2405.20671.
    """

    tables: Weight  # axes ids width

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        highest, most = max(high for _, high in bounds.extents) + 1, self.tables.shape[1] - 1
        if highest > most:
            raise UserError(
                f"positions of up to {highest:,} are too many for this model: it has {most:,}"
                " (positions.max_position)"
            )

    def shift_each(self, where: TokenPositions, keys: Key[Array, " texts"]) -> TokenPositions:
        ids = self._ids(where)  # texts time axes
        bounds = self.tables.shape[1] - 1 - jnp.max(ids, axis=1)  # texts axes
        draw = jax.vmap(lambda key, most: jax.random.randint(key, most.shape, 0, most + 1))
        starts = draw(keys, bounds)[:, None, :]  # texts 1 axes
        return replace(where, coordinates=jnp.where(ids > 0, ids + starts, 0) - 1)

    def embed(self, where: TokenPositions) -> PositionVectors:
        axes = jnp.arange(len(self.tables))
        return jnp.sum(self.tables[axes, self._ids(where)], axis=-2)

    def _ids(self, where: TokenPositions) -> Int[Array, "batch time axes"]:
        """Return coordinate plus 1, or 0 for padding."""
        return jnp.where(where.role[..., None] >= 0, where.coordinates + 1, 0)


def build_abacus(settings: positions.Abacus, shape: Shape) -> Encoding:
    table = normal(settings.rows, shape.width, scale=1.0)
    return AbacusEncoding(table, settings, shape.layout)


class AbacusEncoding(Encoding):
    """Abacus: the i-th digit of each number gets vector offset + i, all other tokens vector 0.

    In training the offset is uniform in 0..max_offset, drawn for the whole batch or for each text;
    afterwards it is `evaluation_offset`. Digits are counted as written, so a layout should put the
    least significant first. Rows start with deviation 1, as in the authors' `abacus.py`; their runs
    start them, and the token embeddings, with width^-1/2, and normalise the sum before the first
    layer. Here the sum is not normalised: norms apply to the input of sub-layers, not to the
    residual.

    The vectors are added to the embeddings, or to queries and keys in every attention layer; then
    each head has its own part of them, and all blocks share one table.
    Source: McLeish et al., arXiv 2405.17399: one offset a step, 0 afterwards, and vectors added to
    the embeddings.
    """

    table: Weight  # rows width
    settings: positions.Abacus = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        offset = self.settings.max_offset if training else self.settings.evaluation_offset
        last = bounds.extents[0][1] + offset
        if last + 1 >= self.table.shape[0]:  # row 0 is for tokens that are no digits
            raise UserError(
                f"digit indices of up to {last:,}, offset included, are too many for this model:"
                f" it has {self.table.shape[0]:,} Abacus rows (positions.rows)"
            )

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        if self.settings.offset_of == "text":
            return where
        return self._shifted(where, jax.random.randint(key, (), 0, self.settings.max_offset + 1))

    def shift_each(self, where: TokenPositions, keys: Key[Array, " texts"]) -> TokenPositions:
        if self.settings.offset_of != "text":
            return where
        most = self.settings.max_offset
        draw = jax.vmap(lambda key: jax.random.randint(key, (1, 1), 0, most + 1))
        return self._shifted(where, draw(keys))

    def _shifted(
        self, where: TokenPositions, offset: Int[Array, "#texts #time #axes"] | Int[Array, ""]
    ) -> TokenPositions:
        """Shift coordinates so that `vectors`, which adds `evaluation_offset`, adds this offset."""
        moved = where.coordinates + offset - self.settings.evaluation_offset
        return replace(where, coordinates=moved)

    def embed(self, where: TokenPositions) -> PositionVectors | float:
        return self.vectors(where) if self.settings.inject == "embedding" else 0.0

    def rotate(self, heads: Heads, where: TokenPositions) -> Heads:
        if self.settings.inject == "embedding":
            return heads
        return heads + self.vectors(where).reshape(heads.shape)

    def vectors(self, where: TokenPositions) -> PositionVectors:
        """Return the vector of each token."""
        digit = is_digit(self.layout, where.role)
        row = where.coordinates[..., 0] + self.settings.evaluation_offset + 1
        return self.table[jnp.where(digit, row, 0)]
