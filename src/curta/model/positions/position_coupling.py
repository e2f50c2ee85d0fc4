"""Position Coupling: a learned vector for each position id, a random start for each problem.

An id is a coordinate plus 1; id 0 (coordinate -1, and padding) is nowhere and stays there.
In training all other ids of a problem move up by one random number, uniform over those
that leave its own highest id at most `max_position`: a short problem moves farther than
a long one. Afterwards they stay where the layout has them. Every axis has its own table
and its own start; vectors are summed. Layout `position-coupling` writes what the source
does, other layouts lend their coordinates.
Source: Cho et al., arXiv 2405.20671.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from curta.config.errors import UserError
from curta.config.positions import PositionCoupling
from curta.layouts import ShapeBounds, TokenPositions
from curta.model.deferred_init import Weight, normal
from curta.model.positions.base import Encoding, Shape


def build(settings: PositionCoupling, shape: Shape) -> Encoding:
    axes = len(shape.layout.axes)
    return PositionCouplingEncoding(normal(axes, settings.max_position + 1, shape.width, scale=1.0))


class PositionCouplingEncoding(Encoding):
    tables: Weight  # axes ids width

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        highest, most = max(high for _, high in bounds.extents) + 1, self.tables.shape[1] - 1
        if highest > most:
            raise UserError(
                f"positions of up to {highest:,} are too many for this model: it has {most:,}"
                " (positions.max_position)"
            )

    def shift_each(self, where: TokenPositions, keys: Key[Array, " texts"]) -> TokenPositions:
        ids = self._ids(where)
        bounds = self.tables.shape[1] - 1 - jnp.max(ids, axis=1)  # texts axes
        moved = jax.vmap(lambda key, most: jax.random.randint(key, most.shape, 0, most + 1))
        starts = moved(keys, bounds)[:, None, :]
        return replace(where, coordinates=jnp.where(ids > 0, ids + starts, 0) - 1)

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"]:
        axes = jnp.arange(len(self.tables))
        return jnp.sum(self.tables[axes, self._ids(where)], axis=-2)

    def _ids(self, where: TokenPositions) -> Int[Array, "batch time axes"]:
        """One more than the coordinate, 0 for padding."""
        return jnp.where(where.role[..., None] >= 0, where.coordinates + 1, 0)
