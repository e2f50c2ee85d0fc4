"""Prompts and answers as data: which operand lies along which axis, and where the answer stands.

From this data a problem is written, and its answer read, without the program's code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from curta.problems.numerals import DIGITS, to_digits, to_number
from curta.problems.sizes import OperandLimits
from curta.programs.machine.paper import HOME, Token, TokenKey


@dataclass(frozen=True)
class Given:
    """An operand of a prompt, written digit by digit along an axis from square 0.

    Example::

        Given("a", along="place", filled=True)
    """

    role: str
    """The role of its digits, also the name of the operand."""
    along: str
    """The axis along which it is written."""
    everywhere: tuple[str, ...] = ()
    """Axes on which its digits are seen from every square."""
    base: int = 10
    """The base of its digits."""
    high_first: bool = False
    """Whether the most significant digit is written first, at square 0."""
    many: str | None = None
    """An axis, if this part stands for all further operands, one on each line of that axis."""
    between: str = ","
    """With `many`, the sign before each of these operands but the first."""
    filled: bool = False
    """Whether zeros pad it to the length of the longest filled operand."""
    multiple: int = 1
    """Zeros pad it to a multiple of this number of digits."""
    gap: str = ""
    """A sign written after the first digit, on the same square."""
    follows: bool = False
    """Whether it continues from the last square instead of square 0. With the operand before it and
    the sign between, it then forms one number, such as 3.75."""
    positive: bool = False
    """Whether it is never 0. Proofs rely on this; `refuse` must reject such problems."""

    @property
    def name(self) -> str:
        """The name of the operand."""
        return self.role


@dataclass(frozen=True)
class Sign:
    """A sign of a prompt: a token that is no digit, such as `+` or `=`.

    It stands one square before the origin on the first axis, unless `at` or `step` says otherwise.

    Example::

        Sign("=", at={"place": -2})
    """

    symbol: str
    """The sign itself."""
    role: str = ""
    """Its role; by default `equals` for `=`, and `operator` for any other sign."""
    at: dict[str, int] = field(default_factory=dict)
    """Its square on each axis."""
    everywhere: tuple[str, ...] = ()
    """Axes on which it is seen from every square."""
    step: dict[str, int] | None = None
    """Its distance from the token before it, on each axis."""

    @property
    def name(self) -> str:
        """Its role."""
        return self.role or {"=": "equals"}.get(self.symbol, "operator")


Part = Given | Sign

PlacedToken = tuple[Token, Sequence[int]]
"""A token and its square."""


@dataclass(frozen=True)
class Answer:
    """Where a text holds its answer: in the digits of one role.

    Example::

        Answer("difference", sign="minus")
    """

    role: str
    """The role of the answer's digits."""
    base: int = 10
    """The base of the digits."""
    high_first: bool = False
    """Whether they are written most significant digit first."""
    sign: str = ""
    """The role of the minus sign, if answers can be negative."""
    many: str | None = None
    """An axis, if the answer is several numbers, one on each line of that axis."""
    truth: bool = False
    """Whether the answer is true (1) or false (0)."""
    fraction: str = ""
    """The role of the digits after the decimal point; the answer is then a `fractions.Fraction`."""


@dataclass(frozen=True)
class Format:
    """The format of prompts and answers on the axes of a machine."""

    axes: tuple[str, ...]
    prompt_parts: tuple[Part, ...]
    """The operands and signs of a prompt, in the order in which they are written."""
    answer: Answer

    @cached_property
    def base(self) -> int:
        """The base in which people write operands: that of the digits, or 10 if it is too large."""
        base = next((part.base for part in self.givens), 10)
        return base if base <= len(DIGITS) else 10

    @cached_property
    def givens(self) -> list[Given]:
        """The operands among the parts of the prompt."""
        return [part for part in self.prompt_parts if isinstance(part, Given)]

    @property
    def most(self) -> int | None:
        """The largest number of operands; None for any number."""
        return None if any(part.many for part in self.givens) else len(self.givens)

    @property
    def limits(self) -> OperandLimits:
        """Which problems a prompt can hold."""
        return OperandLimits(len(self.givens), self.most, base=self.base)

    def of_operands(self, count: int) -> list[Given]:
        """Return the part of each of `count` operands; the last part serves all further ones."""
        return [*self.givens, *self.givens[-1:] * (count - len(self.givens))][:count]

    @property
    def numbers(self) -> list[list[Part]]:
        """The parts of the prompt in order, grouped into the numbers that people write."""
        numbers: list[list[Part]] = []
        for part in self.prompt_parts:
            numbers.append([part])
            if isinstance(part, Given) and part.follows:
                # from the last operand on, with the sign between
                begin = max(i for i, n in enumerate(numbers[:-1]) if isinstance(n[0], Given))
                numbers[begin:] = [[part for number in numbers[begin:] for part in number]]
        return numbers

    @property
    def compound(self) -> bool:
        """Whether several operands form one number, as before and after a point."""
        return any(part.follows for part in self.givens)

    def write(self, operands: Sequence[int]) -> list[TokenKey]:
        """Return the prompt of these operands as a paper records it."""
        return self.prompt(self.digits(operands))

    def prompt(self, digits: Sequence[Sequence[int]]) -> list[TokenKey]:
        """Return the prompt of operands given as `digits` returns them."""
        keys, first = list[TokenKey](), 0
        for part in self.prompt_parts:
            if isinstance(part, Sign):
                keys.append(self._sign(part))
                continue
            last = len(digits) if part.many else first + 1
            for number, operand in enumerate(digits[first:last]):
                keys += self._digits(part, operand, number)
            first = last
        return keys

    def every(self) -> Iterator[TokenKey]:
        """Yield every token that a prompt can have."""
        for part in self.prompt_parts:
            if isinstance(part, Sign):
                yield self._sign(part)
                continue
            for number in (0, 1) if part.many else (0,):
                for digit in range(part.base):
                    yield from self._digits(part, [digit] * 2, number)

    def digits(self, operands: Sequence[int]) -> list[list[int]]:
        """Return the digits of each operand, least significant first, as programs take them."""
        pairs = list(zip(operands, self.of_operands(len(operands)), strict=False))
        digits = [to_digits(value, part.base) for value, part in pairs]
        filled = (len(d) for d, (_, part) in zip(digits, pairs, strict=True) if part.filled)
        longest = max(filled, default=0)
        for number, (_, part) in zip(digits, pairs, strict=True):
            size = longest if part.filled else len(number)
            number += [0] * (size + -size % part.multiple - len(number))
        return digits

    def read(self, completion: Sequence[PlacedToken]) -> Any:
        """Return the answer in tokens and their squares; None if there is none."""
        answer, order = self.answer, -1 if self.answer.high_first else 1
        axis = self.axes.index(answer.many) if answer.many else None
        lines: dict[int, list[int]] = {}
        below = list[int]()
        for token, position in completion:
            if token.value is None:
                continue
            if token.role == answer.role:
                lines.setdefault(0 if axis is None else position[axis], []).append(token.value)
            elif answer.fraction and token.role == answer.fraction:
                below.append(token.value)
        every = [*below, *(digit for digits in lines.values() for digit in digits)]
        if not lines or max(every) >= answer.base or (answer.fraction and not below):
            return None
        if answer.many:
            return tuple(to_number(digits[::order], answer.base) for digits in lines.values())
        digits = [*below[::order], *lines[0][::order]]  # least significant first
        value: int | Fraction = to_number(digits, answer.base)
        if answer.fraction:
            value = Fraction(value, answer.base ** len(below))
        elif answer.truth:
            return bool(value) if value in (0, 1) else None
        minus = any(token.role == answer.sign and token.symbol == "-" for token, _ in completion)
        return -value if minus else value

    def _sign(self, part: Sign) -> TokenKey:
        if part.step is not None:
            return (part.symbol, part.name, 0, tuple(part.step.get(axis, 0) for axis in self.axes))
        default = [-1] + [0] * (len(self.axes) - 1)
        at = [part.at.get(axis, spare) for axis, spare in zip(self.axes, default, strict=True)]
        return (part.symbol, part.name, 0, tuple(HOME + square for square in at))

    def _digits(self, part: Given, digits: Sequence[int], number: int) -> list[TokenKey]:
        """Return an operand's tokens, and the separator before a further one.

        For 12 these are the 2 on square 0, and the 1 one square on.
        """
        along, still = self.axes.index(part.along), (0,) * len(self.axes)
        order = digits[::-1] if part.high_first else digits
        onward, home = _at(still, along, 1), (HOME,) * len(self.axes)
        keys: list[TokenKey] = [(digit, part.role, 0, onward) for digit in order]
        if number == 0 and not part.follows:
            keys[0] = (order[0], part.role, 0, home)
        if part.gap:
            keys.insert(1, (part.gap, f"{part.role} gap", 0, still))
        if number == 0:
            return keys
        assert part.many
        line = self.axes.index(part.many)
        before = _at(_at(still, along, HOME - 1), line, 1)
        return [(part.between, f"{part.role} between", 0, before), *keys]


def _at(move: tuple[int, ...], axis: int, value: int) -> tuple[int, ...]:
    return (*move[:axis], value, *move[axis + 1 :])
