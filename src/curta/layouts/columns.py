"""`032100000000` `054000000000` `0` and `86100000000`: sums of ten digits, in digits alone.

Here in parts; a text has no spaces. Every number is least significant first and has a zero
before it, at place -1, so that digits of one place are a column. The operands are filled up to
ten digits and have a zero after them. A last zero, at place -1, stands for `=`. The answer always
has eleven digits, and ends by that.
Source: the texts of trained entries of the AdderBoard (github.com/anadim/AdderBoard), which have
`0` for their signs too.
"""

from collections.abc import Sequence

import jax.numpy as jnp

from curta.layouts.automaton import State, Transition
from curta.layouts.base import AnswerPattern, ShapeBounds, Text
from curta.layouts.direct import ANSWER, EQUALS, FIRST, SECOND, SumLayout
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import Numbers
from curta.problems.numerals import to_text
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

DIGITS = 10
WRITTEN = DIGITS + 2
"""Digits of an operand with the zeros before and after it."""


class ColumnsLayout(SumLayout):
    name = "columns"
    summary = "two numbers of ten digits and their sum, in digits alone; the place as coordinate"
    axes = ("place",)
    characters = "0123456789"
    roles = SumLayout.roles[: ANSWER + 1]
    longest = DIGITS
    linear = False
    end_sign = ""
    begin: State = 0

    def prompt(self, problem: Problem) -> str:
        numbers = (to_text(value)[::-1].ljust(WRITTEN - 1, "0") for value in problem.operands)
        return "".join(f"0{number}" for number in numbers) + "0"

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        return f"(?:0[0-9]{{{DIGITS}}}0){{2}}0"

    def completion(self, problem: Problem) -> str:
        assert isinstance(problem.truth, int)
        return to_text(problem.truth)[::-1].ljust(DIGITS + 1, "0")

    def read(self, operator: str, completion: str) -> int | None:
        numbers = AnswerPattern(f"()([0-9]{{{DIGITS + 1}}})").read(completion)
        return None if numbers is None else numbers[0]

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        return ShapeBounds(2 * WRITTEN + 1, DIGITS + 1, ((-1, DIGITS),))

    def tokens(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> Text:
        batch, _, width = operands.digits.shape
        answer = ARITHMETIC[operator].answer(operands).numbers.digits[:, 0, : DIGITS + 1]
        given = jnp.pad(operands.digits, ((0, 0), (0, 0), (1, WRITTEN - 1 - width)))
        zero = jnp.zeros((batch, 1), given.dtype)
        filled = jnp.pad(answer, ((0, 0), (0, DIGITS + 1 - answer.shape[1])))
        text = jnp.concatenate([given.reshape(batch, -1), zero, filled], axis=1)
        lengths = jnp.full(batch, bounds.total)
        return Text(text, jnp.full(batch, bounds.prompt), lengths)

    def rule(self, state: State, character: str) -> Transition:
        """States are how many digits are written; the last number goes on and on."""
        number, place = divmod(state, WRITTEN)
        role = ANSWER if number > 1 and place else (FIRST, SECOND, EQUALS)[number]
        after = min(state + 1, 2 * WRITTEN + 1)
        return Transition(after, role, +1 if place else HOME - 1)
