"""`gcd 1071,462`: operations that a program brings with it, by plain Python.

Such an operation has no arithmetic on the device: its problems are for programs alone. Of a run
whose program is not known here there is a stand-in, made of the prompt's format: its problems
can be read and written, but it has no truth, except for the problems that the run has kept.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from curta.config.errors import UserError, quoted
from curta.problems.numerals import DIGITS, written
from curta.problems.operations import Answer, Operation
from curta.problems.sizes import Sizes
from curta.programs.machine import Program, compound, sampling
from curta.programs.machine.prompt import Format

Answers = Callable[[tuple[int, ...]], Answer]
"""What is right for these operands; it may raise UserError."""


class Declared(Operation):
    """The operation of a program that has a truth of its own."""

    on_device: ClassVar[bool] = False

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
            tuple(written(12 + 22 * i, self.base or 10) for i in range(self.least))
        )

    @classmethod
    def of(cls, program: Program) -> "Declared":
        """The operation that a program brings."""
        made = cls(program.operator, program.format, program, program.true_answer)
        made.name, made.commutes = program.name, program.commutes
        made.example = program.example or made.example
        made.cases, made.bounded = program.cases, not program.file
        return made

    def truth(self, *operands: int) -> Answer:
        return self.answers(operands)

    def refuse(self, operands: tuple[int, ...]) -> str | None:
        program = self.program
        return program.refuse(*operands) if program and program.refuse else None

    def value(self, numbers: Sequence[int]) -> Answer | None:
        return tuple(numbers) if self.form.answer.many else super().value(numbers)

    def tests(self, slice_name: str, size: Sequence[int], seed: str) -> Iterator[tuple[int, ...]]:
        """Random problems of just these sizes, or of one of the program's own cases."""
        program, rng = self._known, random.Random(f"{self.symbol} {seed}")
        case = self.cases.get(slice_name)
        while True:
            sizes = Sizes.exactly(size)
            operands = case(rng, *size) if case else sampling.draw(program, sizes, rng)
            if not sampling.refused(program, operands):
                yield operands

    def training(self, sizes: Sizes, seed: str, special: float) -> Iterator[tuple[int, ...]]:
        return sampling.drawn(self._known, sizes, seed, special)

    @property
    def _known(self) -> Program:
        """The program that brings it; UserError if its code is not known here."""
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
        found = compound.read(self.form, self.symbol, line)
        nearest = None if found else compound.completed(self.form, self.symbol, line)
        if nearest:
            raise UserError(
                "every number needs a point with a digit before and after it, such as"
                f" {quoted(nearest)[1:-1]}"
            )
        if not found and self.symbol.isalpha() and line.split(" ")[0] == self.symbol:
            raise UserError(f"{self.name} is written as {self.example}")
        return found

    def text(self, operands: tuple[str, ...]) -> str:
        if self.compound:
            return compound.text(self.form, self.symbol, operands)
        if self.symbol.isalpha():
            return f"{self.symbol} {','.join(operands)}"
        return super().text(operands)

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        """As of a product: what answers there can be is not known, only some of them."""
        wide = max(len(str(part.base - 1)) for part in self.form.givens)
        return (wide * sum(digits),) * (2 if self.form.answer.many else 1)
