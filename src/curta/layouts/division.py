"""`123//4` and `123%4`: long division by subtraction, one step for each digit of the dividend.

A step brings down the next digit: its partial row is the remainder so far, moved up
by one place, with that digit as the lowest. Then the divisor is subtracted, row by
row; each row begins with the count of subtractions that have succeeded, and borrows
are letters. The row that borrows at its last place has gone below zero: the count
is the quotient digit, and the row before it the remainder. `//` reads the quotient
digits, most significant first; `%` reads the last remainder, least significant
first; both with leading zeros.

A row's number goes up with every row, except that a row below zero does not count:
what follows it takes its number. So the remainder is always one row up.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..decimals import to_text
from ..digits import Numbers
from ..operations import OPERATIONS
from ..problems import Problem
from .base import END, Kind, Piece, Room, Text, grid, join, number
from .difference import written_difference
from .forms import Form, Reading
from .traced import CARRIED, TracedLayout, ladder

(DIVIDEND, OPERATOR, DIVISOR, EQUALS, PARTIAL, COUNT, TRIAL, QUOTIENT, RESULT, ANSWER, FINISH) = (
    range(11)
)
TRIALS = 10
"""Rows of subtraction in one step, at most: nine that succeed and one that does not."""


class LongDivision(TracedLayout):
    name = "division"
    summary = "subtraction until below zero; place, row and step of every token as coordinates"
    characters = CARRIED[:20] + "/%=" + END
    kinds = (
        Kind("dividend", digit=True, wild=("place", "row")),
        Kind("operator", wild=("place", "row", "step")),
        Kind("divisor", digit=True, wild=("row", "step")),
        Kind("equals"),
        Kind("partial", digit=True, wild=("step",)),
        Kind("count", digit=True, wild=("place", "step")),
        Kind("trial", digit=True, wild=("step",)),
        Kind("quotient", digit=True, wild=("place", "row")),
        Kind("result"),
        Kind("answer", digit=True),
        Kind("end"),
    )
    linear = False
    axes = ("place", "row", "step")
    operators = ("//", "%")
    states = 6  # kind of the next digit, place, row, step, digits of the divisor, modulo or not

    def form(self, operator: str) -> Form:
        return super().form(operator)._replace(turned=(False, True))

    def reading(self, operator: str) -> Reading:
        return super().reading(operator)._replace(turned=operator == "%")

    def working(self, problem: Problem) -> str:
        dividend, divisor = problem.operands
        width, rest, trace = len(to_text(divisor)) + 1, 0, ""
        for digit in to_text(dividend):
            rest = 10 * rest + int(digit)
            trace += written_step(rest, divisor, width)
            rest %= divisor
        if problem.operator == "%":
            return f"{trace}={to_text(rest).rjust(width, '0')[::-1]}"
        return f"{trace}={to_text(dividend // divisor).rjust(len(to_text(dividend)), '0')}"

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        steps, widest = digits
        sizes = [_size(steps, width) for width in range(1, widest + 1)]
        trace, trials = (max(column) for column in zip(*sizes, strict=True))
        work = trace + max(steps, widest + 1) + 2
        return Room(steps + widest + 2, work, ((-1, widest + 1), (0, trials), (-1, steps)))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch, wide = len(operands.digits), room.extents[0][1]
        divisor = operands.digits[:, 1, :wide]
        divisor = jnp.pad(divisor, ((0, 0), (0, wide - divisor.shape[1])))
        steps, width = operands.lengths[:, 0], operands.lengths[:, 1]
        dividend = digits.reverse(operands.digits[:, 0], steps)
        trace, quotient, rest = _long_division(dividend, divisor, steps, width)
        answer = number(rest, width + 1) if operator == "%" else number(quotient, steps)
        mark = self.one(OPERATIONS[operator].mark, batch)
        equals, end = self.one("=", batch), self.one(END, batch)
        prompt = [number(dividend, steps), mark, number(divisor, width), equals]
        return join(prompt, [trace, equals, answer, end], room.total, self.code(END))

    def step(
        self, state: Int[Array, "*batch 6"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 6"], Int[Array, "*batch"], Int[Array, "*batch 3"]]:
        due, place, row, step, width, modulo = jnp.moveaxis(state, -1, 0)
        digit, equals, end = token < 20, token == self.code("="), token == self.code(END)
        kind = ladder(
            token,
            (digit & (token >= 10), TRIAL),
            (digit, due),
            (equals, jnp.where(due == DIVISOR, EQUALS, RESULT)),
            (end, FINISH),
            (True, OPERATOR),
        )
        modulo = jnp.where(kind == OPERATOR, (token == self.code("%")).astype(jnp.int32), modulo)
        in_row = (kind == PARTIAL) | (kind == TRIAL) | (kind == DIVISOR)
        here = jnp.where(in_row | (kind == ANSWER) & (modulo > 0) | end, place, -1)
        row = jnp.where(kind == COUNT, row + 1, row)
        step = jnp.where((kind == EQUALS) | (kind == RESULT), -1, step)
        seen = jnp.stack([here, row, step], -1)
        width = jnp.where(kind == EQUALS, place, width)
        last = (kind == PARTIAL) | (kind == TRIAL) & (token < 10)
        due = ladder(
            token,
            (kind == OPERATOR, DIVISOR),
            ((kind == EQUALS) | (kind == QUOTIENT), PARTIAL),
            ((kind == RESULT) | (kind == ANSWER), ANSWER),
            (kind == COUNT, TRIAL),
            (in_row & (kind != DIVISOR) & (here >= width), jnp.where(last, COUNT, QUOTIENT)),
            (True, jnp.where(kind == TRIAL, TRIAL, due)),
        )
        answers = ((kind == RESULT) | (kind == ANSWER)) & (modulo == 0)
        onward = (kind == DIVIDEND) | (kind == EQUALS) | (kind == QUOTIENT) | answers
        step = jnp.where(onward, step + 1, step)
        step = jnp.where(kind == OPERATOR, 0, step)
        return jnp.stack([due, here + 1, row, step, width, modulo], -1), kind, seen


def _size(steps: int, width: int) -> tuple[int, int]:
    """Most tokens of a trace, and most rows of subtraction, for a divisor of `width` digits."""
    idle = min(width - 1, steps)  # steps before the remainder can reach the divisor
    trials = idle + TRIALS * (steps - idle)
    return (steps + trials) * (width + 1) + trials + steps, trials


def _long_division(
    dividend: Int[Array, "batch steps"],
    divisor: Int[Array, "batch width"],
    steps: Int[Array, " batch"],
    width: Int[Array, " batch"],
) -> tuple[Piece, Int[Array, "batch steps"], Int[Array, "batch width"]]:
    """The trace, the quotient's digits in the order of the dividend's, and the remainder."""
    batch, wide = divisor.shape

    def trial(now: tuple[Array, Array], count: Array) -> tuple[tuple[Array, Array], Any]:
        rest, going = now
        less, borrows = digits.subtract(rest, divisor)
        fits = going & ~borrows[:, -1]
        shown = jnp.where(borrows, less + 10, less)
        row = jnp.concatenate([jnp.full((batch, 1), count), shown], axis=1)
        return (jnp.where(fits[:, None], less, rest), fits), (row, going)

    def step(rest: Array, now: tuple[Array, Array]) -> tuple[Array, Any]:
        digit, going = now
        partial = jnp.concatenate([digit[:, None], rest[:, :-1]], axis=1)
        (after, _), (rows, shown) = jax.lax.scan(trial, (partial, going), jnp.arange(TRIALS))
        rest = jnp.where(going[:, None], after, rest)
        return rest, (partial, rows, shown)

    going = jnp.arange(dividend.shape[1]) < steps[:, None]
    rest, found = jax.lax.scan(step, jnp.zeros_like(divisor), (dividend.T, going.T))
    partials, rows, shown = found  # steps batch wide, steps trials batch 1+wide, steps trials batch
    quotient = jnp.sum(shown, axis=1) - 1
    rows = jnp.moveaxis(rows, 1, 2).reshape(len(rows), batch, -1)
    tokens = jnp.concatenate([partials, rows, quotient[..., None]], axis=-1)
    narrow = jnp.arange(wide) <= width[:, None]
    in_row = jnp.concatenate([jnp.ones((batch, 1), bool), narrow], axis=1)
    written = jnp.moveaxis(shown, 1, 2)[..., None] & in_row[:, None]
    parts = (narrow, written.reshape(len(rows), batch, -1), jnp.ones((batch, 1), bool))
    whole = [jnp.broadcast_to(part, (len(rows), *part.shape[-2:])) for part in parts]
    valid = jnp.concatenate(whole, axis=-1) & going.T[..., None]
    trace = grid(jnp.moveaxis(tokens, 0, 1), jnp.moveaxis(valid, 0, 1))
    return trace, quotient.T, rest


def written_step(rest: int, divisor: int, width: int) -> str:
    """The partial row, a row for every subtraction, and the quotient digit."""
    text, count = to_text(rest).rjust(width, "0")[::-1], 0
    while rest >= 0:
        text += f"{count}{written_difference(rest, divisor, width)}"
        rest, count = rest - divisor, count + 1
    return f"{text}{count - 1}"
