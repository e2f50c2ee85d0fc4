"""Coupled absolute positions: tokens of equal significance share a learned vector.

Every axis of the layout's coordinates has its own table; the vectors are summed.
In training one start per axis is drawn for the whole batch, such that the
longest training text still fits; afterwards it is 0.
Source: Cho et al., Position Coupling, arXiv 2405.20671 (there with a start for
each problem, and operands in the usual order and zero-padded).
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from curta.config.errors import UserError
from curta.config.positions import Coupled
from curta.layouts import ShapeBounds, TokenPositions
from curta.model.deferred_init import Weight, normal
from curta.model.positions.base import Encoding, Shape


def build(settings: Coupled, shape: Shape) -> Encoding:
    tables = normal(len(shape.layout.axes), settings.rows, shape.width, scale=1.0)
    return CoupledEncoding(tables, settings.max_start)


class CoupledEncoding(Encoding):
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

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"]:
        rows = where.coordinates + 1  # of places below -1, as of some prompts, the last ones
        axes = jnp.arange(len(self.tables))
        return jnp.sum(self.tables[axes, rows], axis=-2)
