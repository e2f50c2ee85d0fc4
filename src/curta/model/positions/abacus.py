"""Abacus: the i-th digit of each number gets vector offset + i, every other token vector 0.

In training one offset, uniform in 0..max_offset, is drawn for the whole batch, or for each
text; afterwards it is `evaluation_offset`. The i-th digit is the i-th in the text, so the layout
should put the least significant first. Rows begin with deviation 1, as those of the authors'
own `abacus.py`; their runs begin them, and the tokens' vectors, with width^-1/2, and
normalise the sum of both before the first layer. Here nothing is normalised there: the norm
before each sub-layer is of its input alone, not of the residual.

The vectors are added to the embeddings, or else, in every attention layer, to queries
and keys and to nothing that is passed on: then each head has its own part of them, and
all blocks share one table.
Source: McLeish et al., arXiv 2405.17399: one offset a step, 0 afterwards, and vectors added to
the embeddings.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from curta.config.errors import UserError
from curta.config.positions import Abacus
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model.deferred_init import Weight, normal
from curta.model.positions.base import Encoding, Heads, Shape, is_digit


def build(settings: Abacus, shape: Shape) -> Encoding:
    table = normal(settings.rows, shape.width, scale=1.0)
    made = AbacusEncoding if settings.inject == "embedding" else InnerAbacusEncoding
    each = settings.offset_of == "text"
    return made(table, settings.max_offset, each, settings.evaluation_offset, shape.layout)


class AbacusEncoding(Encoding):
    table: Weight  # rows width
    max_offset: int = eqx.field(static=True)
    per_text_keys: bool = eqx.field(static=True)
    evaluation_offset: int = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        last = bounds.extents[0][1] + (self.max_offset if training else self.evaluation_offset)
        if last + 1 >= self.table.shape[0]:  # row 0 is that of signs
            raise UserError(
                f"digit indices of up to {last:,}, offset included, are too many for this model:"
                f" it has {self.table.shape[0]:,} Abacus rows (positions.rows)"
            )

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        if self.per_text_keys:
            return where
        return self._shifted(where, jax.random.randint(key, (), 0, self.max_offset + 1))

    def shift_each(self, where: TokenPositions, keys: Key[Array, " texts"]) -> TokenPositions:
        if not self.per_text_keys:
            return where
        drawn = jax.vmap(lambda key: jax.random.randint(key, (1, 1), 0, self.max_offset + 1))
        return self._shifted(where, drawn(keys))

    def _shifted(
        self, where: TokenPositions, offset: Int[Array, "#texts #time #axes"] | Int[Array, ""]
    ) -> TokenPositions:
        """Coordinates to which `vectors`, adding `evaluation_offset`, adds this offset instead."""
        moved = where.coordinates + offset - self.evaluation_offset
        return replace(where, coordinates=moved)

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"] | float:
        return self.vectors(where)

    def vectors(self, where: TokenPositions) -> Float[Array, "batch time width"]:
        """The row of each token."""
        digit = is_digit(self.layout, where.role)
        row = where.coordinates[..., 0] + self.evaluation_offset + 1
        return self.table[jnp.where(digit, row, 0)]


class InnerAbacusEncoding(AbacusEncoding):
    """The same vectors, added to queries and keys."""

    def embed(self, where: TokenPositions) -> float:
        return 0.0

    def rotate(self, heads: Heads, where: TokenPositions) -> Heads:
        return heads + self.vectors(where).reshape(heads.shape)
