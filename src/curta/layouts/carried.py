"""`21+93=.1'5.0$`: before each digit of the answer, whether one is carried into its place.

So every digit, the first one included, is asked of a carry mark at its own place, and one
and the same function of a mark and two digits gives the units, the tens and all others: what
was learned at one place holds at each. Numbers are padded, so that no digit is ever missing
but above the highest place.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from ..digits import Numbers
from ..operations import OPERATIONS
from ..problems import Problem
from .base import END, Kind, Room, Text, grid, join
from .direct import DirectLayout
from .forms import Reading

MARKS = ".'"
"""Nothing is carried, one is carried."""

CARRY = 6


class Carried(DirectLayout):
    name = "carried"
    summary = "padded, a carry mark before each digit of the answer; place as coordinate"
    characters = "0123456789+=" + MARKS + END
    kinds = (*DirectLayout.kinds[:CARRY], Kind("carry"))
    axes = ("place",)
    operators = ("+",)
    most = 2
    padded = True

    def working(self, problem: Problem) -> str:
        answer = super().working(problem)
        return "".join(MARKS[_carry(problem, p)] + digit for p, digit in enumerate(answer))

    def reading(self, operator: str) -> Reading:
        return super().reading(operator)._replace(drop=MARKS)

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        (answer,) = OPERATIONS[operator].widths(digits)
        return Room(super().room(operator, digits).prompt, 2 * answer + 1, ((-1, answer),))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        widest = jnp.max(operands.lengths, axis=1, keepdims=True)
        result = OPERATIONS[operator].answer(operands).numbers
        answer, digits = self._fit(result, widest + 1), result.digits[:, 0]
        widen = [(0, 0), (0, digits.shape[1] - operands.digits.shape[-1])]
        carries = (digits - jnp.pad(jnp.sum(operands.digits, axis=1), widen)) % 10
        valid = jnp.arange(digits.shape[1]) < answer.lengths
        marked = jnp.stack([carries + self.characters.index(MARKS[0]), digits], axis=-1)
        equals, end = (self._sign(character, len(digits)) for character in ("=", END))
        prompt = [*self._listed(self._fit(operands, widest), operator, self.reverse), equals]
        work = [grid(marked, valid[..., None]), end]
        return join(prompt, work, room.total, self.characters.index(END))

    def step(
        self, state: Int[Array, "*batch 2"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 2"], Int[Array, "*batch"], Int[Array, "*batch 1"]]:
        after, kind, place = super().step(state, token)
        first = self.characters.index(MARKS[0])
        mark = (token == first) | (token == first + 1)
        return jnp.where(mark[..., None], state, after), jnp.where(mark, CARRY, kind), place

    def sign_place(self, token: Int[Array, "*batch"], count: Int[Array, "*batch"]) -> Array:
        """`=` just below the mark that is written next, `+` and the end above the last digit."""
        return jnp.where(token == self.characters.index("="), -1, count)


def _carry(problem: Problem, place: int) -> int:
    """What the places below carry into this one."""
    return int(sum(value % 10**place for value in problem.operands) >= 10**place)
