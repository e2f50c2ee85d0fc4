"""`123//4` and `123%4`: quotient and remainder, as Python has them for whole numbers."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import jax.numpy as jnp

from curta.problems import digits
from curta.problems.digits import Numbers
from curta.problems.operations import cases
from curta.problems.operations.base import Case, Operation, Result


class Division(Operation):
    """What quotient and remainder share."""

    cases: ClassVar[Mapping[str, Case]] = {
        "larger": cases.smaller_first,
        "exact": cases.exact,
        "almost": cases.almost,
        "equal": cases.equal,
        "nines": cases.beyond_nines,
        "trailing zeros": cases.trailing_zeros,
        "zero": cases.zero,
        "one": cases.one,
    }
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "of nines by nine": (999_999, 9),
        "of a power of ten by seven": (10**15, 7),
        "by itself": (123_456_789, 123_456_789),
        "by one": (123_456_789, 1),
        "by a larger one": (123, 456),
        "one below a multiple": (999_998, 999),
        "of zero": (0, 7),
    }

    def refuse(self, operands: tuple[int, ...]) -> str | None:
        return "division by zero has no answer" if operands[1] == 0 else None

    def admit(self, operands: Numbers) -> Numbers:
        second = operands.digits[:, 1]
        nothing = jnp.all(second == 0, axis=-1)
        return operands._replace(digits=operands.digits.at[:, 1, 0].add(nothing.astype(jnp.int32)))

    def both(self, operands: Numbers) -> tuple[Result, Result]:
        found = digits.divide(operands.digits[:, 0], operands.digits[:, 1])
        never = jnp.zeros(len(operands.digits), bool)
        quotient, remainder = (
            Result(Numbers(part[:, None], digits.length(part)[:, None]), never) for part in found
        )
        return quotient, remainder


class Quotient(Division):
    symbol, mark = "//", "/"
    name = "division"
    example = "123//4"

    def truth(self, *operands: int) -> int:
        first, second = operands
        return first // second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (digits[0],)

    def answer(self, operands: Numbers) -> Result:
        return self.both(operands)[0]


class Remainder(Division):
    symbol = mark = "%"
    name = "modulo"
    example = "123%4"

    def truth(self, *operands: int) -> int:
        first, second = operands
        return first % second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (digits[1],)

    def answer(self, operands: Numbers) -> Result:
        return self.both(operands)[1]
