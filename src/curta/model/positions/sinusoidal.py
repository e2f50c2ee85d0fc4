"""Sinusoidal positions: sines and cosines of the index, added to the embeddings.

Features 2i and 2i + 1 are the sine and cosine of index / base^(2i / width), so any
length has its vectors and nothing is learned.
Source: Vaswani et al., arXiv 1706.03762, section 3.5.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from curta.config.errors import UserError
from curta.config.positions import Sinusoidal
from curta.layouts import TokenPositions
from curta.model.positions.base import Encoding, Shape


def build(settings: Sinusoidal, shape: Shape) -> Encoding:
    if shape.width % 2:
        raise UserError("positions 'sinusoidal' has pairs: model.width must be even")
    return SinusoidalEncoding(settings.base, shape.width)


class SinusoidalEncoding(Encoding):
    base: float = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"]:
        half = self.width // 2
        frequencies = self.base ** (-jnp.arange(half, dtype=jnp.float32) / half)
        angles = where.index[:, :, None].astype(jnp.float32) * frequencies[None, None]
        pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        return pairs.reshape(*where.index.shape, self.width)
