"""Sums with a mark before each digit: its carry, or its place."""

import re
import string
from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from curta.layouts.base import (
    END,
    AnswerPattern,
    Piece,
    ShapeBounds,
    State,
    Text,
    TokenRole,
    Transition,
    flipped,
    join,
    number,
)
from curta.layouts.direct import DirectLayout, SumLayout
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import NumberBatch
from curta.problems.numerals import to_int, to_text
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import Problem


class MarkedLayout(SumLayout):
    """Sums with marks, each at the position of the digit after it."""

    roles = (*DirectLayout.roles, TokenRole("mark"))
    begin = (0, False, False)
    marks: str
    """All marks."""

    def rule(self, state: State, character: str) -> Transition:
        """As `DirectLayout.rule`; the state also says whether the last character was a mark."""
        part, in_number, after_mark = state
        is_mark = character in self.marks
        entry = super().rule((part, in_number), "0" if is_mark else character)
        move = 0 if after_mark and entry.role % 2 == 0 else entry.move  # a digit after its mark
        if is_mark:
            return Transition((*entry.state, True), len(self.roles) - 1, move)
        return entry._replace(state=(*entry.state, False), move=move)


def interleaved(marks: Piece, digits: Piece) -> Piece:
    """Return each mark followed by its digit.

    >>> marks, digits = (number(jnp.array([row]), jnp.array([2])) for row in ([5, 4], [1, 0]))
    >>> interleaved(marks, digits).tokens.tolist()
    [[5, 1, 4, 0]]
    """
    pairs = (jnp.stack(columns, axis=-1) for columns in zip(marks, digits, strict=True))
    return Piece(*(pair.reshape(len(digits.tokens), -1) for pair in pairs))


NONE, ONE = ".'"


class Carries(MarkedLayout):
    """`759+860=.5'2'0'1$`: before each digit of the sum a mark for the carry into its place.

    A dot for no carry, `'` for a carry of 1; otherwise as `padded`. Program `carried` writes the
    same in tokens that tell the parts of a text apart, which these characters do not.
    """

    name = "carries"
    summary = "reversed, zero-padded, the carry before each digit of the sum; index as coordinate"
    characters = "0123456789+=" + END + NONE + ONE
    roles = (*DirectLayout.roles, TokenRole("carry"))
    marks = NONE + ONE
    padded = True

    def answer_pattern(self, operator: str) -> AnswerPattern:
        """Read the digits, whatever the marks are."""
        return AnswerPattern(turned=self.reverse, drop=self.marks)

    def completion(self, problem: Problem) -> str:
        digits = super().completion(problem)
        units = [10**place for place in range(len(digits))]
        carries = (sum(value % unit for value in problem.operands) >= unit for unit in units)
        return "".join((ONE if c else NONE) + d for c, d in zip(carries, digits, strict=True))

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        bounds = super().bounds(operator, digits)
        return replace(bounds, completion=2 * bounds.completion - 1)

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        """Write texts; a carry is a digit of the sum minus the operands' digits, modulo ten.

        57 + 98 = 155, from the lowest place: digits 5, 5, 1 minus columns 15, 14, 0: 0, 1, 1.
        """
        widest = jnp.max(operands.lengths, axis=1, keepdims=True)
        answer = self._fit(ARITHMETIC[operator].answer(operands).numbers, widest + 1)
        digits, lengths = answer.digits[:, 0], answer.lengths[:, 0]
        wider = digits.shape[1] - operands.digits.shape[2]
        columns = jnp.sum(jnp.pad(operands.digits, ((0, 0), (0, 0), (0, wider))), axis=1)
        marks = jnp.where((digits - columns) % 10 == 0, self.code(NONE), self.code(ONE))
        completion = interleaved(number(marks, lengths), number(digits, lengths))
        prompt, stop = self._prompt(operator, operands, bounds), self._sign(END, len(digits))
        return join(prompt, [completion, stop], bounds.total, self.code(END))


MOST = 128
"""Most digits of an operand: one fewer than there are hints; a size evaluations round up to."""

GREEK, CYRILLIC = range(0x3B1, 0x3CA), range(0x410, 0x450)
LETTERS = string.ascii_letters + "".join(map(chr, (*GREEK, *CYRILLIC)))
HINTS = LETTERS[: MOST + 1]


class Hints(MarkedLayout):
    """`a0b9c5d7+a0b0c6d8=d5c2b0a1$`: before each digit a hint that identifies its place.

    Operands are zero-padded to one place more than the longer one, in the usual order, each digit
    after its hint. The answer has the same width and is reversed together with its hints, which are
    scored like its digits. Hints ascend from the most significant digit and are the same in all
    three numbers. In training the first hint is drawn for each problem, uniform over those for
    which the alphabet suffices (the source's draw ends two earlier); otherwise it is `a`. The
    alphabet has 129 letters, so operands have at most 128 digits.
    Source: index hints of Zhou et al., arXiv 2310.16028, as in Cho et al.'s code (arXiv
    2405.20671, `AdditionDatasetWithIndexHints`).
    """

    name = "hints"
    summary = "zero-padded, a hint before each digit, answer reversed; index within each number"
    characters = "0123456789+=" + END + HINTS
    roles = (*DirectLayout.roles, TokenRole("hint"))
    marks = HINTS
    reverse_operands = False
    padded = True
    ahead = 1
    longest = MOST

    def prompt(self, problem: Problem) -> str:
        width = max(len(to_text(value)) for value in problem.operands) + self.ahead
        texts = [self._text(value, width, self.reverse_operands) for value in problem.operands]
        return f"{problem.operation.mark.join(texts)}="

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        inner = ""
        for hint in HINTS[digits:0:-1]:  # b[0-9](?:c[0-9](?:d[0-9])?)?
            inner = f"{hint}[0-9]" + (f"(?:{inner})?" if inner else "")
        operand = f"{HINTS[0]}0{inner}"
        mark, least = re.escape(OPERATIONS[operator].mark), OPERATIONS[operator].least
        return f"{operand}(?:{mark}{operand}){{{least - 1},{operands - 1}}}="

    def read(self, operator: str, completion: str) -> Answer | None:
        answer, end, _ = completion.partition(END)
        hints, digits = answer[::2], answer[1::2]
        if not end or len(hints) != len(digits) or not set(hints) <= set(HINTS):
            return None
        if not digits.isdecimal():
            return None
        return OPERATIONS[operator].value([to_int(digits[::-1])])

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        width = max(digits) + self.ahead
        return ShapeBounds(len(digits) * (2 * width + 1), 2 * width + 1, ((-1, width),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        wider = jnp.pad(operands.digits, ((0, 0), (0, 0), (0, self.ahead)))
        return super().tokens(operator, operands._replace(digits=wider), bounds)

    def vary(self, text: Text, keys: Key[Array, " batch"]) -> Text:
        """Draw the first hint of each text: `a2+a4=a6$` may become `k2+k4=k6$`."""
        first = self.code(HINTS[0])
        is_hint = text.tokens >= first
        used = jnp.max(jnp.where(is_hint, text.tokens - first + 1, 0), axis=1)
        draw = jax.vmap(lambda key, most: jax.random.randint(key, (), 0, most + 1))
        start = draw(keys, len(HINTS) - used)[:, None]
        return text._replace(tokens=jnp.where(is_hint, text.tokens + start, text.tokens))

    def _text(self, value: int, width: int, reverse: bool) -> str:
        digits = super()._text(value, width, reverse)
        hints = HINTS[:width][::-1] if reverse else HINTS[:width]
        return "".join(map("".join, zip(hints, digits, strict=True)))

    def _number(
        self, digits: Int[Array, "batch width"], lengths: Int[Array, " batch"], reverse: bool
    ) -> Piece:
        places = lengths[:, None] - 1 - jnp.arange(digits.shape[1])[None]  # from the left
        first = self.code(HINTS[0])
        pair = [number(tokens, lengths) for tokens in (first + places, digits)]
        pair = pair if reverse else [flipped(piece) for piece in pair]
        return interleaved(*pair)
