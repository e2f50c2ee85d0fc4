"""`1+22+333`: the sum of two numbers or more."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import jax.numpy as jnp

from curta.problems import digits
from curta.problems.digits import Numbers
from curta.problems.operations import cases
from curta.problems.operations.base import Case, Operation, Result


class Addition(Operation):
    symbol = mark = "+"
    name = "addition"
    example = "12+34"
    most = None
    commutes = True
    cases: ClassVar[Mapping[str, Case]] = {
        "unequal": cases.unequal,
        "carry": cases.carry,
        "nines": cases.nines,
        "zero": cases.zero,
    }
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "carry through nines": (999_999, 1),
        "the other way round": (1, 999_999),
        "carry through fifteen nines": (10**15 - 1, 1),
        "powers of ten": (10**15, 10**15),
        "digits in a row": (123_456_789, 987_654_321),
    }

    def truth(self, *operands: int) -> int:
        return sum(operands)

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (max(digits) + len(str(len(digits) - 1)),)

    def answer(self, operands: Numbers) -> Result:
        wide = operands.digits.shape[1] // 9 + 1  # each further digit holds nine more operands
        columns = jnp.pad(jnp.sum(operands.digits, axis=1), ((0, 0), (0, wide)))
        total = digits.carried(columns)[:, None]
        return Result(Numbers(total, digits.length(total)), jnp.zeros(len(total), bool))
