"""`21<43=<<1`: place by place, how the numbers compare so far.

From the least significant digit on, each place is `<`, `=` or `>`, as the first
number's digits up to there compare with the second's: a place that differs decides,
one that does not keeps what was. The last one is the answer, written as 1 or 0.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ..decimals import to_text
from ..digits import Numbers
from ..problems import Problem
from .base import END, Kind, Piece, Room, Text, join, number
from .forms import Reading
from .traced import DIGITS, TracedLayout, ladder

FIRST, OPERATOR, SECOND, EQUALS, FLAG, ANSWER, FINISH = range(7)


class PlaceByPlace(TracedLayout):
    name = "comparison"
    summary = "how the numbers compare up to each place; the place of every token as coordinate"
    characters = DIGITS + "<=>" + END
    kinds = (
        Kind("first", digit=True),
        Kind("operator"),
        Kind("second", digit=True),
        Kind("equals"),
        Kind("flag"),
        Kind("answer", digit=True),
        Kind("end"),
    )
    axes = ("place",)
    operators = ("<",)
    states = 2  # part (first, second, flags), place

    def working(self, problem: Problem) -> str:
        first, second = problem.operands
        width = max(len(to_text(value)) for value in problem.operands)
        flags = [
            "=><"[
                (first % 10**place > second % 10**place) - (first % 10**place < second % 10**place)
            ]
            for place in range(1, width + 1)
        ]
        return f"{''.join(flags)}{int(first < second)}"

    def reading(self, operator: str) -> Reading:
        return Reading("[<=>]*()([0-9]+)", turned=False)

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        return Room(sum(digits) + 2, max(digits) + 2, ((-1, max(digits) + 1),))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch = len(operands.digits)
        first, second = operands.digits[:, 0], operands.digits[:, 1]
        flags = self._flags(first, second)
        width = jnp.max(operands.lengths, axis=1)
        answer = (flags[jnp.arange(batch), width - 1] == self.code("<")).astype(jnp.int32)[:, None]
        given = [number(values, operands.lengths[:, i]) for i, values in enumerate((first, second))]
        prompt = [given[0], self.one("<", batch), given[1], self.one("=", batch)]
        work = [number(flags, width), Piece(answer, answer >= 0), self.one(END, batch)]
        return join(prompt, work, room.total, self.code(END))

    def step(
        self, state: Int[Array, "*batch 2"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 2"], Int[Array, "*batch"], Int[Array, "*batch 1"]]:
        part, place = jnp.moveaxis(state, -1, 0)
        digit, end = token < 10, token == self.code(END)
        kind = ladder(
            token,
            (digit, jnp.array([FIRST, SECOND, ANSWER])[part]),
            (end, FINISH),
            (True, jnp.array([OPERATOR, EQUALS, FLAG])[part]),
        )
        separates = (kind == OPERATOR) | (kind == EQUALS)
        here = jnp.where(separates, -1, place)
        part = jnp.where(separates, part + 1, part)
        return jnp.stack([part, here + 1], -1), kind, here[..., None]

    def _flags(self, first: Array, second: Array) -> Array:
        def place(flag: Array, signs: Array) -> tuple[Array, Array]:
            flag = jnp.where(signs == 0, flag, signs)
            return flag, flag

        signs = jnp.sign(first - second)
        _, flags = jax.lax.scan(place, jnp.zeros_like(signs[:, 0]), signs.T)
        return flags.T + self.code("=")
