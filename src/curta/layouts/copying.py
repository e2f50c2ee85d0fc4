"""`c321=321` and `r321=123`: digits that see the place they are copied from.

Numbers stand least significant digit first. What is written next stands, for a
copy, at the place after the last one's, and for a reversal at the place before it,
from the most significant place down.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..decimals import to_text
from ..digits import Numbers
from ..operations import OPERATIONS
from ..problems import Problem
from .base import END, Kind, Room, Text, join, number
from .forms import Form, Reading
from .traced import DIGITS, TracedLayout, ladder

OPERATOR, NUMBER, EQUALS, ANSWER, FINISH = range(5)


class Copying(TracedLayout):
    name = "copying"
    summary = "digits and the places that they are copied from as coordinates"
    characters = DIGITS + "cr=" + END
    kinds = (
        Kind("operator", wild=("place",)),
        Kind("number", digit=True),
        Kind("equals"),
        Kind("answer", digit=True),
        Kind("end"),
    )
    axes = ("place",)
    operators = ("copy", "reverse")
    states = 3  # part (number, answer), place, step from place to place

    def form(self, operator: str) -> Form:
        return Form(",", before=OPERATIONS[operator].mark)

    def reading(self, operator: str) -> Reading:
        return Reading()

    def working(self, problem: Problem) -> str:
        digits = to_text(problem.operands[0])
        return digits[::-1] if problem.operator == "copy" else digits

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        return Room(digits[0] + 2, digits[0] + 1, ((-1, digits[0]),))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch, width = len(operands.digits), operands.lengths[:, 0]
        given = operands.digits[:, 0]
        answer = given if operator == "copy" else digits.reverse(given, width)
        mark = self.one(OPERATIONS[operator].mark, batch)
        prompt = [mark, number(given, width), self.one("=", batch)]
        work = [number(answer, width), self.one(END, batch)]
        return join(prompt, work, room.total, self.code(END))

    def step(
        self, state: Int[Array, "*batch 3"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 3"], Int[Array, "*batch"], Int[Array, "*batch 1"]]:
        part, place, way = jnp.moveaxis(state, -1, 0)
        digit, equals = token < 10, token == self.code("=")
        kind = ladder(
            token,
            (digit, jnp.where(part == 0, NUMBER, ANSWER)),
            (equals, EQUALS),
            (token == self.code(END), FINISH),
            (True, OPERATOR),
        )
        way = jnp.where(kind == OPERATOR, jnp.where(token == self.code("r"), -1, 1), way)
        here = ladder(
            token,
            (equals, jnp.where(way < 0, place, -1)),
            (kind == OPERATOR, -1),
            (True, place),
        )
        onward = jnp.where((part == 0) & ~equals, 1, way)
        part = jnp.where(equals, 1, part)
        return jnp.stack([part, here + onward, way], -1), kind, here[..., None]
