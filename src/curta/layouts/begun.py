"""`#123+45=168$`: the usual order of digits after a begin sign."""

from collections.abc import Sequence
from dataclasses import replace

from curta.layouts.automaton import Entry, State
from curta.layouts.base import END, Role, ShapeBounds
from curta.layouts.direct import DirectLayout
from curta.layouts.forms import PromptFormat
from curta.programs.machine.tokens import HOME

BEGIN = "#"
BEGINNING = 7


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
