"""Sums and other problems with characters between and around numbers: blanks, filling, spaces."""

import re
from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.layouts.automaton import State, Transition
from curta.layouts.base import (
    END,
    AnswerPattern,
    Piece,
    Role,
    ShapeBounds,
    flipped,
    number,
    number_pattern,
)
from curta.layouts.direct import DirectLayout, SumLayout
from curta.problems.digits import Numbers, places
from curta.problems.numerals import to_text
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

BLANK = len(DirectLayout.roles)


class Blanks(SumLayout):
    """`957+ 68=5201$`: numbers in columns, blanks in place of the digits that they lack.

    Operands stand in the usual order, right-aligned to the longer one; the answer is one
    place wider and least significant digit first, with blanks after it. So the distance from
    an answer's digit to those that it is the sum of depends on the width and the place alone.
    The width is that of the problem, not one for all: a fixed one would be the longest sum
    that could ever be written, and no model could be evaluated beyond its training.
    """

    name = "blanks"
    summary = "aligned with blanks, answer reversed; index within each column of digits"
    characters = "0123456789+=" + END + " "
    roles = (*DirectLayout.roles, Role("blank"))
    reverse_operands = False
    padded = True
    fill = " "

    def answer_pattern(self, operator: str) -> AnswerPattern:
        reading = super().answer_pattern(operator)
        return reading._replace(pattern=f"{reading.pattern}{self.fill}*")

    def rule(self, state: State, character: str) -> Transition:
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


FILL = "#"
PADDING = 7
WIDTH = 3
PROMPT, LENGTH = 2 * WIDTH + 2, 13


class Filled(DirectLayout):
    """`957+68=1025##` and `##957+68=1025`: the usual order of digits, filled up with `#`.

    `#` ends a text and pads it to thirteen characters, which sums of three digits need. `filled`
    pads on the right alone. `filled-left` pads the prompt on its left, so that every `=` stands at
    the same index. Source: a calculator built one component at a time.
    """

    name = "filled"
    summary = "digits in the usual order, filled up with # to 13 characters; index in each number"
    characters = "0123456789+-*/=" + FILL
    end_sign = FILL
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

    def rule(self, state: State, character: str) -> Transition:
        if character == FILL and state == self.begin:
            return Transition(state, PADDING, HOME - 1)
        return super().rule(state, character)


SPACE = 6


class Spaced(DirectLayout):
    """`1234 + 5678 =6912$`: sums with spaces, and the same with spaces where none were seen.

    Both have the same characters, so a model trained on the one can be evaluated on the other.
    An answer may be written with any spaces: they are left out before it is read.
    Source: a Hugging Face stack for sums of four digits.
    """

    name = "spaced"
    summary = "digits in the usual order, spaces around the operator; index in each number"
    characters = "0123456789 +=" + END
    roles = (*DirectLayout.roles[:SPACE], Role("space"))
    operators = ("+",)
    most = 2
    begin = (0, False, False)
    reverse = reverse_operands = False
    within = ""
    """What stands after the first digit of each operand."""
    signs = (" + ", " =")

    def prompt(self, problem: Problem) -> str:
        texts = [to_text(value) for value in problem.operands]
        first, second = (text[0] + self.within + text[1:] for text in texts)
        return f"{first}{self.signs[0]}{second}{self.signs[1]}"

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        operand = number_pattern(digits)
        if self.within:
            operand = f"(?:0{self.within}|[1-9]{self.within}[0-9]{{0,{digits - 1}}})"
        return "".join(operand + re.escape(signs) for signs in self.signs)

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """As its source: without spaces it is the sum to the letter, without a zero before it."""
        return AnswerPattern("()(0|[1-9][0-9]*)", turned=False, drop=" ")

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        signs = len("".join(self.signs)) + 2 * len(self.within)
        return replace(super().bounds(operator, digits), prompt=sum(digits) + signs)

    def rule(self, state: State, character: str) -> Transition:
        """The third thing to know is whether one digit stands: a space may then follow it.

        >>> apart = SpacedApart()
        >>> tokens, lengths = jnp.asarray(apart.encode("1 23 +")[None]), jnp.array([6])
        >>> apart.follow(tokens, lengths)[1].coordinates[..., 0].tolist()
        [[0, -1, 1, 2, -1, -1]]
        """
        part, in_number, single = state
        if character == " ":
            return Transition(state, SPACE, HOME - 1)
        entry, digit = super().rule((part, in_number), character), character.isdecimal()
        move = HOME + 1 if single and digit else entry.move
        return entry._replace(state=(*entry.state, digit and not in_number), move=move)

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
