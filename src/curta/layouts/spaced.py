"""Problems with blanks, padding or spaces between and around numbers."""

import re
from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.layouts.base import (
    END,
    AnswerPattern,
    Piece,
    ShapeBounds,
    State,
    TokenRole,
    Transition,
    flipped,
    number,
    number_pattern,
)
from curta.layouts.direct import DirectLayout, SumLayout
from curta.problems.digits import NumberBatch, places
from curta.problems.numerals import to_text
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

BLANK = len(DirectLayout.roles)


class Blanks(SumLayout):
    """`957+ 68=5201$`: numbers aligned in columns, with blanks for missing digits.

    Operands are in the usual order, right-aligned to the longer one; the answer is one place wider,
    least significant digit first, with blanks after it. So the distance from a digit of the answer
    to the digits that it is the sum of depends on the width and the place alone. The width is that
    of the problem: a width for all problems would limit evaluations to the sizes of training.
    """

    name = "blanks"
    summary = "aligned with blanks, answer reversed; index within each column of digits"
    characters = "0123456789+=" + END + " "
    roles = (*DirectLayout.roles, TokenRole("blank"))
    reverse_operands = False
    padded = True
    fill = " "

    def answer_pattern(self, operator: str) -> AnswerPattern:
        pattern = super().answer_pattern(operator)
        return pattern._replace(pattern=f"{pattern.pattern}{self.fill}*")

    def rule(self, state: State, character: str) -> Transition:
        """As `DirectLayout.rule`; a blank stands where the digit would."""
        if character == self.fill:
            return super().rule(state, "0")._replace(role=BLANK)
        return super().rule(state, character)

    def _fit(self, numbers: NumberBatch, widest: Int[Array, "batch 1"]) -> NumberBatch:
        """Return the numbers with a blank for every missing digit.

        >>> numbers = NumberBatch(jnp.array([[[8, 6, 0]]]), jnp.array([[2]]))  # 68
        >>> Blanks()._fit(numbers, jnp.array([[3]])).digits.tolist()
        [[[8, 6, 13]]]
        """
        is_missing = places(numbers.digits) >= numbers.lengths[..., None]
        digits = jnp.where(is_missing, self.code(self.fill), numbers.digits)
        return super()._fit(numbers._replace(digits=digits), widest)


FILL = "#"
PADDING = 7
WIDTH = 3
PROMPT, LENGTH = 2 * WIDTH + 2, 13


class Filled(DirectLayout):
    """`957+68=1025##` and `##957+68=1025`: the usual order of digits, padded with `#`.

    `#` ends a text and pads it to thirteen characters, enough for sums of three digits. `filled`
    pads on the right only. `filled-left` pads the prompt on the left, so that every `=` has the
    same index. Source: a calculator built one component at a time.
    """

    name = "filled"
    summary = "digits in the usual order, filled up with # to 13 characters; index in each number"
    characters = "0123456789+-*/=" + FILL
    end_sign = FILL
    operators = ("+", "-", "*", "//")
    most = 2
    linear = False
    """So that bounds are not rounded up, which would add padding to the loss."""
    reverse = reverse_operands = False

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, completion=max(bounds.completion, LENGTH - bounds.prompt))


class FilledLeft(Filled):
    name = "filled-left"
    summary = "as filled, but the prompt padded on its left to one width"
    roles = (*DirectLayout.roles[:PADDING], TokenRole("padding"))
    longest = WIDTH

    def prompt(self, problem: Problem) -> str:
        return super().prompt(problem).rjust(PROMPT, FILL)

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        """Match any padding: a tokenizer takes it for end signs and matches the rest."""
        return f"{FILL}*{super().prompt_pattern(operator, digits, operands)}"

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        return super().bounds(operator, (WIDTH, WIDTH))

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
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
    """`1234 + 5678 =6912$`, and `1 234 + 5 678=6912$`, with spaces in other places.

    Both have the same characters, so a model trained on one can be evaluated on the other. Spaces
    in an answer are ignored.
    Source: a Hugging Face stack for sums of four digits.
    """

    name = "spaced"
    summary = "digits in the usual order, spaces around the operator; index in each number"
    characters = "0123456789 +=" + END
    roles = (*DirectLayout.roles[:SPACE], TokenRole("space"))
    operators = ("+",)
    most = 2
    begin = (0, False, False)
    reverse = reverse_operands = False
    within = ""
    """What follows the first digit of each operand."""
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
        """As in its source: without spaces it is exactly the sum, without leading zeros."""
        return AnswerPattern("()(0|[1-9][0-9]*)", turned=False, drop=" ")

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        signs = len("".join(self.signs)) + 2 * len(self.within)
        return replace(super().bounds(operator, digits), prompt=sum(digits) + signs)

    def rule(self, state: State, character: str) -> Transition:
        """As `DirectLayout.rule`; the state also says whether a number has exactly one digit.

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

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        pieces = []
        for place, signs in enumerate(self.signs):
            digits, lengths = operands.digits[:, place], operands.lengths[:, place]
            is_first = jnp.arange(digits.shape[1])[None] == lengths[:, None] - 1
            pieces.append(flipped(Piece(digits, is_first)))
            pieces += [self._sign(character, len(digits)) for character in self.within]
            pieces.append(flipped(number(digits, lengths - 1)))
            pieces += [self._sign(character, len(digits)) for character in signs]
        return pieces


class SpacedApart(Spaced):
    name = "spaced-apart"
    summary = "as spaced, but a space after each operand's first digit and none before ="
    within = " "
    signs = (" + ", "=")
