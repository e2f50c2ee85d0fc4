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
from itertools import chain, count
from typing import NamedTuple

from curta.config.errors import UserError
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
        operands = tuple(12 + 22 * i for i in range(self.least))  # 12, 34, 56
        if self.refuse(operands):  # such as a difference that would be negative
            operands = operands[::-1]
        self.example = self.text(tuple(format_number(value, self.base or 10) for value in operands))

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
        signs = [p for p in chain.from_iterable(_numbers(self.form)) if isinstance(p, str)]
        marks = re.sub(r"[0-9\s]", "", line)
        if not operands and set(marks) == {*signs} and len(marks) <= len(signs):
            raise UserError(
                "every number needs a point with a digit before and after it, such as"
                f" {self.example}"
            )
        if not operands and self.symbol.isalpha() and line.split(" ")[0] == self.symbol:
            raise UserError(f"{self.name} is written as {self.example}")
        return operands

    def text(self, operands: tuple[str, ...]) -> str:
        if self.compound:
            return compound_text(self.form, self.symbol, operands)
        return super().text(operands)

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        """Return the widths of a product, since the range of answers is unknown."""
        wide = max(len(str(part.base - 1)) for part in self.form.givens)
        return (wide * sum(digits),) * (2 if self.form.answer.many else 1)


class OperandPlace(NamedTuple):
    """An operand's place, and the step through its digits: -1 if people write them in reverse."""

    place: int
    step: int


def compound_text(form: Format, operator: str, operands: Sequence[str]) -> str:
    """Write a problem from its operands' digits, after the operator if that is a word."""
    texts = (
        piece if isinstance(piece, str) else operands[piece.place][:: piece.step]
        for piece in chain.from_iterable(_numbers(form))
    )
    return _word(operator) + "".join(texts)


def read_compound(form: Format, operator: str, line: str) -> list[str] | None:
    """Return the digits of each operand; None if the line is no such problem."""
    numbers = _numbers(form)
    patterns = (
        "".join(re.escape(piece) if isinstance(piece, str) else "([0-9]+)" for piece in number)
        for number in numbers
    )
    match = re.fullmatch(re.escape(_word(operator)) + r"\s*".join(patterns), line)
    if match is None:
        return None
    places = [piece for piece in chain.from_iterable(numbers) if isinstance(piece, OperandPlace)]
    texts = {p.place: digits[:: p.step] for p, digits in zip(places, match.groups(), strict=True)}
    return [texts[place] for place in sorted(texts)]


def _numbers(form: Format) -> list[list[str | OperandPlace]]:
    """Return numbers and signs in reading order, without the sign that ends the prompt."""
    numbers, places = list[list[str | OperandPlace]](), count()
    for pieces in form.numbers:
        last = pieces[-1]
        high_first = not isinstance(last, Given) or last.high_first
        number = [
            OperandPlace(next(places), 1 if part.high_first == high_first else -1)
            if isinstance(part, Given)
            else part.symbol
            for part in pieces
        ]
        numbers.append(number if high_first else number[::-1])
    return numbers[:-1] if isinstance(form.prompt_parts[-1], Sign) else numbers


def _word(operator: str) -> str:
    return f"{operator} " if operator.isalpha() else ""
