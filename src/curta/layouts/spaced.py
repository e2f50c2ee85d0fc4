"""`1234 + 5678 =6912$`: sums with spaces, and the same with spaces where none were seen.

Both have the same characters, so a model trained on the one can be evaluated on the other.
An answer may be written with any spaces: they are left out before it is read.
Source: a Hugging Face stack for sums of four digits.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.layouts.automaton import Entry, State
from curta.layouts.base import END, Piece, Role, ShapeBounds, flipped, number
from curta.layouts.direct import DirectLayout
from curta.layouts.forms import AnswerPattern, number_pattern
from curta.problems.arithmetic.digits import Numbers
from curta.problems.decimals import to_text
from curta.problems.problem import Problem
from curta.programs.machine.tokens import HOME

SPACE = 6


class Spaced(DirectLayout):
    name = "spaced"
    summary = "digits in the usual order, spaces around the operator; index in each number"
    characters = "0123456789 +=" + END
    roles = (*DirectLayout.roles[:SPACE], Role("space"))
    operators = ("+",)
    most = 2
    axes = ("index",)
    begin = (0, False, False)
    reverse = reverse_operands = False
    within = ""
    """What stands after the first digit of each operand."""
    signs = (" + ", " =")

    def prompt(self, problem: Problem) -> str:
        first, second = (self._apart(to_text(value)) for value in problem.operands)
        return f"{first}{self.signs[0]}{second}{self.signs[1]}"

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        number = number_pattern(digits)
        if self.within:
            number = f"(?:0{self.within}|[1-9]{self.within}[0-9]{{0,{digits - 1}}})"
        return "".join(number + re.escape(signs) for signs in self.signs)

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """As its source: without spaces it is the sum to the letter, without a zero before it."""
        return AnswerPattern("()(0|[1-9][0-9]*)", turned=False, drop=" ")

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        signs = len("".join(self.signs)) + 2 * len(self.within)
        return replace(super().bounds(operator, digits), prompt=sum(digits) + signs)

    def rule(self, state: State, character: str) -> Entry:
        """The third thing to know is whether one digit stands: a space may then follow it.

        >>> apart = SpacedApart()
        >>> tokens, lengths = jnp.asarray(apart.encode("1 23 +")[None]), jnp.array([6])
        >>> apart.follow(tokens, lengths)[1].coordinates[..., 0].tolist()
        [[0, -1, 1, 2, -1, -1]]
        """
        part, going, single = state
        if character == " ":
            return Entry(state, SPACE, HOME - 1)
        entry, digit = super().rule((part, going), character), character.isdecimal()
        move = HOME + 1 if single and digit else entry.move
        return entry._replace(state=(*entry.state, digit and not going), move=move)

    def _apart(self, text: str) -> str:
        return text[0] + self.within + text[1:]

    def _prompt(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> list[Piece]:
        pieces = []
        for place, signs in enumerate(self.signs):
            pieces += self._operand(operands.digits[:, place], operands.lengths[:, place])
            pieces += [self._sign(character, len(operands.digits)) for character in signs]
        return pieces

    def _operand(
        self, digits: Int[Array, "batch width"], lengths: Int[Array, " batch"]
    ) -> list[Piece]:
        """Its first digit, what stands after that, and the others."""
        first = jnp.arange(digits.shape[1])[None] == lengths[:, None] - 1
        gap = [self._sign(character, len(digits)) for character in self.within]
        return [flipped(Piece(digits, first)), *gap, flipped(number(digits, lengths - 1))]


class SpacedApart(Spaced):
    name = "spaced-apart"
    summary = "as spaced, but a space after each operand's first digit and none before ="
    within = " "
    signs = (" + ", "=")
