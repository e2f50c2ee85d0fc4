"""A hash of problems that does not know the order of their operands: twins have the same one."""

import jax.numpy as jnp
from jaxtyping import Array, UInt

from curta.problems.arithmetic.digits import Numbers, places
from curta.problems.problem_table import mixed

KEY = 0x43757274
"""Of the hash that parts drawn problems: never changed, so that no two data sets disagree."""


def fingerprint(numbers: Numbers) -> UInt[Array, " batch"]:
    """A hash of each problem's operands, whatever their order and the width of the arrays."""
    digits, lengths = numbers
    place = places(digits)
    marks = jnp.where(place < lengths[..., None], digits + 1, 0).astype(jnp.uint32)
    factors = mixed(place.astype(jnp.uint32), 0, KEY)
    whole = jnp.sum(marks * factors, axis=-1, dtype=jnp.uint32)
    each = jnp.where(lengths > 0, mixed(whole, 1, KEY), jnp.uint32(0))
    return mixed(jnp.sum(each, axis=-1, dtype=jnp.uint32), 2, KEY)
