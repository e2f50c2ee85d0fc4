"""`321+54=861$` with coordinates: digits of equal significance share a place.

The text is that of `reversed`. What is added is structure: `+` stands one place
above the first operand's last digit, `=` at place -1, just below the digit that
is written next, and the end sign one place above the answer.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from .base import END
from .direct import SIGN, DirectLayout


class Coupled(DirectLayout):
    name = "coupled"
    summary = "reversed; the place of every digit and sign in the written sum as coordinate"
    axes = ("place",)
    operators = ("+",)
    most = 2
    characters = "0123456789+=" + END
    kinds = DirectLayout.kinds[:SIGN]

    def sign_place(self, token: Int[Array, "*batch"], count: Int[Array, "*batch"]) -> Array:
        return jnp.where(token == self.characters.index("="), -1, count)
