"""`1234 + 5678 =2196=6912$`: `spaced`, with the sum worked out before it is written.

The answer's first digit depends on every carry. So the sum is written least significant
digit first, where each digit depends on one carry, and then copied in the usual order. A
space has no place among the digits, so texts differ in their spaces only for tokens that
a window need not see. Places are counted from each operand's first digit: they are those
of equal significance where both operands are equally long, as in the source's problems.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from ..digits import Numbers
from ..operations import OPERATIONS, Answer
from ..problems import Problem
from .base import END, Kind, Room, Text, flipped, join, number
from .spaced import Spaced
from .traced import ladder

FIRST, OPERATOR, SECOND, EQUALS, ANSWER, FINISH, SPACE, WORKING, RESULT = range(9)


class SpacedWorked(Spaced):
    name = "spaced-worked"
    summary = "as spaced, with the sum written backwards before the answer; place as coordinate"
    kinds = (*Spaced.kinds, Kind("working", digit=True), Kind("result"))
    axes = ("place",)
    states = 4  # part, digits of it so far, place of its first digit, spaces so far

    def working(self, problem: Problem) -> str:
        answer = super().working(problem)
        return f"{answer[::-1]}={answer}"

    def read(self, operator: str, completion: str) -> Answer | None:
        _, equals, answer = completion.partition("=")
        return super().read(operator, answer) if equals else None

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        prompt = super().room(operator, digits).prompt
        (answer,) = OPERATIONS[operator].widths(digits)
        spaces = prompt - sum(digits)
        return Room(prompt, 2 * answer + 2, ((-answer, max(answer, spaces)),))

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch, answer = len(operands.digits), OPERATIONS[operator].answer(operands).numbers
        total = number(answer.digits[:, 0], answer.lengths[:, 0])
        work = [total, self._sign("=", batch), flipped(total), self._sign(END, batch)]
        return join(self._prompt(operands), work, room.total, self.characters.index(END))

    def step(
        self, state: Int[Array, "*batch 4"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 4"], Int[Array, "*batch"], Int[Array, "*batch 1"]]:
        part, count, base, spaces = (state[..., column] for column in range(4))
        digit, space = token < 10, token == self.characters.index(" ")
        stop, equals = token == self.characters.index(END), token == self.characters.index("=")
        backwards = part == 2
        place = jnp.where(backwards, base - count, base + count)
        kinds = jnp.array([FIRST, SECOND, WORKING, ANSWER])[part]
        rungs = ((digit, kinds), (space, SPACE), (stop, FINISH))
        kind = ladder(token, *rungs, (~equals, OPERATOR), (backwards, RESULT), (True, EQUALS))
        sign = ~(digit | space | stop)
        after = ladder(token, (~sign, part), (equals, jnp.minimum(part + 1, 3)), (True, 1))
        first = ladder(
            token, (~sign, base), (~equals, 0), (backwards, place + 1), (True, place - 1)
        )
        counted = ladder(token, (sign, 0), (digit, count + 1), (True, count))
        state = jnp.stack([after, counted, first, jnp.where(space, spaces + 1, spaces)], -1)
        return state, kind, jnp.where(space, spaces, place)[..., None]


class SpacedWorkedApart(SpacedWorked):
    name = "spaced-worked-apart"
    summary = "as spaced-worked, with the spaces of spaced-apart"
    within = " "
    signs = (" + ", "=")
