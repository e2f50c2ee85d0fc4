"""`321-654=hgg-333$`: borrow by borrow, then the sign, then the magnitude.

Each place of first - second is written modulo ten, as a letter where it borrows.
The last place's borrow is the sign. After `+` the magnitude copies the digits;
after `-` it is their ten's complement: zeros stay, the first other digit d becomes
10 - d and every later one 9 - d, and which of these holds shows in the digit before.
The answer keeps its leading zeros, as the registers of a calculating machine do.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..decimals import to_text
from ..digits import Numbers
from ..problems import Problem
from .base import END, Kind, Piece, Room, Text, join, number
from .forms import Reading
from .traced import CARRIED, TracedLayout, ladder

FIRST, OPERATOR, SECOND, EQUALS, DIFFERENCE, SIGN, ANSWER, FINISH = range(8)


class Difference(TracedLayout):
    name = "difference"
    summary = "digits with borrows, sign, magnitude; the place of every token as coordinate"
    characters = CARRIED[:20] + "+-=" + END
    kinds = (
        Kind("first", digit=True),
        Kind("operator"),
        Kind("second", digit=True),
        Kind("equals"),
        Kind("difference", digit=True),
        Kind("sign", wild=("place",)),
        Kind("answer", digit=True),
        Kind("end"),
    )
    axes = ("place",)
    operators = ("-",)
    states = 2  # part (first, second, difference, answer), place

    def working(self, problem: Problem) -> str:
        first, second = problem.operands
        width = max(len(to_text(value)) for value in problem.operands)
        trace = written_difference(first, second, width)
        magnitude = to_text(abs(first - second)).rjust(width, "0")[::-1]
        return f"{trace}{'-' if first < second else '+'}{magnitude}"

    def reading(self, operator: str) -> Reading:
        return Reading("[^-+]*([-+])([0-9]+)")

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        return Room(sum(digits) + 2, 2 * max(digits) + 2, ((-1, max(digits)),))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch = len(operands.digits)
        first, second = operands.digits[:, 0], operands.digits[:, 1]
        rest, borrows = digits.subtract(first, second)
        magnitude, negative = digits.distance(first, second)
        width = jnp.max(operands.lengths, axis=1)
        given = [number(values, operands.lengths[:, i]) for i, values in enumerate((first, second))]
        prompt = [given[0], self.one("-", batch), given[1], self.one("=", batch)]
        sign = jnp.where(negative, self.code("-"), self.code("+"))[:, None]
        work = [
            number(jnp.where(borrows, rest + 10, rest), width),
            Piece(sign, jnp.ones_like(sign, bool)),
            number(magnitude, width),
            self.one(END, batch),
        ]
        return join(prompt, work, room.total, self.code(END))

    def step(
        self, state: Int[Array, "*batch 2"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 2"], Int[Array, "*batch"], Int[Array, "*batch 1"]]:
        part, place = jnp.moveaxis(state, -1, 0)
        digit, end = token < 20, token == self.code(END)
        kind = ladder(
            token,
            (token < 10, jnp.array([FIRST, SECOND, DIFFERENCE, ANSWER])[part]),
            (digit, DIFFERENCE),
            (token == self.code("="), EQUALS),
            (end, FINISH),
            (part == 0, OPERATOR),
            (True, SIGN),
        )
        here = jnp.where(digit | end, place, -1)
        part = jnp.where(digit | end, part, jnp.minimum(part + 1, 3))
        return jnp.stack([part, here + 1], -1), kind, here[..., None]


def written_difference(first: int, second: int, width: int) -> str:
    """Digits of first - second modulo 10^width, as letters where they borrow."""
    text, borrow = "", 0
    for place in range(width):
        rest = first // 10**place % 10 - second // 10**place % 10 - borrow
        borrow = int(rest < 0)
        text += CARRIED[10 * borrow + rest % 10]
    return text
