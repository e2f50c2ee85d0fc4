"""ALiBi: attention scores fall off in a straight line with the distance, head by head.

The score of key j for query i has slope x (j - i) added. Slopes are the geometric series
of the paper, 2^(-8h/heads) for h = 1 to heads, for any number of heads (the authors'
code takes another series where that number is no power of two). Learned slopes begin
there, and each attending block then has its own.
Source: Press et al., arXiv 2108.12409.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from curta.config.positions import ALiBi
from curta.model.deferred_init import Weight, given
from curta.model.positions.base import Encoding, Links, Shape, distances, one_for_all


def build(settings: ALiBi, shape: Shape) -> Encoding:
    slopes = series(shape.heads)
    if not settings.learned:
        return ALiBiEncoding(tuple(slopes.tolist()))
    return LearnedALiBiEncoding(given(np.tile(slopes, (shape.attending, 1))))


class ALiBiEncoding(Encoding):
    slopes: tuple[float, ...] = eqx.field(static=True)

    def bias(self, layer: Any, links: Links) -> Float[Array, "#batch heads queries keys"]:
        return sloped(jnp.array(self.slopes), links)


class LearnedALiBiEncoding(Encoding):
    slopes: Weight  # attending heads

    @property
    def layers(self) -> Any:
        return self.slopes

    def bias(self, layer: Any, links: Links) -> Float[Array, "#batch heads queries keys"]:
        return sloped(layer, links)


def series(heads: int) -> Float[np.ndarray, " heads"]:
    """2^(-8/heads), and its powers."""
    return np.exp2(-8.0 * np.arange(1, heads + 1) / heads).astype(np.float32)


def sloped(
    slopes: Float[Array, " heads"], links: Links
) -> Float[Array, "#batch heads queries keys"]:
    away = distances(one_for_all(links)).astype(jnp.float32)
    return -slopes[:, None, None] * away[:, None]
