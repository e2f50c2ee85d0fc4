"""Prompts and answers as data: which operand lies along which axis, and where an answer stands.

So a problem is put to a model, and its answer read, without the program's code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from curta.problems.numerals import DIGITS, to_digits, to_number
from curta.problems.sizes import OperandLimits
from curta.programs.machine.paper import Key
from curta.programs.machine.tokens import HOME, Token


@dataclass(frozen=True)
class Given:
    """An operand, digit by digit along an axis; place 0 is its least significant digit.

    With `high_first` it is written from its most significant digit on, which then stands at
    square 0. It is found from every square of the axes in `everywhere`. With `many`, it stands
    for all further operands: one on each line of that axis, `between` before each but the first.

    With `follows` it goes on from the square of what was written before it, and not from the
    origin: it is one number with the operand before it and the sign between, as 3.75 is.

    Zeros fill it up: with `filled` to the longest of all operands that are, with `multiple` to a
    number of digits that this divides. `gap` is a sign on the square of the digit that is written
    first, after it.
    """

    role: str
    along: str
    everywhere: tuple[str, ...] = ()
    base: int = 10
    high_first: bool = False
    many: str | None = None
    between: str = ","
    filled: bool = False
    multiple: int = 1
    gap: str = ""
    follows: bool = False

    @property
    def name(self) -> str:
        return self.role


@dataclass(frozen=True)
class Sign:
    """A sign of the prompt, one square before the origin unless `at` says where it stands.

    With `step` it stands so many squares from what was written before it, on each axis.
    """

    symbol: str
    role: str = ""
    at: dict[str, int] = field(default_factory=dict)
    everywhere: tuple[str, ...] = ()
    step: dict[str, int] | None = None

    @property
    def name(self) -> str:
        return self.role or {"=": "equals"}.get(self.symbol, "operator")


Part = Given | Sign

Written = tuple[Token, Sequence[int]]
"""A token and where it stands."""


@dataclass(frozen=True)
class Answer:
    """What of a text is the answer: the digits of a role, as they are written.

    They come least significant first unless `high_first`. `sign` is the role of a minus sign, if
    there can be one. With `many` there are several numbers, one on each line of that axis.
    `truth` says that 1 stands for true and 0 for false. `fraction` is the role of the digits
    below a point; the answer is then a `fractions.Fraction`.
    """

    role: str
    base: int = 10
    high_first: bool = False
    sign: str = ""
    many: str | None = None
    truth: bool = False
    fraction: str = ""


@dataclass(frozen=True)
class Format:
    """A prompt and where its answer will stand, on the axes of one machine."""

    axes: tuple[str, ...]
    parts: tuple[Part, ...]
    answer: Answer

    @cached_property
    def base(self) -> int:
        """In which people write the operands: that of the digits, where characters exist for it."""
        base = next((part.base for part in self.givens), 10)
        return base if base <= len(DIGITS) else 10

    @cached_property
    def givens(self) -> list[Given]:
        """The operands among the parts."""
        return [part for part in self.parts if isinstance(part, Given)]

    @property
    def most(self) -> int | None:
        """How many operands there may be; None is any number."""
        return None if any(part.many for part in self.givens) else len(self.givens)

    @property
    def limits(self) -> OperandLimits:
        """What problems can be put."""
        return OperandLimits(len(self.givens), self.most, base=self.base)

    def of_operands(self, count: int) -> list[Given]:
        """The part of each of so many operands; the last part is that of all further ones."""
        return [*self.givens, *self.givens[-1:] * (count - len(self.givens))][:count]

    @cached_property
    def _padded(self) -> bool:
        """Whether zeros fill any operand up."""
        return any(part.filled or part.multiple > 1 for part in self.givens)

    @property
    def numbers(self) -> list[list[Part]]:
        """The parts in order, those together that people write as one number."""
        found: list[list[Part]] = []
        for part in self.parts:
            found.append([part])
            if isinstance(part, Given) and part.follows:
                begins = max(i for i, one in enumerate(found[:-1]) if isinstance(one[0], Given))
                found[begins:] = [[part for one in found[begins:] for part in one]]
        return found

    @property
    def compound(self) -> bool:
        """Whether several operands are one number to people, as before and after a point."""
        return any(part.follows for part in self.givens)

    def write(self, operands: Sequence[int]) -> list[Key]:
        """The tokens of the prompt, as a paper keeps them."""
        return self.prompt(self.digits(operands))

    def prompt(self, digits: Sequence[Sequence[int]]) -> list[Key]:
        """The same for operands as `digits` gives them."""
        found, first = list[Key](), 0
        for part in self.parts:
            if isinstance(part, Sign):
                found.append(self._sign(part))
                continue
            last = len(digits) if part.many else first + 1
            for number, own in enumerate(digits[first:last]):
                found += self._digits(part, own, number)
            first = last
        return found

    def every(self) -> Iterator[Key]:
        """Every token that a prompt can have."""
        for part in self.parts:
            if isinstance(part, Sign):
                yield self._sign(part)
                continue
            for number in (0, 1) if part.many else (0,):
                for digit in range(part.base):
                    yield from self._digits(part, [digit] * 2, number)

    def digits(self, operands: Sequence[int]) -> list[list[int]]:
        """The operands as a program is given them: digits, least significant first."""
        parts = self.of_operands(len(operands))
        found = [to_digits(v, part.base) for v, part in zip(operands, parts, strict=False)]
        if not self._padded:
            return found
        pairs = list(zip(found, parts, strict=False))
        longest = max((len(digits) for digits, part in pairs if part.filled), default=0)
        for digits, part in pairs:
            wanted = longest if part.filled else len(digits)
            digits += [0] * (wanted + -wanted % part.multiple - len(digits))
        return found

    def read(self, written: Sequence[Written]) -> Any:
        """The answer in what was written; None if there is none."""
        if self.answer.fraction:
            return self._fraction(written)
        lines: dict[int, list[int]] = {}
        axis = self.axes.index(self.answer.many) if self.answer.many else None
        for token, position in written:
            if token.role == self.answer.role and token.value is not None:
                lines.setdefault(0 if axis is None else position[axis], []).append(token.value)
        if any(digit >= self.answer.base for digits in lines.values() for digit in digits):
            return None
        order = -1 if self.answer.high_first else 1
        numbers = [to_number(digits[::order], self.answer.base) for digits in lines.values()]
        if self.answer.many:
            return tuple(numbers) or None
        return self._value(numbers[0], self._minus(written)) if numbers else None

    def _fraction(self, written: Sequence[Written]) -> Fraction | None:
        """The number of the digits on both sides of a point; None where a side has none."""
        below, above = (
            [token.value for token, _ in written if token.role == role and token.value is not None]
            for role in (self.answer.fraction, self.answer.role)
        )
        if not below or not above or max(below + above) >= self.answer.base:
            return None
        digits = (above + below)[::-1] if self.answer.high_first else below + above
        places: int = self.answer.base ** len(below)
        value = Fraction(to_number(digits, self.answer.base), places)
        return -value if self._minus(written) else value

    def _minus(self, written: Sequence[Written]) -> bool:
        """Whether a minus sign was written."""
        return any(t.role == self.answer.sign and t.symbol == "-" for t, _ in written)

    def _value(self, number: int, minus: bool) -> int | bool | None:
        if self.answer.truth:
            return bool(number) if number in (0, 1) else None
        return -number if minus else number

    def _sign(self, part: Sign) -> Key:
        if part.step is not None:
            return (part.symbol, part.name, 0, tuple(part.step.get(axis, 0) for axis in self.axes))
        default = [-1] + [0] * (len(self.axes) - 1)
        at = [part.at.get(axis, spare) for axis, spare in zip(self.axes, default, strict=True)]
        return (part.symbol, part.name, 0, tuple(HOME + square for square in at))

    def _digits(self, part: Given, digits: Sequence[int], number: int) -> list[Key]:
        """The operand of that number, and what stands before it."""
        along, still = self.axes.index(part.along), (0,) * len(self.axes)
        order = digits[::-1] if part.high_first else digits
        onward, home = _at(still, along, 1), (HOME,) * len(self.axes)
        found: list[Key] = [(digit, part.role, 0, onward) for digit in order]
        if number == 0 and not part.follows:
            found[0] = (order[0], part.role, 0, home)
        if part.gap:
            found.insert(1, (part.gap, f"{part.role} gap", 0, still))
        if number == 0:
            return found
        assert part.many
        line = self.axes.index(part.many)
        before = _at(_at(still, along, HOME - 1), line, 1)
        return [(part.between, f"{part.role} between", 0, before), *found]


def _at(move: tuple[int, ...], axis: int, value: int) -> tuple[int, ...]:
    return (*move[:axis], value, *move[axis + 1 :])
