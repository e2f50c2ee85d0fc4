"""Coupled sinusoidal positions: fixed waves of the coordinate, so nothing is learned.

Features 2i and 2i + 1 are the sine and cosine of (i + 1) 2 pi coordinate / period: tokens of
equal significance share a vector. Those of several axes are summed.
Source: the coordinates of Cho et al., Position Coupling, arXiv 2405.20671, under the waves of
Vaswani et al., arXiv 1706.03762, here harmonics of one period; as entries of the AdderBoard
have it (github.com/anadim/AdderBoard).
"""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from curta.config.errors import UserError
from curta.config.positions import CoupledSinusoidal
from curta.layouts import TokenPositions
from curta.model.positions.base import Encoding, Shape


def build(settings: CoupledSinusoidal, shape: Shape) -> Encoding:
    if shape.width % 2:
        raise UserError("positions 'coupled-sinusoidal' has pairs: model.width must be even")
    return CoupledSinusoidalEncoding(settings.period, shape.width)


class CoupledSinusoidalEncoding(Encoding):
    period: float = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"]:
        frequencies = jnp.arange(1.0, self.width // 2 + 1) * (2 * math.pi / self.period)
        angles = where.coordinates[..., None].astype(jnp.float32) * frequencies[None, None, None]
        pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        return jnp.sum(pairs, axis=-3).reshape(*where.index.shape, self.width)
