"""Prompts and answers of plain decimal numbers, by tables: ten times as fast as `Format`.

Most problems are a few decimal numbers with signs between them, and a number for an answer. For
these, tokens follow from characters alone. Everything else goes through `Format`, which says the
same; a test holds one against the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from curta.problems.decimals import to_int, to_text
from curta.problems.notation import DIGITS
from curta.programs.machine.machine import Machine
from curta.programs.machine.prompt import Format, Part, Sign

Lookup = dict[str, int]
"""The token of each digit."""


@dataclass(frozen=True)
class Number:
    """The tokens of an operand's first digit in the text, and of all others."""

    first: Lookup
    others: Lookup
    high_first: bool

    def write(self, value: int) -> list[int]:
        text = to_text(value) if self.high_first else to_text(value)[::-1]
        return [self.first[text[0]], *map(self.others.__getitem__, text[1:])]


@dataclass(frozen=True)
class Plain:
    """A prompt of numbers and fixed tokens, and the digits of an answer without a sign."""

    parts: tuple[Number | int, ...]
    digits: dict[int, str]
    high_first: bool

    def write(self, operands: Sequence[int]) -> list[int]:
        rest, found = iter(operands), list[int]()
        for part in self.parts:
            found += [part] if isinstance(part, int) else part.write(next(rest))
        return found

    def read(self, written: Sequence[int]) -> int | None:
        digits = self.digits
        text = "".join([digits[token] for token in written if token in digits])
        if not text:
            return None
        return to_int(text if self.high_first else text[::-1])


def plain(machine: Machine, operator: str) -> Plain | None:
    """The tables of an operator; None where its problems are not that plain."""
    form = machine.formats[operator]
    answer = form.answer
    if answer.base != 10 or answer.sign or answer.many or answer.truth or answer.fraction:
        return None
    odd = (g.base != 10 or g.many or g.gap or g.filled or g.multiple != 1 for g in form.givens)
    if form.compound or any(odd):
        return None
    digits = {
        number: str(token.value)
        for number, token in enumerate(machine.tokens)
        if token.role == answer.role and token.value is not None
    }
    return Plain(
        tuple(_part(machine, form, part) for part in form.parts), digits, answer.high_first
    )


def _part(machine: Machine, form: Format, part: Part) -> Number | int:
    """The token of a sign, or those of an operand: `every` writes 00, 11, ..., 99."""
    tokens = [machine.numbers[key] for key in Format(form.axes, (part,), form.answer).every()]
    if isinstance(part, Sign):
        return tokens[0]
    first, others = (dict(zip(DIGITS, some, strict=False)) for some in (tokens[::2], tokens[1::2]))
    return Number(first, others, part.high_first)
