"""Operations that a program brings with it, such as `gcd 1071,462`, in plain Python.

Such an operation has no arithmetic on the device, so only programs train on it. For a run whose
program is unknown here there is a stand-in made from the prompt's format: it reads and writes
problems, but knows the truth only of the problems stored with the run.

Several operands may form one number, as in `3.75+12.5`. On paper it may be written in reverse,
`57.3`; people write it so that its last operand starts with its most significant digit. An operand
written in the other direction than the last one is reversed: the operands of 3.75 are 57 and 3.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from curta.config.errors import UserError, quoted
from curta.problems.numerals import DIGITS, format_number
from curta.problems.operations import Answer, Operation
from curta.problems.sizes import Sizes
from curta.programs.machine import Program, sampling
from curta.programs.machine.prompt import Format, Given, Sign

Answers = Callable[[tuple[int, ...]], Answer]
"""Return the right answer for operands; may raise UserError."""


class Declared(Operation):
    """The operation of a program with its own truth."""

    on_device = False

    def __init__(
        self, symbol: str, form: Format, program: Program | None, answers: Answers
    ) -> None:
        self.form, self.program, self.answers = form, program, answers
        self.symbol = self.name = symbol
        self.mark = symbol[0]
        self.least, self.most = len(form.givens), form.most
        self.signed, self.pointed = bool(form.answer.sign), bool(form.answer.fraction)
        base = form.givens[0].base
        self.base = base if (base != 10 or self.compound) and base <= len(DIGITS) else None
        self.answer_base = None
        if form.answer.base != base and form.answer.base <= len(DIGITS):
            self.answer_base = form.answer.base
        self.example = self.text(
            tuple(format_number(12 + 22 * i, self.base or 10) for i in range(self.least))
        )

    @classmethod
    def of(cls, program: Program) -> "Declared":
        """Return the operation that a program brings."""
        operation = cls(program.operator, program.format, program, program.true_answer)
        operation.name, operation.commutes = program.name, program.commutes
        operation.example = program.example or operation.example
        operation.cases, operation.bounded = program.cases, not program.file
        return operation

    def truth(self, *operands: int) -> Answer:
        return self.answers(operands)

    def refuse(self, operands: tuple[int, ...]) -> str | None:
        program = self.program
        return program.refuse(*operands) if program and program.refuse else None

    def value(self, numbers: Sequence[int]) -> Answer | None:
        return tuple(numbers) if self.form.answer.many else super().value(numbers)

    def tests(self, slice_name: str, size: Sequence[int], seed: str) -> Iterator[tuple[int, ...]]:
        """Yield random problems of exactly these sizes, or of one of the program's cases."""
        program, rng = self._known_program, random.Random(f"{self.symbol} {seed}")
        case = self.cases.get(slice_name)
        while True:
            sizes = Sizes.exactly(size)
            operands = case(rng, *size) if case else sampling.draw(program, sizes, rng)
            if not sampling.refused(program, operands):
                yield operands

    def training(self, sizes: Sizes, seed: str, special: float) -> Iterator[tuple[int, ...]]:
        return sampling.drawn(self._known_program, sizes, seed, special)

    @property
    def _known_program(self) -> Program:
        """The program that brings the operation; UserError if its code is unknown here."""
        if self.program is None:
            self.truth()
        assert self.program is not None
        return self.program

    @property
    def compound(self) -> bool:
        return self.form.compound

    def read(self, line: str) -> list[str] | None:
        if not self.compound:
            return None
        operands = read_compound(self.form, self.symbol, line)
        if operands:
            return operands
        if nearest := complete_compound(self.form, self.symbol, line):
            raise UserError(
                "every number needs a point with a digit before and after it, such as"
                f" {quoted(nearest)[1:-1]}"
            )
        if self.symbol.isalpha() and line.split(" ")[0] == self.symbol:
            raise UserError(f"{self.name} is written as {self.example}")
        return operands

    def text(self, operands: tuple[str, ...]) -> str:
        if self.compound:
            return compound_text(self.form, self.symbol, operands)
        if self.symbol.isalpha():
            return f"{self.symbol} {','.join(operands)}"
        return super().text(operands)

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        """Return the widths of a product, since the range of answers is unknown."""
        wide = max(len(str(part.base - 1)) for part in self.form.givens)
        return (wide * sum(digits),) * (2 if self.form.answer.many else 1)


class OperandPlace(NamedTuple):
    """An operand's place, and whether people write its digits in reverse."""

    place: int
    reverse: bool

    def turn(self, digits: str) -> str:
        """Convert digits between reading and writing order."""
        return digits[::-1] if self.reverse else digits


def compound_text(form: Format, operator: str, operands: Sequence[str]) -> str:
    """Write a problem from its operands' digits, after the operator if that is a word."""
    pieces = [piece for number in _numbers(form) for piece in number]
    texts = (p if isinstance(p, str) else p.turn(operands[p.place]) for p in pieces)
    return _word(operator) + "".join(texts)


def read_compound(form: Format, operator: str, line: str, loose: bool = False) -> list[str] | None:
    """Return the digits of each operand; None if the line is no such problem.

    If `loose`, an operand may have no digits, and the signs within a number may be missing.
    Patterns are then possessive, since backtracking over long lines would take hours.
    """
    digits, inner_sign = ("([0-9]*+)", "(?:{})?+") if loose else ("([0-9]+)", "{}")
    numbers = _numbers(form)
    patterns = [
        "".join(
            digits
            if isinstance(piece, OperandPlace)
            else (inner_sign if at else "{}").format(re.escape(piece))
            for at, piece in enumerate(number)
        )
        for number in numbers
    ]
    match = re.fullmatch(re.escape(_word(operator)) + r"\s*".join(patterns), line)
    if match is None:
        return None
    pieces = [piece for number in numbers for piece in number if isinstance(piece, OperandPlace)]
    texts = {p.place: p.turn(text) for p, text in zip(pieces, match.groups(), strict=True)}
    return [texts[place] for place in sorted(texts)]


def complete_compound(form: Format, operator: str, line: str) -> str | None:
    """Return the problem that a line means if missing digits are 0; None if it means none.

    Every number needs a digit, one of them a sign within, and signs between numbers must be there.
    """
    numbers, operands = _numbers(form), read_compound(form, operator, line, loose=True)
    within = {p for number in numbers if len(number) > 1 for p in number if isinstance(p, str)}
    if operands is None or not any(sign in line for sign in within):
        return None
    places = ([p.place for p in number if isinstance(p, OperandPlace)] for number in numbers)
    if not all(any(operands[place] for place in number) for number in places if number):
        return None
    return compound_text(form, operator, [digits or "0" for digits in operands])


def _numbers(form: Format) -> list[list[str | OperandPlace]]:
    """Return numbers and signs in reading order, without the sign that ends the prompt."""
    numbers, places = list[list[str | OperandPlace]](), count()
    for parts in form.numbers:
        last = parts[-1]
        high_first = not isinstance(last, Given) or last.high_first
        number = [
            OperandPlace(next(places), part.high_first != high_first)
            if isinstance(part, Given)
            else part.symbol
            for part in parts
        ]
        numbers.append(number if high_first else number[::-1])
    return numbers[:-1] if isinstance(form.parts[-1], Sign) else numbers


def _word(operator: str) -> str:
    return f"{operator} " if operator.isalpha() else ""
