"""`#123+45=168$` and `####3+45=48$`: the usual order of digits after a begin sign.

Written by the one, a sum is followed by padding on its right, as in all layouts. The other
fills the prompt up on its left, so that every `=` stands at the same index; that takes
operands of at most three digits. Source: a calculator built one component at a time (there
`#` ends a text and pads it on the right as well; the end sign plays that part here).
"""

from collections.abc import Sequence

import jax.numpy as jnp

from curta.layouts.automaton import Entry, State
from curta.layouts.base import END, Kind, Piece, Room
from curta.layouts.direct import DirectLayout
from curta.layouts.forms import Form
from curta.problems.arithmetic.digits import Numbers
from curta.problems.decimals import to_text
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
    kinds = (*DirectLayout.kinds[:BEGINNING], Kind("begin"))
    axes = ("index",)
    operators = ("+", "-", "*", "//")
    most = 2
    reverse = reverse_operands = False

    def form(self, operator: str) -> Form:
        return super().form(operator)._replace(before=BEGIN)

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        room = super().room(operator, digits)
        return Room(1 + room.prompt, room.completion, room.extents)

    def opening(self, operands: Numbers, room: Room) -> list[Piece]:
        return [self._sign(BEGIN, len(operands.digits))]

    def rule(self, state: State, character: str) -> Entry:
        if character == BEGIN:
            return Entry(state, BEGINNING, HOME - 1)
        return super().rule(state, character)


class BegunLeft(Begun):
    name = "begun-left"
    summary = "as begun, but the prompt filled up with begin signs on its left to one width"
    longest = WIDTH

    def prompt(self, problem: Problem) -> str:
        self.fit([len(to_text(value)) for value in problem.operands])
        return super().prompt(problem).rjust(PROMPT, BEGIN)

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        self.fit(digits)
        room = super().room(operator, digits)
        return Room(PROMPT, room.completion, room.extents)

    def opening(self, operands: Numbers, room: Room) -> list[Piece]:
        free = room.prompt - 2 - jnp.sum(operands.lengths, axis=1, keepdims=True)
        valid = jnp.arange(room.prompt) < free
        return [Piece(jnp.full(valid.shape, self.characters.index(BEGIN)), valid)]
