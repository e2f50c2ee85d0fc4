"""`a0b9c5d7+a0b0c6d8=d5c2b0a1$`: every digit after a hint that says which place it has.

Operands are zero-padded to one more place than the longer one has and stand in the usual
order, each digit after its hint; the answer is as wide, and reversed together with its
hints, which are scored like all that is written. Hints ascend from the most significant
digit and are the same in all three numbers. In training the first of them is drawn for
each problem, uniform over those from which the alphabet suffices (the source's draw ends
two earlier); otherwise it is `a`. The alphabet has 129 letters, so operands have at most
128 digits.
Source: index hints of Zhou et al., arXiv 2310.16028, as in Cho et al.'s code (arXiv
2405.20671, `AdditionDatasetWithIndexHints`).
"""

import re
import string
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from curta.layouts.base import END, Piece, Role, ShapeBounds, Text, flipped, number
from curta.layouts.direct import DirectLayout, MarkedLayout, interleaved
from curta.problems.arithmetic.digits import Numbers
from curta.problems.decimals import to_int, to_text
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import Problem

MOST = 128
"""Digits of an operand: one hint fewer than there are. A size that evaluations round up to."""

GREEK, CYRILLIC = range(0x3B1, 0x3CA), range(0x410, 0x450)
LETTERS = string.ascii_letters + "".join(map(chr, (*GREEK, *CYRILLIC)))
HINTS = LETTERS[: MOST + 1]


class Hints(MarkedLayout):
    name = "hints"
    summary = "zero-padded, a hint before each digit, answer reversed; index within each number"
    axes = ("index",)
    characters = "0123456789+=" + END + HINTS
    roles = (*DirectLayout.roles, Role("hint"))
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
        number = ""
        for hint in HINTS[digits:0:-1]:  # b[0-9](?:c[0-9](?:d[0-9])?)?
            number = f"{hint}[0-9]" + (f"(?:{number})?" if number else "")
        number = f"{HINTS[0]}0{number}"
        mark, least = re.escape(OPERATIONS[operator].mark), OPERATIONS[operator].least
        return f"{number}(?:{mark}{number}){{{least - 1},{operands - 1}}}="

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

    def tokens(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> Text:
        wider = jnp.pad(operands.digits, ((0, 0), (0, 0), (0, self.ahead)))
        return super().tokens(operator, operands._replace(digits=wider), bounds)

    def vary(self, text: Text, keys: Key[Array, " batch"]) -> Text:
        """Another first hint for each text, such that its last one is still in the alphabet.

        `a2+a4=a6$` may become `k2+k4=k6$`.
        """
        first = self.code(HINTS[0])
        hint = text.tokens >= first
        used = jnp.max(jnp.where(hint, text.tokens - first + 1, 0), axis=1)
        draw = jax.vmap(lambda key, most: jax.random.randint(key, (), 0, most + 1))
        start = draw(keys, len(HINTS) - used)[:, None]
        return text._replace(tokens=jnp.where(hint, text.tokens + start, text.tokens))

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
