"""Problems in which several operands make one number, as people write them: `3.75+12.5`.

On paper such a number may lie the other way round, `57.3`: people write it so that its last
operand begins with its most significant digit. An operand that lies against the last one is read
from its other end: of 3.75 the operands are 57 and 3.
"""

import re
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from curta.programs.machine.prompt import Format, Given, Sign


class Operand(NamedTuple):
    """An operand's place among all, and whether people write its digits from the other end."""

    place: int
    turned: bool


Number = list[str | Operand]
"""The operands and signs of one number, or one sign between numbers, as people write them."""


def text(form: Format, operator: str, operands: Sequence[str]) -> str:
    """The problem, from its operands' digits; an operator that is a word stands before it."""
    pieces = [piece for number in _numbers(form) for piece in number]
    shown = (p if isinstance(p, str) else _turned(operands[p.place], p) for p in pieces)
    return _word(operator) + "".join(shown)


def read(form: Format, operator: str, line: str) -> list[str] | None:
    """The digits of each operand; None if the line is no such problem."""
    pattern = r"\s*".join("".join(map(_exact, number)) for number in _numbers(form))
    return _operands(form, operator, pattern, line)


def completed(form: Format, operator: str, line: str) -> str | None:
    """The problem that a line is where 0 stands for parts that are missing; None if it is none.

    Every number must have a digit, and one of them a sign within.
    """
    numbers = _numbers(form)
    pattern = r"\s*".join("".join(map(_perhaps, range(len(one)), one)) for one in numbers)
    within = {p for one in numbers if len(one) > 1 for p in one if isinstance(p, str)}
    found = _operands(form, operator, pattern, line)
    if found is None or not any(sign in line for sign in within):
        return None
    pieces = ([p for p in one if isinstance(p, Operand)] for one in numbers)
    if not all(any(found[p.place] for p in mine) for mine in pieces if mine):
        return None
    return text(form, operator, [digits or "0" for digits in found])


def _numbers(form: Format) -> list[Number]:
    """Numbers and signs as people write them, without the sign that ends the prompt."""
    found, places = list[Number](), count()
    for parts in form.numbers:
        last = parts[-1]
        high_first = not isinstance(last, Given) or last.high_first
        number = [
            Operand(next(places), part.high_first != high_first)
            if isinstance(part, Given)
            else part.symbol
            for part in parts
        ]
        found.append(number if high_first else number[::-1])
    return found[:-1] if isinstance(form.parts[-1], Sign) else found


def _operands(form: Format, operator: str, pattern: str, line: str) -> list[str] | None:
    """What a pattern finds of each operand, in the order of the prompt."""
    match = re.fullmatch(re.escape(_word(operator)) + pattern, line)
    if match is None:
        return None
    pieces = [p for number in _numbers(form) for p in number if isinstance(p, Operand)]
    found = {
        p.place: _turned(digits or "", p) for p, digits in zip(pieces, match.groups(), strict=True)
    }
    return [found[place] for place in sorted(found)]


def _exact(piece: str | Operand) -> str:
    return re.escape(piece) if isinstance(piece, str) else "([0-9]+)"


def _perhaps(at: int, piece: str | Operand) -> str:
    """A piece of a number that may be missing; a sign between numbers may not.

    Nothing is given back: what follows begins otherwise, and long lines would take hours.
    """
    if isinstance(piece, Operand):
        return "([0-9]*+)"
    return f"(?:{re.escape(piece)})?+" if at else re.escape(piece)


def _turned(digits: str, operand: Operand) -> str:
    return digits[::-1] if operand.turned else digits


def _word(operator: str) -> str:
    return f"{operator} " if operator.isalpha() else ""
