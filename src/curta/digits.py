"""Exact arithmetic on digit arrays, on the device, for any length.

Numbers are int32 arrays of decimal digits, least significant first, padded with
zeros at the significant end. Python's ints are the truth (see `problems`); this
is how training data is computed without leaving the device.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int


def add(a: Int[Array, "*batch width"], b: Int[Array, "*batch width"]) -> Int[Array, "*batch more"]:
    """Sum of two numbers, one digit wider than the operands.

    Carries ripple through a scan over places: one pass, whatever the chain.
    """

    def place(carry: Array, column: Array) -> tuple[Array, Array]:
        total = column + carry
        return total // 10, total % 10

    columns = jnp.moveaxis(a + b, -1, 0)
    carry, low = jax.lax.scan(place, jnp.zeros_like(columns[0]), columns)
    return jnp.concatenate([jnp.moveaxis(low, 0, -1), carry[..., None]], axis=-1)


def length(digits: Int[Array, "*batch width"]) -> Int[Array, "*batch"]:
    """Number of digits without leading zeros; zero itself has one digit."""
    places = jnp.arange(1, digits.shape[-1] + 1)
    return jnp.maximum(1, jnp.max(jnp.where(digits > 0, places, 0), axis=-1))
