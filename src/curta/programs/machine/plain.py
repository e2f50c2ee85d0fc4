"""Prompts as tokens of a machine, and the answers in what follows them.

Most problems are a few decimal numbers with operators between them, and a number for an answer.
For these, tokens follow from characters alone, by tables: ten times as fast as by way of `Format`,
which does everything else. A test holds one against the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from curta.problems.numerals import DIGITS, to_int, to_text
from curta.problems.operations import Answer
from curta.problems.problem import Problem
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


@lru_cache(maxsize=64)
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


def prompt_tokens(machine: Machine, problem: Problem) -> list[int]:
    """Return the tokens of a problem's prompt."""
    table = plain(machine, problem.operator)
    if table is not None:
        return table.write(problem.operands)
    keys = machine.formats[problem.operator].write(problem.operands)
    return [machine.numbers[key] for key in keys]


def read_answer(machine: Machine, problem: Problem, written: Sequence[int]) -> Answer | None:
    """Return the answer in what was written after a prompt; None if it is malformed."""
    if not written or written[-1] != machine.end:
        return None
    table = plain(machine, problem.operator)
    if table is not None:
        return table.read(written)
    form, tokens = machine.formats[problem.operator], machine.tokens
    roles = {form.answer.role, form.answer.sign, form.answer.fraction}
    kept = [place for place, token in enumerate(written) if tokens[token].role in roles]
    parts = [tokens[written[place]] for place in kept]
    if form.answer.many is None:
        return form.read([(token, ()) for token in parts])
    prompt = prompt_tokens(machine, problem)
    squares = machine.positions(np.array([*prompt, *written]))[len(prompt) :]
    return form.read(list(zip(parts, squares[kept].tolist(), strict=True)))
