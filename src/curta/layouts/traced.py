"""What layouts with a trace have in common.

A trace is the working that stands between the prompt and the answer, written so
that every next token is a function of a few tokens near it. Digits that carry or
borrow are letters: `a` to `j` are 0 to 9 with one carried on. (Sorting needs a third
alphabet, `k` to `t`, and says what for.)
Every row begins with a separator at place -1, so that its first digit is seen
from there as each further digit is from the one before it.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from .base import Layout, Piece, sign
from .forms import Reading

DIGITS = "0123456789"
CARRIED = DIGITS + "abcdefghijklmnopqrst"
"""A digit with flag 0, 1 or 2, most often what is carried on, by 10 x flag + digit."""


class TracedLayout(Layout):
    """A layout whose answer stands after the last `=`, least significant digit first."""

    def reading(self, operator: str) -> Reading:
        return Reading(".*=()([0-9]+)")

    def spelling(self, character: str) -> tuple[str, ...]:
        return spelled(character)

    def one(self, character: str, batch: int) -> Piece:
        """A character that stands in every text."""
        return sign(self.characters.index(character), batch)

    def code(self, character: str) -> int:
        return self.characters.index(character)


def spelled(character: str) -> tuple[str, ...]:
    """A letter as its digit and what it carries: `c` as `2` and `carries 1`."""
    carried, digit = divmod(CARRIED.find(character), 10)
    return (DIGITS[digit], f"carries {carried}") if carried > 0 else (character,)


def ladder(token: Int[Array, "*batch"], *rungs: tuple[Array | bool, Array | int]) -> Array:
    """The value beside the first condition that holds; the last condition always should."""
    conditions, values = zip(*rungs, strict=True)
    shape = jnp.shape(token)
    return jnp.select(
        [jnp.broadcast_to(c, shape) for c in conditions],
        [jnp.broadcast_to(jnp.asarray(v, jnp.int32), shape) for v in values],
    )
