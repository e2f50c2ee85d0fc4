"""ALiBi: attention scores fall off in a straight line with the distance, head by head.

The score of key j for query i has slope x (j - i) added. Slopes are the geometric series
of the paper, 2^(-8h/heads) for h = 1 to heads, for any number of heads (the authors'
code takes another series where that number is no power of two). Learned slopes begin
there, and each attention layer then has its own.
Source: Press et al., arXiv 2108.12409.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from curta.config.positions import ALiBi
from curta.model.deferred_init import Weight, constant
from curta.model.positions.base import Encoding, Shape, VisibleKeys, distances, one_for_all


def build(settings: ALiBi, shape: Shape) -> Encoding:
    slopes = series(shape.heads)
    if not settings.learned:
        return ALiBiEncoding(tuple(slopes.tolist()))
    return LearnedALiBiEncoding(constant(np.tile(slopes, (shape.num_attention_layers, 1))))


class ALiBiEncoding(Encoding):
    slopes: tuple[float, ...] = eqx.field(static=True)

    def bias(
        self, layer: Any, visible_keys: VisibleKeys
    ) -> Float[Array, "#batch heads queries keys"]:
        return sloped(jnp.array(self.slopes), visible_keys)


class LearnedALiBiEncoding(Encoding):
    slopes: Weight  # attention_layers heads

    @property
    def layers(self) -> Any:
        return self.slopes

    def bias(
        self, layer: Any, visible_keys: VisibleKeys
    ) -> Float[Array, "#batch heads queries keys"]:
        return sloped(layer, visible_keys)


def series(heads: int) -> Float[np.ndarray, " heads"]:
    """2^(-8/heads), and its powers."""
    return np.exp2(-8.0 * np.arange(1, heads + 1) / heads).astype(np.float32)


def sloped(
    slopes: Float[Array, " heads"], visible_keys: VisibleKeys
) -> Float[Array, "#batch heads queries keys"]:
    away = jnp.abs(distances(one_for_all(visible_keys))).astype(jnp.float32)
    return -slopes[None, :, None, None] * away[:, None]
