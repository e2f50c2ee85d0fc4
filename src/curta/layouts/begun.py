"""`#123+45=168$` and `####3+45=48$`: the usual order of digits after a begin sign.

Written by the one, a sum is followed by padding on its right, as in all layouts. The other
fills the prompt up on its left, so that every `=` stands at the same index; that takes
operands of at most three digits. Source: a calculator built one component at a time (there
`#` ends a text and pads it on the right as well; the end sign plays that part here).
"""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp

from curta.layouts.automaton import Entry, State
from curta.layouts.base import END, Piece, Role, ShapeBounds
from curta.layouts.direct import DirectLayout
from curta.layouts.forms import PromptFormat
from curta.problems.arithmetic.digits import Numbers
from curta.problems.problem import Problem
from curta.programs.machine.tokens import HOME

BEGIN = "#"
BEGINNING = 7
WIDTH = 3
PROMPT = 2 * WIDTH + 3


class Begun(DirectLayout):
    name = "begun"
    summary = "a begin sign, then digits in the usual order; index within each number"
    characters = "0123456789+-*/=" + BEGIN + END
    roles = (*DirectLayout.roles[:BEGINNING], Role("begin"))
    axes = ("index",)
    operators = ("+", "-", "*", "//")
    most = 2
    reverse = reverse_operands = False

    def prompt_format(self, operator: str) -> PromptFormat:
        return super().prompt_format(operator)._replace(before=BEGIN)

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, prompt=1 + bounds.prompt)

    def rule(self, state: State, character: str) -> Entry:
        if character == BEGIN:
            return Entry(state, BEGINNING, HOME - 1)
        return super().rule(state, character)


class BegunLeft(Begun):
    name = "begun-left"
    summary = "as begun, but the prompt filled up with begin signs on its left to one width"
    longest = WIDTH

    def prompt(self, problem: Problem) -> str:
        return super().prompt(problem).rjust(PROMPT, BEGIN)

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        return replace(super().bounds(operator, digits), prompt=PROMPT)

    def _prompt(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> list[Piece]:
        free = bounds.prompt - 2 - jnp.sum(operands.lengths, axis=1, keepdims=True)
        valid = jnp.arange(bounds.prompt)[None] < free
        _, *rest = super()._prompt(operator, operands, bounds)
        return [Piece(jnp.full(valid.shape, self.code(BEGIN)), valid), *rest]
