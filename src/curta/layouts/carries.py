"""`759+860=.5'2'0'1$`: before each digit of the sum a mark of what is carried to its place.

As `padded` otherwise. A dot where nothing is carried, `'` where 1 is. Program `carried` writes the
same, in tokens that tell the parts of a text apart; these characters do not.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp

from curta.layouts.base import END, Role, ShapeBounds, Text, join, number
from curta.layouts.direct import DirectLayout, MarkedLayout, interleaved
from curta.layouts.forms import AnswerPattern
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import Numbers
from curta.problems.problem import Problem

NONE, ONE = ".'"


class Carries(MarkedLayout):
    name = "carries"
    summary = "reversed, zero-padded, the carry before each digit of the sum; index as coordinate"
    characters = "0123456789+=" + END + NONE + ONE
    roles = (*DirectLayout.roles, Role("carry"))
    axes = ("index",)
    marks = NONE + ONE
    padded = True

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """The digits count, whatever marks there are."""
        return AnswerPattern(turned=self.reverse, drop=self.marks)

    def completion(self, problem: Problem) -> str:
        digits = super().completion(problem)
        below = [10**place for place in range(len(digits))]
        carried = (sum(value % unit for value in problem.operands) >= unit for unit in below)
        return "".join((ONE if c else NONE) + d for c, d in zip(carried, digits, strict=True))

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, completion=2 * bounds.completion - 1)

    def tokens(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> Text:
        """A carry is what a digit of the sum has beyond those of its place, modulo ten.

        `given` has the sum of the operands' digits of each place: in 57 + 98 = 155, from the
        lowest place on, 5, 5, 1 less 15, 14, 0 is 0, 1, 1.
        """
        widest = jnp.max(operands.lengths, axis=1, keepdims=True)
        answer = self._fit(ARITHMETIC[operator].answer(operands).numbers, widest + 1)
        digits, lengths = answer.digits[:, 0], answer.lengths[:, 0]
        wider = digits.shape[1] - operands.digits.shape[2]
        given = jnp.sum(jnp.pad(operands.digits, ((0, 0), (0, 0), (0, wider))), axis=1)
        marks = jnp.where((digits - given) % 10 == 0, self.code(NONE), self.code(ONE))
        work = interleaved(number(marks, lengths), number(digits, lengths))
        prompt, stop = self._prompt(operator, operands, bounds), self._sign(END, len(digits))
        return join(prompt, [work, stop], bounds.total, self.code(END))
