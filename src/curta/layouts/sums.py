"""What the layouts of one sum, `123+45=168$`, have in common.

The layouts differ in the order of digits, in padding, and in what their
coordinates say of signs; each has its file.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..problems import Problem, to_int, to_text
from .base import END, Kind, Layout, Numbers, Piece, Room, Text, flipped, join, number, sign

PLUS, EQUALS, STOP = 10, 11, 12
FIRST, OPERATOR, SECOND, SEPARATOR, ANSWER, FINISH = range(6)


class SumLayout(Layout):
    """Operand, plus, operand, equals, answer, end. A token below ten is that digit."""

    characters = "0123456789+=" + END
    kinds = (
        Kind("first", digit=True),
        Kind("operator"),
        Kind("second", digit=True),
        Kind("equals"),
        Kind("answer", digit=True),
        Kind("end"),
    )
    operators = "+"
    states = 2  # which number is being written, and how many digits of it stand already
    reverse = True
    padded = False

    def write(self, problem: Problem) -> str:
        width = max(len(to_text(value)) for value in problem.operands) + 1
        answer = to_text(problem.truth)
        return self.prompt(problem) + self._order(self._pad(answer, width)) + END

    def prompt(self, problem: Problem) -> str:
        texts = [to_text(value) for value in problem.operands]
        width = max(map(len, texts))
        return "+".join(self._order(self._pad(text, width)) for text in texts) + "="

    def read(self, completion: str) -> int | None:
        answer, end, _ = completion.partition(END)
        if not end or not answer.isdecimal():
            return None
        return to_int(self._order(answer))

    def room(self, digits: Sequence[int]) -> Room:
        widest = max(digits)
        operands = 2 * widest if self.padded else sum(digits)
        return Room(operands + 2, widest + 2, ((-1, widest + 1),))

    def tokens(self, numbers: Numbers) -> Text:
        batch, _, width = numbers.digits.shape
        first, second = numbers.digits[:, 0], numbers.digits[:, 1]
        total = digits.add(first, second)
        lengths, answer = self._lengths(numbers, total)
        room = self.room((width, width))
        plus, equals, stop = (sign(token, batch) for token in (PLUS, EQUALS, STOP))
        operands = self._number(first, lengths[:, 0]), self._number(second, lengths[:, 1])
        prompt = [operands[0], plus, operands[1], equals]
        return join(prompt, [self._number(total, answer), stop], room.total, STOP)

    def step(
        self, state: Int[Array, "*batch 2"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 2"], Int[Array, "*batch"], Int[Array, "*batch 1"]]:
        part, count = state[..., 0], state[..., 1]
        is_digit = token < 10
        signs = OPERATOR + 2 * (token - PLUS)  # the kinds of + = $ are every second one
        kind = jnp.where(is_digit, 2 * part, signs)
        place = jnp.where(is_digit, count, self.sign_place(token, count))
        part = jnp.where(is_digit, part, jnp.minimum(token - PLUS + 1, 2))
        count = jnp.where(is_digit, count + 1, jnp.where(token == STOP, count, 0))
        return jnp.stack([part, count], -1), kind, place[..., None]

    def sign_place(self, token: Int[Array, "*batch"], count: Int[Array, "*batch"]) -> Array:
        """Coordinate of a token that is no digit: nowhere, before any digit's."""
        return jnp.full_like(count, -1)

    def _order(self, text: str) -> str:
        return text[::-1] if self.reverse else text

    def _pad(self, text: str, width: int) -> str:
        return text.rjust(width, "0") if self.padded else text

    def _number(self, values: Array, lengths: Array) -> Piece:
        piece = number(values, lengths)
        return piece if self.reverse else flipped(piece)

    def _lengths(self, numbers: Numbers, total: Array) -> tuple[Array, Array]:
        """Digit counts of the operands and of the answer, as they are written."""
        if not self.padded:
            return numbers.lengths, digits.length(total)
        widest = jnp.max(numbers.lengths, axis=1)
        return jnp.stack([widest, widest], axis=1), widest + 1
