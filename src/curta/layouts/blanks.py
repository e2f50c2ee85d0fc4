"""`957+ 68=5201$`: numbers in columns, blanks in place of the digits that they lack.

Operands stand in the usual order, right-aligned to the longer one; the answer is one
place wider and least significant digit first, with blanks after it. So the distance from
an answer's digit to those that it is the sum of depends on the width and the place alone.
The width is that of the problem, not one for all: a fixed one would be the longest sum
that could ever be written, and no model could be evaluated beyond its training.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.layouts.automaton import Entry, State
from curta.layouts.base import END, Role
from curta.layouts.direct import DirectLayout, SumLayout
from curta.layouts.forms import AnswerPattern
from curta.problems.digits import Numbers, places

BLANK = len(DirectLayout.roles)


class Blanks(SumLayout):
    name = "blanks"
    summary = "aligned with blanks, answer reversed; index within each column of digits"
    axes = ("index",)
    characters = "0123456789+=" + END + " "
    roles = (*DirectLayout.roles, Role("blank"))
    reverse_operands = False
    padded = True
    fill = " "

    def answer_pattern(self, operator: str) -> AnswerPattern:
        reading = super().answer_pattern(operator)
        return reading._replace(pattern=f"{reading.pattern}{self.fill}*")

    def rule(self, state: State, character: str) -> Entry:
        """A blank stands where the digit would."""
        if character == self.fill:
            return super().rule(state, "0")._replace(role=BLANK)
        return super().rule(state, character)

    def _fit(self, numbers: Numbers, widest: Int[Array, "batch 1"]) -> Numbers:
        """The numbers, with the token of a blank for every digit that they lack.

        >>> numbers = Numbers(jnp.array([[[8, 6, 0]]]), jnp.array([[2]]))  # 68
        >>> Blanks()._fit(numbers, jnp.array([[3]])).digits.tolist()
        [[[8, 6, 13]]]
        """
        beyond = places(numbers.digits) >= numbers.lengths[..., None]
        digits = jnp.where(beyond, self.code(self.fill), numbers.digits)
        return super()._fit(numbers._replace(digits=digits), widest)
