"""`1+22+333=32|653=653$`: a row for the running sum after each further operand.

Row j stands at the coordinates (place, j), as operand j does; the row before it,
or operand 0 for row 1, is added to operand j. A letter is a digit that carries.
The answer is one more row, to which nothing is added.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..decimals import to_text
from ..digits import Numbers
from ..operations import OPERATIONS
from ..problems import Problem
from .base import END, Kind, Piece, Room, Text, grid, headless, join, number
from .traced import CARRIED, TracedLayout, ladder

OPERAND, OPERATOR, EQUALS, SUM, NEXT, RESULT, ANSWER, FINISH = range(8)


class Running(TracedLayout):
    name = "running"
    summary = "running sums with carries; place and row of every token as coordinates"
    characters = CARRIED[:20] + "+|=" + END
    kinds = (
        Kind("operand", digit=True),
        Kind("operator", wild=("place",)),
        Kind("equals"),
        Kind("sum", digit=True),
        Kind("next"),
        Kind("result"),
        Kind("answer", digit=True),
        Kind("end"),
    )
    linear = False
    axes = ("place", "row")
    operators = ("+",)
    states = 3  # part (operands, trace, answer), place, row

    def working(self, problem: Problem) -> str:
        total, rows = problem.operands[0], []
        for operand in problem.operands[1:]:
            rows.append(written_sum(total, operand))
            total += operand
        return f"{'|'.join(rows)}={to_text(total)[::-1]}"

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        rows = len(digits)
        width = OPERATIONS[operator].widths(digits)[0]
        return Room(sum(digits) + rows, rows * (width + 1) + 1, ((-1, width), (0, rows)))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch, count, _ = operands.digits.shape
        there = operands.lengths > 0
        plus = jnp.full((batch, count, 1), self.code("+"))
        marked = jnp.concatenate([plus, operands.digits], axis=-1)
        places = jnp.arange(-1, operands.digits.shape[-1])
        given = headless(grid(marked, (places < operands.lengths[..., None]) & there[..., None]))
        rows, total = self._rows(operands)
        answer = number(total, digits.length(total))
        equals, end = self.one("=", batch), self.one(END, batch)
        return join([given, equals], [rows, equals, answer, end], room.total, self.code(END))

    def step(
        self, state: Int[Array, "*batch 3"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 3"], Int[Array, "*batch"], Int[Array, "*batch 2"]]:
        part, place, row = jnp.moveaxis(state, -1, 0)
        digit, equals, end = token < 20, token == self.code("="), token == self.code(END)
        kind = ladder(
            token,
            (token < 10, jnp.array([OPERAND, SUM, ANSWER])[part]),
            (digit, SUM),
            (token == self.code("+"), OPERATOR),
            (token == self.code("|"), NEXT),
            (equals, jnp.where(part == 0, EQUALS, RESULT)),
            (end, FINISH),
        )
        row = ladder(
            token,
            (digit | end, row),
            (equals & (part == 0), 1),
            (True, row + 1),
        )
        here = jnp.where(digit | end, place, -1)
        part = jnp.where(equals, jnp.minimum(part + 1, 2), part)
        return jnp.stack([part, here + 1, row], -1), kind, jnp.stack([here, row], -1)

    def _rows(self, operands: Numbers) -> tuple[Piece, Array]:
        """The rows of running sums, a separator before each but the first; the last sum."""
        batch, count, width = operands.digits.shape
        wide = OPERATIONS["+"].widths([width] * count)[0]
        padded = jnp.pad(operands.digits, ((0, 0), (0, 0), (0, wide - width)))

        def row(total: Array, operand: Array) -> tuple[Array, tuple[Array, Array]]:
            written = digits.with_carries(total + operand)
            total = written % 10
            return total, (written, digits.length(total))

        total, found = jax.lax.scan(row, padded[:, 0], jnp.moveaxis(padded, 1, 0)[1:])
        written, lengths = (jnp.moveaxis(part, 0, 1) for part in found)
        bars = jnp.full((batch, count - 1, 1), self.code("|"))
        there = (operands.lengths[:, 1:] > 0)[..., None]
        valid = there & (jnp.arange(-1, wide) < lengths[..., None])
        rows = grid(jnp.concatenate([bars, written], axis=-1), valid)
        return headless(rows), total


def written_sum(first: int, second: int) -> str:
    """Digits of first + second, least significant first, as letters where they carry."""
    text, carry = "", 0
    for place in range(len(to_text(first + second))):
        column = first // 10**place % 10 + second // 10**place % 10 + carry
        carry = column // 10
        text += CARRIED[10 * carry + column % 10]
    return text
