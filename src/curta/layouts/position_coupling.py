"""`653+049=2070$`: the text and the coordinates of Position Coupling.

Operands are zero-padded to the longer one's n digits and stand in the usual order, the
answer has n + 1 digits, least significant first. The coordinate is the source's position
id less 1, at start 1: operand digits have ids 2 to n + 1, `+` and `=` share id n + 2, and
the answer counts down from n + 1, so that its carry has id 1. The end sign has id 0, as
padding has.
Source: Cho et al., arXiv 2405.20671, the first form of their code (commit 01dd272); later
ones run the other way. Theirs begin with the end sign too; here no sign stands first. Their
first digits are uniform over 1 to 9, here 1 is twice as likely as each other.
"""

from collections.abc import Sequence
from dataclasses import replace

from curta.layouts.automaton import Entry, State
from curta.layouts.base import ShapeBounds
from curta.layouts.direct import ANSWER, FINISH, FIRST, SECOND, SumLayout
from curta.programs.machine.tokens import HOME

NOWHERE = -1
"""Coordinate of id 0."""


class PositionCoupling(SumLayout):
    name = "position-coupling"
    summary = "zero-padded, only the answer reversed; the position of Position Coupling"
    axes = ("position",)
    reverse_operands = False
    padded = True

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        extents = ((NOWHERE, max(digits) + 1),)
        return replace(super().bounds(operator, digits), extents=extents)

    def rule(self, state: State, character: str) -> Entry:
        """Up from 1 in an operand; `+` and `=` one above it; down from there in the answer."""
        entry = super().rule(state, character)
        if entry.role == FINISH:
            return entry
        if entry.role == ANSWER:
            return entry._replace(move=-1)
        first = entry.role in (FIRST, SECOND) and not state[1]
        return entry._replace(move=HOME + 1 if first else +1)
