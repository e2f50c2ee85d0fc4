"""Vectors of all tokens on an arc of a circle, by three parameters.

Token i has the angle `start + i step`, in radians, and the length `radius`. On a short arc sums
of vectors are nearly sums of digits.
Source: AdderBoard, github.com/anadim/AdderBoard, the digit embedding of its smallest trained
entries; the initial values are Curta's.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from curta.model.deferred_init import constant


def first() -> Any:
    """Radius, start and step before training; the weights around them differ from seed to seed."""
    return constant([3.0, 0.0, 0.15])


def vectors(parameters: Float[Array, "3"], tokens: int) -> Float[Array, "tokens 2"]:
    """The vector of each token.

    >>> vectors(jnp.array([2.0, 0.0, jnp.pi / 2]), 2).round(3).tolist()
    [[2.0, 0.0], [-0.0, 2.0]]
    """
    radius, start, step = parameters
    angles = start + step * jnp.arange(tokens, dtype=jnp.float32)
    return radius * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1)
