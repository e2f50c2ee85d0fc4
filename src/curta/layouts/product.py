"""`12*34=` row by row, as on paper and as in the machine this program is named after.

Row j adds first x digit j of second to the sum so far. Its place i stands for ten
to the i + j, and is written in three steps: the tens of the product of the place
before, the units of this one, and the sum of both with the row before and what is
carried, a letter where it carries on. The answer reads the lowest sum of every row
and then the rest of the last row, leading zeros included.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..decimals import to_text
from ..digits import Numbers
from ..problems import Problem
from .base import END, Kind, Piece, Room, Text, grid, join, number
from .traced import CARRIED, TracedLayout, ladder

FIRST, OPERATOR, SECOND, EQUALS, TENS, UNITS, SUM, NEXT, RESULT, ANSWER, FINISH = range(11)


class Product(TracedLayout):
    name = "product"
    summary = "rows of digit products and running sums; place and row of every token as coordinates"
    characters = CARRIED + "*|=" + END
    kinds = (
        Kind("first", digit=True, wild=("row",)),
        Kind("operator", wild=("place", "row")),
        Kind("second", digit=True, wild=("place",)),
        Kind("equals"),
        Kind("tens", digit=True),
        Kind("units", digit=True),
        Kind("sum", digit=True),
        Kind("next"),
        Kind("result"),
        Kind("answer", digit=True),
        Kind("end"),
    )
    linear = False
    axes = ("place", "row")
    operators = ("*",)
    states = 5  # part (first, second, rows, answer), place, row, step in the place, rows in all

    def prompt(self, problem: Problem) -> str:
        return "*".join(to_text(value)[::-1] for value in problem.operands) + "="

    def working(self, problem: Problem) -> str:
        first, second = problem.operands
        multipliers = [int(digit) for digit in to_text(second)[::-1]]
        width, total, rows = len(to_text(first)), 0, []
        for multiplier in multipliers:
            rows.append(written_row(first, multiplier, total // 10, width))
            total = total // 10 + first * multiplier
        answer = to_text(first * second).rjust(width + len(multipliers), "0")[::-1]
        return f"{'|'.join(rows)}={answer}"

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        width, rows = digits
        work = rows * 3 * (width + 1) + rows + width + rows + 1
        return Room(width + rows + 2, work, ((-1, width + 1), (-1, rows)))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch = len(operands.digits)
        first, second = operands.digits[:, 0], operands.digits[:, 1]
        widths, rows = operands.lengths[:, 0], operands.lengths[:, 1]
        equals, end = self.one("=", batch), self.one(END, batch)
        prompt = [number(first, widths), self.one("*", batch), number(second, rows), equals]
        answer = number(digits.multiply(first, second), widths + rows)
        work = [self._rows(operands), equals, answer, end]
        return join(prompt, work, room.total, self.code(END))

    def step(
        self, state: Int[Array, "*batch 5"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 5"], Int[Array, "*batch"], Int[Array, "*batch 2"]]:
        part, place, row, turn, rows = jnp.moveaxis(state, -1, 0)
        digit, equals, end = token < 30, token == self.code("="), token == self.code(END)
        kind = ladder(
            token,
            (digit & (token >= 10), SUM),
            (digit, jnp.array([FIRST, SECOND, TENS, ANSWER])[part] + turn),
            (equals, jnp.where(part < 2, EQUALS, RESULT)),
            (end, FINISH),
            (part == 0, OPERATOR),
            (True, NEXT),
        )
        below = (kind == ANSWER) & (row + 1 < rows)
        row = ladder(
            token,
            (below | (kind == NEXT), row + 1),
            (kind == EQUALS, 0),
            (kind == RESULT, -1),
            (True, row),
        )
        here = ladder(
            token,
            (below | (kind == RESULT), 0),
            (digit & (part != 1) | end, place),
            (True, -1),
        )
        seen = jnp.stack([here, row], -1)
        rows = jnp.where(kind == EQUALS, state[..., 2], rows)
        place = here + ((kind != TENS) & (kind != UNITS))
        turn = jnp.where((kind == TENS) | (kind == UNITS), turn + 1, 0)
        part = jnp.where(equals | (kind == OPERATOR), jnp.minimum(part + 1, 3), part)
        after = jnp.stack([part, place, row + (kind == SECOND), turn, rows], -1)
        return after, kind, seen

    def _rows(self, operands: Numbers) -> Piece:
        """All rows, a separator before each but the first."""
        first = jnp.pad(operands.digits[:, 0], ((0, 0), (0, 1)))
        widths, rows = operands.lengths[:, 0], operands.lengths[:, 1]

        def row(before: Array, multiplier: Array) -> tuple[Array, Array]:
            products = first * multiplier[:, None]
            tens = jnp.roll(products // 10, 1, axis=1)
            sums = digits.with_carries(tens + products % 10 + before)
            cells = jnp.stack([tens, products % 10, sums], axis=-1)
            return jnp.roll(sums % 10, -1, axis=1).at[:, -1].set(0), cells

        _, cells = jax.lax.scan(row, jnp.zeros_like(first), operands.digits[:, 1].T)
        batch, count, wide = len(first), len(cells), first.shape[1]
        cells = jnp.moveaxis(cells, 0, 1).reshape(batch, count, 3 * wide)
        bars = jnp.full((batch, count, 1), self.code("|"))
        there = (jnp.arange(count) < rows[:, None])[..., None]
        valid = there & (jnp.arange(-1, 3 * wide) < 3 * (widths[:, None, None] + 1))
        found = grid(jnp.concatenate([bars, cells], axis=-1), valid)
        return Piece(found.tokens[:, 1:], found.valid[:, 1:])


def written_row(first: int, multiplier: int, before: int, width: int) -> str:
    """Tens, units and sum for each place of before + first x multiplier, and one more."""
    text, carry = "", 0
    for place in range(width + 1):
        tens = first * 10 // 10**place % 10 * multiplier // 10
        units = first // 10**place % 10 * multiplier % 10
        column = tens + units + before // 10**place % 10 + carry
        carry = column // 10
        text += f"{tens}{units}{CARRIED[10 * carry + column % 10]}"
    return text
