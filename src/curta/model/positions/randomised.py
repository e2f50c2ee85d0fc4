"""Randomised positions: in training a text stands at random indices, in their order.

A sorted random subset of 0 to `max_length` - 1 takes the place of 0, 1, 2 ..., so that
every index of a longer text has been met. One subset is drawn a step, for the whole
batch; outside of training indices are 0, 1, 2 ... again. (The paper draws a subset for
each batch too, but goes on drawing in its tests, where this is McLeish et al.'s form.)
Source: Ruoss et al., arXiv 2305.16843.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curta.config.errors import UserError
from curta.config.positions import Learned, Randomised, Sinusoidal
from curta.layouts import ShapeBounds, TokenPositions
from curta.model.positions import learned, sinusoidal
from curta.model.positions.base import Encoding, Shape


def build(settings: Randomised, shape: Shape) -> Encoding:
    if settings.of == "learned":
        vectors = learned.build(Learned(length=settings.max_length), shape)
    else:
        vectors = sinusoidal.build(Sinusoidal(), shape)
    return RandomisedEncoding(vectors, settings.max_length)


class RandomisedEncoding(Encoding):
    vectors: Encoding
    max_length: int = eqx.field(static=True)

    def check(self, bounds: ShapeBounds, *, training: bool = False) -> None:
        check_subset(bounds, self.max_length)

    def shift_batch(self, where: TokenPositions, key: PRNGKeyArray) -> TokenPositions:
        return replace(where, index=subset(key, self.max_length, where.index.shape[1])[where.index])

    def embed(self, where: TokenPositions) -> Float[Array, "batch time width"] | float:
        return self.vectors.embed(where)


def subset(key: PRNGKeyArray, size: int, count: int) -> Int[Array, " count"]:
    """`count` different numbers from 0 to `size` - 1, in ascending order."""
    return jnp.sort(jax.random.permutation(key, size)[:count])


def check_subset(bounds: ShapeBounds, max_length: int) -> None:
    """Raises UserError if there are fewer indices to draw from than a text has tokens."""
    if bounds.total > max_length:
        raise UserError(
            f"a text of up to {bounds.total:,} tokens is too long for random positions below"
            f" {max_length:,} (positions.max_length)"
        )
