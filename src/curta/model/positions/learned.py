"""Learned absolute positions: one vector for each index in the text."""

from jaxtyping import Array, Float

from curta.config.errors import UserError
from curta.config.positions import Learned
from curta.layouts import ShapeBounds, TokenPositions
from curta.model.deferred_init import Weight, normal
from curta.model.positions.base import Encoding, Shape


def build(settings: Learned, shape: Shape) -> Encoding:
    return LearnedEncoding(normal(settings.length, shape.width, scale=1.0))


class LearnedEncoding(Encoding):
    table: Weight  # length width

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        if bounds.total > self.table.shape[0]:
            raise UserError(
                f"a text of up to {bounds.total:,} tokens is too long for this model: it has"
                f" {self.table.shape[0]:,} learned positions (positions.length)"
            )

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"]:
        return self.table[where.index]
