"""`653+049=2070$`: the text and the coordinates of Position Coupling.

Operands are zero-padded to the longer one's n digits and stand in the usual order, the
answer has n + 1 digits, least significant first. The coordinate is the source's position
id less 1, at start 1: operand digits have ids 2 to n + 1, `+` and `=` share id n + 2, and
the answer counts down from n + 1, so that its carry has id 1. The end sign has id 0, as
padding has.
Source: Cho et al., arXiv 2405.20671, the first form of their code (commit 01dd272); later
ones run the other way.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from .base import END, Room
from .direct import ANSWER, EQUALS, FINISH, OPERATOR, SIGN, DirectLayout

NOWHERE = -1
"""Coordinate of id 0."""


class PositionCoupling(DirectLayout):
    name = "position-coupling"
    summary = "zero-padded, only the answer reversed; the position of Position Coupling"
    axes = ("position",)
    operators = ("+",)
    most = 2
    characters = "0123456789+=" + END
    kinds = DirectLayout.kinds[:SIGN]
    states = 3  # those of the direct layouts, and how many digits an operand has
    reverse_operands = False
    padded = True

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        room, width = super().room(operator, digits), max(digits)
        return Room(room.prompt, room.completion, ((NOWHERE, width + 1),))

    def step(
        self, state: Int[Array, "*batch 3"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 3"], Int[Array, "*batch"], Int[Array, "*batch 1"]]:
        count, width = state[..., 1], state[..., 2]
        after, kind, index = super().step(state[..., :2], token)
        sign = (kind == OPERATOR) | (kind == EQUALS)
        width = jnp.where(sign, count, width)
        down = jnp.maximum(width - index[..., 0], NOWHERE)
        place = jnp.where(kind == ANSWER, down, index[..., 0] + 1)
        place = jnp.where(sign, width + 1, jnp.where(kind == FINISH, NOWHERE, place))
        return jnp.concatenate([after, width[..., None]], -1), kind, place[..., None]
