"""The direct layouts: `123+45=168$`, the answer without a trace.

They differ in the order of digits, in padding, in the coordinates of `+` and `=`, and in their
operators. The base class and the simplest ones are here; others have files of their own. An
operation that is a word stands first, as one letter: `s210,7,33=7,33,210$`.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.layouts.base import (
    END,
    NUMBERS,
    AnswerPattern,
    Piece,
    PromptFormat,
    RuledLayout,
    ShapeBounds,
    State,
    Text,
    TokenRole,
    Transition,
    flipped,
    join,
    number,
    ordered,
    sign,
)
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import NumberBatch
from curta.problems.numerals import to_text
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

OPERATORS: tuple[str, ...] = ("+", "-", "*", "//", "%", "<", "sort", "copy", "reverse")
"""The operators of most direct layouts. A new one adds a character, so trained models lack it."""
MARKS = "".join(OPERATIONS[operator].mark for operator in OPERATORS)
FIRST, OPERATOR, SECOND, EQUALS, ANSWER, FINISH, SIGN = range(7)


class DirectLayout(RuledLayout):
    """Operands and operator, equals, answer, end. Tokens 0 to 9 are the digits."""

    characters: Sequence[str] = "0123456789" + MARKS + ",=" + END
    roles: tuple[TokenRole, ...] = (
        TokenRole("first", digit=True),
        TokenRole("operator"),
        TokenRole("second", digit=True),
        TokenRole("equals"),
        TokenRole("answer", digit=True),
        TokenRole("end"),
        TokenRole("sign"),
    )
    axes: tuple[str, ...] = ("index",)
    operators = OPERATORS
    begin: State = (0, False)
    reverse = True
    """Whether answers are written least significant digit first."""
    reverse_operands = True
    padded = False
    fill = "0"
    """The character that numbers are padded with."""
    ahead = 0
    """How many places wider than the longest operand padded operands are."""

    def prompt_format(self, operator: str) -> PromptFormat:
        mark, turned = OPERATIONS[operator].mark, (self.reverse_operands,) * 2
        before, between = (mark, ",") if mark.isalpha() else ("", mark)
        fill = self.fill if self.padded else ""
        return PromptFormat(between, before, turned=turned, fill=fill, ahead=self.ahead)

    def answer_pattern(self, operator: str) -> AnswerPattern:
        sign = "-?" if OPERATIONS[operator].signed else ""
        return AnswerPattern(f"({sign})({NUMBERS})", self.reverse)

    def completion(self, problem: Problem) -> str:
        width = max(len(to_text(value)) for value in problem.operands) + 1
        truth = problem.truth
        if isinstance(truth, tuple):
            return ",".join(self._text(value, width, self.reverse) for value in truth)
        assert isinstance(truth, int), "a direct layout has whole numbers"
        return "-" * (truth < 0) + self._text(abs(truth), width, self.reverse)

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        operation = OPERATIONS[operator]
        answer, widest = operation.widths(digits), max(digits)
        operands = len(digits) * widest if self.padded else sum(digits)
        marks = len(digits) + operation.mark.isalpha()
        completion = sum(answer) + len(answer) + operation.signed
        return ShapeBounds(operands + marks, completion, ((-1, max(widest, *answer)),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        result = ARITHMETIC[operator].answer(operands)
        widest = jnp.max(operands.lengths, axis=1, keepdims=True)
        answer = self._fit(result.numbers, widest + 1)
        minus: list[Piece] = []
        if OPERATIONS[operator].signed:
            minus = [self._sign("-", len(widest))._replace(valid=result.negative[:, None])]
        work = [*minus, *self._listed(answer, ",", self.reverse)]
        stop = self._sign(self.end_sign, len(operands.digits))
        prompt = self._prompt(operator, operands, bounds)
        return join(prompt, [*work, stop], bounds.total, self.end)

    def _prompt(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> list[Piece]:
        """Return the prompts, piece by piece."""
        form, batch = self.prompt_format(operator), len(operands.digits)
        widest = jnp.max(operands.lengths, axis=1, keepdims=True)
        numbers = self._fit(operands, widest + self.ahead)
        before, after = ([self._sign(c, batch) for c in text] for text in (form.before, form.after))
        return [*before, *self._listed(numbers, form.between, self.reverse_operands), *after]

    def rule(self, state: State, character: str) -> Transition:
        """The state is which number is being written, and whether it has a digit already."""
        part, in_number = state  # the part is 0 for the first operand, 1 for others, 2: answer
        onward = +1 if in_number else HOME
        if character.isdecimal():
            return Transition((part, True), 2 * part, onward)
        move = self.sign_move(character, onward)
        if character == self.end_sign:
            return Transition(state, FINISH, move)
        after = 2 if character == "=" else max(part, 1)
        between = SIGN if part == 2 and len(self.roles) > SIGN else OPERATOR
        return Transition((after, False), EQUALS if character == "=" else between, move)

    def sign_move(self, character: str, onward: int) -> int:
        """Return the move of a character that is no digit: to -1, one before the first digit."""
        return HOME - 1

    def _text(self, value: int, width: int, reverse: bool) -> str:
        text = to_text(value)
        return ordered(text.rjust(width, self.fill) if self.padded else text, reverse)

    def _fit(self, numbers: NumberBatch, widest: Int[Array, "batch 1"]) -> NumberBatch:
        """Return the numbers, at least `widest` digits long if the layout pads them."""
        if not self.padded:
            return numbers
        lengths = jnp.maximum(numbers.lengths, widest)
        return numbers._replace(lengths=jnp.where(numbers.lengths > 0, lengths, 0))

    def _sign(self, character: str, batch: int) -> Piece:
        return sign(self.code(character), batch)

    def _listed(self, numbers: NumberBatch, between: str, reverse: bool) -> list[Piece]:
        """Return the numbers with `between` between them; absent ones leave nothing."""
        pieces = []
        for place in range(numbers.lengths.shape[1]):
            lengths = numbers.lengths[:, place]
            if place:
                separator = self._sign(between, len(lengths))
                pieces.append(separator._replace(valid=lengths[:, None] > 0))
            pieces.append(self._number(numbers.digits[:, place], lengths, reverse))
        return pieces

    def _number(
        self, digits: Int[Array, "batch width"], lengths: Int[Array, " batch"], reverse: bool
    ) -> Piece:
        piece = number(digits, lengths)
        return piece if reverse else flipped(piece)


class SumLayout(DirectLayout):
    """Sums of two numbers, without the characters and roles of other problems."""

    operators = ("+",)
    most = 2
    characters = "0123456789+=" + END
    roles = DirectLayout.roles[:SIGN]


class PlainLayout(DirectLayout):
    """`123+45=168$`: the usual order, most significant digit first."""

    name = "plain"
    summary = "digits in the usual order; index within each number as coordinate"
    reverse = reverse_operands = False


class Reversed(DirectLayout):
    """`321+54=861$`: every number least significant digit first.

    In this order no digit of a sum depends on digits that are written after it.
    Source: Lee et al., Teaching Arithmetic to Small Transformers, arXiv 2307.03381.
    """

    name = "reversed"
    summary = "least significant digit first; index within each number as coordinate"


class Padded(SumLayout):
    """`321+540=8610$`: reversed, operands zero-padded to one width, the answer one digit more."""

    name = "padded"
    summary = "reversed and zero-padded; index within each number as coordinate"
    padded = True


class PlainPadded(SumLayout):
    """`123+045=0168$`: the usual order, operands zero-padded to one width.

    The answer has one digit more. So the index of a digit determines its place although the answer
    is not reversed; compare with `padded`, which does both.
    """

    name = "plain-padded"
    summary = "zero-padded, digits in the usual order; index within each number as coordinate"
    reverse = reverse_operands = False
    padded = True


class CoupledLayout(SumLayout):
    """`321+54=861$` with coordinates: digits of equal significance share a place.

    The text is that of `reversed`, with more structure in the coordinates: `+` stands one place
    above the first operand's last digit, `=` at place -1, one below the digit that follows, and the
    end sign one place above the answer.
    """

    name = "coupled"
    summary = "reversed; the place of every digit and sign in the written sum as coordinate"
    axes = ("place",)

    def sign_move(self, character: str, onward: int) -> int:
        return HOME - 1 if character == "=" else onward


class PositionCouplingLayout(SumLayout):
    """`653+049=2070$`: the text and the coordinates of Position Coupling.

    Operands are zero-padded to the longer one's n digits, in the usual order; the answer has n + 1
    digits, least significant first. The coordinate is the source's position id minus 1, for
    start 1: operand digits have ids 2 to n + 1, `+` and `=` share id n + 2, and the answer counts
    down from n + 1, so its carry has id 1. The end sign has id 0, like padding.
    Source: Cho et al., arXiv 2405.20671, the first version of their code (commit 01dd272); later
    ones count in the other direction. Their texts begin with the end sign too; here they do not.
    Their first digits are uniform over 1 to 9, here 1 is twice as likely as each other digit.
    """

    name = "position-coupling"
    summary = "zero-padded, only the answer reversed; the position of Position Coupling"
    axes = ("position",)
    reverse_operands = False
    padded = True

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        extents = ((-1, max(digits) + 1),)  # -1 is the coordinate of id 0
        return replace(super().bounds(operator, digits), extents=extents)

    def rule(self, state: State, character: str) -> Transition:
        """Count up from 1 in an operand, `+` and `=` one above it, and down in the answer."""
        entry = super().rule(state, character)
        if entry.role == FINISH:
            return entry
        if entry.role == ANSWER:
            return entry._replace(move=-1)
        first = entry.role in (FIRST, SECOND) and not state[1]
        return entry._replace(move=HOME + 1 if first else +1)


class Begun(DirectLayout):
    """`#123+45=168$`: a begin sign, then the usual order of digits."""

    name = "begun"
    summary = "a begin sign, then digits in the usual order; index within each number"
    characters = "0123456789+-*/=#" + END
    roles = (*DirectLayout.roles, TokenRole("begin"))
    operators = ("+", "-", "*", "//")
    most = 2
    reverse = reverse_operands = False

    def prompt_format(self, operator: str) -> PromptFormat:
        return super().prompt_format(operator)._replace(before="#")

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, prompt=1 + bounds.prompt)

    def rule(self, state: State, character: str) -> Transition:
        if character == "#":
            return Transition(state, len(DirectLayout.roles), HOME - 1)
        return super().rule(state, character)
