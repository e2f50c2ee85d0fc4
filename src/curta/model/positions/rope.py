"""Rotary position embedding: queries and keys are rotated by angles that grow with the index.

Source: Su et al., RoFormer, arXiv 2104.09864. With `over` "heads" the angle grows with the number
of the head instead, a mistake that a source makes: queries and keys of a head are then rotated
alike, so their products do not change and no position is encoded.
"""

import equinox as eqx
import jax.numpy as jnp

from curta.config.errors import UserError
from curta.config.positions import RoPE
from curta.layouts import TokenPositions
from curta.model.positions.base import Encoding, Heads, Shape


def build_rope(settings: RoPE, shape: Shape) -> Encoding:
    if shape.width // shape.heads % 2:
        raise UserError("positions 'rope' turns pairs: model.width / model.heads must be even")
    return RoPEEncoding(settings.base, settings.over == "heads")


class RoPEEncoding(Encoding):
    base: float = eqx.field(static=True)
    over_heads: bool = eqx.field(static=True)

    def rotate(self, heads: Heads, where: TokenPositions) -> Heads:
        # Feature i of the left half and feature i of the right half are a pair. A head of four
        # features with base 100 has frequencies 1 and 0.1: at index 3, pairs turn by 3 and 0.3.
        half = heads.shape[-1] // 2
        frequencies = self.base ** (-jnp.arange(half, dtype=jnp.float32) / half)  # pairs
        numbers = where.index[:, :, None, None]  # batch time 1 1
        if self.over_heads:
            numbers = jnp.arange(heads.shape[2])[None, None, :, None]  # 1 1 heads 1
        angles = numbers.astype(jnp.float32) * frequencies[None, None, None]
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        left, right = heads[..., :half], heads[..., half:]  # batch time heads pairs
        return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)
