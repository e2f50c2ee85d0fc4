"""Rotary position embedding: queries and keys turned by angles that grow with the index.

Source: Su et al., RoFormer, arXiv 2104.09864.
"""

import equinox as eqx
import jax.numpy as jnp

from curta.config.errors import UserError
from curta.config.positions import RoPE
from curta.layouts import TokenPositions
from curta.model.positions.base import Encoding, Heads, Shape


def build(settings: RoPE, shape: Shape) -> Encoding:
    if shape.width // shape.heads % 2:
        raise UserError("positions 'rope' turns pairs: model.width / model.heads must be even")
    return RoPEEncoding(settings.base)


class RoPEEncoding(Encoding):
    base: float = eqx.field(static=True)

    def rotate(self, heads: Heads, where: TokenPositions) -> Heads:
        half = heads.shape[-1] // 2
        frequencies = self.base ** (-jnp.arange(half, dtype=jnp.float32) / half)
        angles = where.index[:, :, None, None].astype(jnp.float32) * frequencies[None, None, None]
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        left, right = heads[..., :half], heads[..., half:]
        return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)
