"""`032100000000` `054000000000` `0` and `86100000000`: sums of ten digits, in digits alone.

The spaces are for reading; a text has none. Every number is least significant digit first, with a
zero before it at place -1, so that digits of one place form a column. Operands are padded to ten
digits and have a zero after them. A last zero, at place -1, stands for `=`. The answer always has
eleven digits, by which a text ends.
Source: the texts of trained entries of the AdderBoard (github.com/anadim/AdderBoard), which write
`0` for `+` and `=` too.
"""

from collections.abc import Sequence

import jax.numpy as jnp

from curta.layouts.base import AnswerPattern, ShapeBounds, State, Text, Transition
from curta.layouts.direct import ANSWER, EQUALS, FIRST, SECOND, SumLayout
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import NumberBatch
from curta.problems.numerals import to_text
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

DIGITS = 10
OPERAND = DIGITS + 2
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
        numbers = (to_text(value)[::-1].ljust(OPERAND - 1, "0") for value in problem.operands)
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
        return ShapeBounds(2 * OPERAND + 1, DIGITS + 1, ((-1, DIGITS),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        batch, _, width = operands.digits.shape
        answer = ARITHMETIC[operator].answer(operands).numbers.digits[:, 0, : DIGITS + 1]
        prompt = jnp.pad(operands.digits, ((0, 0), (0, 0), (1, OPERAND - 1 - width)))
        zero = jnp.zeros((batch, 1), prompt.dtype)
        answer = jnp.pad(answer, ((0, 0), (0, DIGITS + 1 - answer.shape[1])))
        text = jnp.concatenate([prompt.reshape(batch, -1), zero, answer], axis=1)
        lengths = jnp.full(batch, bounds.total)
        return Text(text, jnp.full(batch, bounds.prompt), lengths)

    def rule(self, state: State, character: str) -> Transition:
        """The state is the number of digits so far; the last number has no end."""
        number, place = divmod(state, OPERAND)
        role = ANSWER if number > 1 and place else (FIRST, SECOND, EQUALS)[number]
        after = min(state + 1, 2 * OPERAND + 1)
        return Transition(after, role, +1 if place else HOME - 1)
