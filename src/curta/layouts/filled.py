"""`957+68=1025##` and `##957+68=1025`: the usual order of digits, filled up with `#`.

`#` ends a text and pads it to thirteen characters, which sums of three digits need. `filled` pads
on the right alone. `filled-left` pads the prompt on its left, so that every `=` stands at the same
index. Source: a calculator built one component at a time.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp

from curta.layouts.automaton import Entry, State
from curta.layouts.base import Piece, Role, ShapeBounds
from curta.layouts.direct import DirectLayout
from curta.problems.arithmetic.digits import Numbers
from curta.problems.problem import Problem
from curta.programs.machine.tokens import HOME

FILL = "#"
PADDING = 7
WIDTH = 3
PROMPT, LENGTH = 2 * WIDTH + 2, 13


class Filled(DirectLayout):
    name = "filled"
    summary = "digits in the usual order, filled up with # to 13 characters; index in each number"
    characters = "0123456789+-*/=" + FILL
    end_sign = FILL
    axes = ("index",)
    operators = ("+", "-", "*", "//")
    most = 2
    linear = False
    """Bounds are those of the numbers: rounded up, there would be more padding to score."""
    reverse = reverse_operands = False

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, completion=max(bounds.completion, LENGTH - bounds.prompt))


class FilledLeft(Filled):
    name = "filled-left"
    summary = "as filled, but the prompt padded on its left to one width"
    roles = (*DirectLayout.roles[:PADDING], Role("padding"))
    longest = WIDTH

    def prompt(self, problem: Problem) -> str:
        return super().prompt(problem).rjust(PROMPT, FILL)

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        """With any padding: a tokenizer takes it for end signs, and looks at the others alone."""
        return f"{FILL}*{super().prompt_pattern(operator, digits, operands)}"

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        return super().bounds(operator, (WIDTH, WIDTH))

    def _prompt(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> list[Piece]:
        free = bounds.prompt - 2 - jnp.sum(operands.lengths, axis=1, keepdims=True)
        valid = jnp.arange(bounds.prompt)[None] < free
        padding = Piece(jnp.full(valid.shape, self.code(FILL)), valid)
        return [padding, *super()._prompt(operator, operands, bounds)]

    def rule(self, state: State, character: str) -> Entry:
        if character == FILL and state == self.begin:
            return Entry(state, PADDING, HOME - 1)
        return super().rule(state, character)
