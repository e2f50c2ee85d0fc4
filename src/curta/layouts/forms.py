"""Prompts and answers described by data, so that a page writes and reads them as Python does."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from curta.problems.decimals import to_int, to_text

NUMBERS = "[0-9]+(?:,[0-9]+)*"
"""One number or more, as a regular expression."""


class PromptFormat(NamedTuple):
    """How operands are put together to a prompt: `before a between b between c after`.

    `turned` says whether the first number, and whether the others, stand least significant
    digit first. With a `fill` all are padded, before they are turned, to the width of the
    longest and `ahead` more.
    """

    between: str
    before: str = ""
    after: str = "="
    turned: tuple[bool, bool] = (True, True)
    fill: str = ""
    ahead: int = 0

    def write(self, operands: Sequence[int]) -> str:
        """The prompt of these operands."""
        texts = [to_text(value) for value in operands]
        width = max(map(len, texts)) + self.ahead if self.fill else 0
        written = [
            ordered(text.rjust(width, self.fill or "0"), self.turned[place > 0])
            for place, text in enumerate(texts)
        ]
        return f"{self.before}{self.between.join(written)}{self.after}"


class AnswerPattern(NamedTuple):
    """What of a written text, without its end sign, is the answer.

    `pattern` matches the whole text once the characters of `drop` are left out of it. Its
    first group is the sign, "-" or not, and its second the numbers, commas between. It keeps
    to what regular expressions of Python and of JavaScript share. `turned` says whether
    numbers stand least significant digit first.
    """

    pattern: str = "()([0-9]+)"
    turned: bool = True
    drop: str = ""

    def read(self, text: str) -> list[int] | None:
        """The numbers of the answer; None if the text has no such form."""
        kept = text.translate(dict.fromkeys(map(ord, self.drop)))
        match = re.fullmatch(self.pattern, kept)
        if match is None:
            return None
        sign = -1 if match[1] == "-" else 1
        return [sign * to_int(ordered(number, self.turned)) for number in match[2].split(",")]


def ordered(text: str, turned: bool) -> str:
    """The text, or the same from its other end."""
    return text[::-1] if turned else text


def number_pattern(digits: int, turned: bool = False) -> str:
    """A regular expression of the numbers of at most so many digits, without zeros ahead."""
    others = f"[0-9]{{0,{digits - 1}}}"
    return f"(?:0|{others}[1-9])" if turned else f"(?:0|[1-9]{others})"
