"""`=54+321______...` with `861$` written over it: the text of an encoder, all digits at once.

The input is reversed and padded to twice the digits of its longest operand plus three, so that each
digit of the answer, least significant first, has a place in the input to be written over. For the
width, digits are rounded up to 20, 30, 40, and so on. Source: an encoder for sums and products
(there 42 places for all texts, which leaves no padding between the longest operands and the
answer).
"""

import re
from collections.abc import Sequence

import jax.numpy as jnp

from curta.layouts.base import (
    END,
    Piece,
    PromptFormat,
    ShapeBounds,
    State,
    TokenRole,
    Transition,
    number,
    number_pattern,
)
from curta.layouts.direct import ANSWER, EQUALS, FINISH, FIRST, OPERATOR, SECOND, DirectLayout
from curta.problems.digits import NumberBatch
from curta.problems.numerals import to_text
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

FILL = "_"
LEAST, STEP = 20, 10
FILLING = 6


class Framed(DirectLayout):
    name = "framed"
    summary = "the input reversed and filled up to a fixed length, the answer's digits over it"
    characters = "0123456789+*=" + FILL + END
    roles = (*DirectLayout.roles[:FILLING], TokenRole("filling"))
    operators = ("+", "*")
    most = 2

    def prompt_format(self, operator: str) -> PromptFormat:
        return super().prompt_format(operator)._replace(before="=", after=FILL)

    def prompt(self, problem: Problem) -> str:
        first, second = (to_text(value)[::-1] for value in problem.operands)
        width = frame(max(len(first), len(second)))
        return f"={second}{problem.operation.mark}{first}".ljust(width, FILL)

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        patterns, least, mark = [], 0, re.escape(OPERATIONS[operator].mark)
        for longest in range(LEAST, digits + STEP, STEP):  # one pattern for each width
            number = number_pattern(min(longest, digits), turned=True)
            size = f"(?=[\\s\\S]{{{frame(longest)}}}(?![\\s\\S]))"
            shorter = f"(?!={number_pattern(least, True)}{mark}{number_pattern(least, True)}_)"
            patterns.append(f"{size}{shorter if least else ''}={number}{mark}{number}{FILL}*")
            least = longest
        return "|".join(patterns)

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        answer = OPERATIONS[operator].widths(digits)
        width = frame(max(digits))
        return ShapeBounds(width, sum(answer) + 1, ((-1, max(*digits, *answer)),))

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        batch = len(operands.digits)
        first, second = (
            number(operands.digits[:, place], operands.lengths[:, place]) for place in (0, 1)
        )
        equals, mark = self._sign("=", batch), self._sign(OPERATIONS[operator].mark, batch)
        used = jnp.sum(operands.lengths, axis=1) + 2
        longest = jnp.max(operands.lengths, axis=1)
        width = 2 * jnp.maximum(-(-longest // STEP) * STEP, LEAST) + 3
        free = jnp.arange(bounds.prompt)[None] < (width - used)[:, None]
        filling = Piece(jnp.full(free.shape, self.code(FILL)), free)
        return [equals, second, mark, first, filling]

    def rule(self, state: State, character: str) -> Transition:
        """As `DirectLayout.rule`, with part 0 for the second operand, 1 for the first."""
        part, in_number = state
        if character.isdecimal():
            return Transition(
                (part, True), (SECOND, FIRST, ANSWER)[part], +1 if in_number else HOME
            )
        roles = {"=": EQUALS, FILL: FILLING, END: FINISH}
        after = {"+": 1, "*": 1, FILL: 2}.get(character, part)
        return Transition((after, False), roles.get(character, OPERATOR), HOME - 1)


def frame(digits: int) -> int:
    """Return the characters of an input whose longest operand has so many digits.

    >>> frame(5), frame(21)
    (43, 63)
    """
    return 2 * max(-(-digits // STEP) * STEP, LEAST) + 3
