"""`12*34=`: a row for each digit of the second number, as on paper.

Row j multiplies the first number by digit j and adds the product to the sum so far;
its place i stands for ten to the i + j. A place is written in four steps: the tens
of the digit product one place below, the units of this one, the digit of the row's
product, which is the sum of both, and the digit of the running sum, which adds what
the row before has there. The last two are letters where they carry. The answer reads
the lowest sum of every row and then the rest of the last row, leading zeros included.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..decimals import to_text
from ..digits import Numbers
from ..problems import Problem
from .base import END, Kind, Piece, Room, Text, grid, headless, join, number
from .traced import CARRIED, TracedLayout, ladder

(FIRST, OPERATOR, SECOND, EQUALS, TENS, UNITS, PART, SUM, NEXT, RESULT, ANSWER, FINISH) = range(12)
STEPS = 4
"""Tokens for each place of a row."""


class Product(TracedLayout):
    name = "product"
    summary = "rows of partial products and running sums; place and row as coordinates"
    characters = CARRIED[:20] + "*|=" + END
    kinds = (
        Kind("first", digit=True, wild=("row",)),
        Kind("operator", wild=("place", "row")),
        Kind("second", digit=True, wild=("place",)),
        Kind("equals"),
        Kind("tens", digit=True),
        Kind("units", digit=True),
        Kind("part", digit=True),
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
        work = rows * (STEPS * (width + 1) + 1) + width + rows + 1
        return Room(width + rows + 2, work, ((-1, width + 1), (0, rows + 1)))

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
        digit, equals, end = token < 20, token == self.code("="), token == self.code(END)
        kind = ladder(
            token,
            (digit, jnp.array([FIRST, SECOND, TENS, ANSWER])[part] + turn),
            (equals, jnp.where(part < 2, EQUALS, RESULT)),
            (end, FINISH),
            (part == 0, OPERATOR),
            (True, NEXT),
        )
        below = (kind == RESULT) | (kind == ANSWER) & (row < rows)
        seen_row = ladder(
            token,
            (kind == EQUALS, 0),
            (kind == RESULT, 1),
            (below | (kind == NEXT), row + 1),
            (True, row),
        )
        waits = (kind == SECOND) | (kind == OPERATOR) | (kind == EQUALS) | (kind == NEXT)
        here = jnp.where(waits | below, -1, place)
        rows = jnp.where(kind == EQUALS, row, rows)
        inside = (kind >= TENS) & (kind < SUM)
        turn = jnp.where(inside, turn + 1, 0)
        part = jnp.where(equals | (kind == OPERATOR), jnp.minimum(part + 1, 3), part)
        onward = jnp.where(inside, here, here + 1)
        next_row = jnp.where(kind == SECOND, seen_row + 1, seen_row)
        after = [part, onward, next_row, turn, rows]
        return jnp.stack(after, -1), kind, jnp.stack([here, seen_row], -1)

    def _rows(self, operands: Numbers) -> Piece:
        """All rows, a separator before each but the first."""
        first = jnp.pad(operands.digits[:, 0], ((0, 0), (0, 1)))
        widths, rows = operands.lengths[:, 0], operands.lengths[:, 1]

        def row(before: Array, multiplier: Array) -> tuple[Array, Array]:
            products = first * multiplier[:, None]
            tens, units = jnp.roll(products // 10, 1, axis=1), products % 10
            part = digits.with_carries(tens + units)
            sums = digits.with_carries(part % 10 + before)
            cells = jnp.stack([tens, units, part, sums], axis=-1)
            return jnp.roll(sums % 10, -1, axis=1).at[:, -1].set(0), cells

        _, cells = jax.lax.scan(row, jnp.zeros_like(first), operands.digits[:, 1].T)
        batch, count, wide = len(first), len(cells), STEPS * first.shape[1]
        cells = jnp.moveaxis(cells, 0, 1).reshape(batch, count, wide)
        bars = jnp.full((batch, count, 1), self.code("|"))
        there = (jnp.arange(count) < rows[:, None])[..., None]
        valid = there & (jnp.arange(-1, wide) < STEPS * (widths[:, None, None] + 1))
        found = grid(jnp.concatenate([bars, cells], axis=-1), valid)
        return headless(found)


def written_row(first: int, multiplier: int, before: int, width: int) -> str:
    """Tens, units, product and sum for each place of first x multiplier, and one more."""
    text, low, high = "", 0, 0
    for place in range(width + 1):
        tens = first * 10 // 10**place % 10 * multiplier // 10
        units = first // 10**place % 10 * multiplier % 10
        low = tens + units + low // 10
        high = low % 10 + before // 10**place % 10 + high // 10
        text += f"{tens}{units}{CARRIED[low]}{CARRIED[high]}"
    return text
