"""`12*34`: the product of two numbers."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import jax.numpy as jnp

from .. import digits
from ..digits import Numbers
from . import cases
from .base import Case, Operation, Result


class Multiplication(Operation):
    symbol = mark = "*"
    name = "multiplication"
    example = "12*34"
    cases: ClassVar[Mapping[str, Case]] = {
        "unequal": cases.unequal,
        "nines": cases.nines,
        "trailing zeros": cases.trailing_zeros,
        "zero": cases.zero,
        "one": cases.one,
    }

    def truth(self, *operands: int) -> int:
        first, second = operands
        return first * second

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (sum(digits),)

    def answer(self, operands: Numbers) -> Result:
        product = digits.multiply(operands.digits[:, 0], operands.digits[:, 1])[:, None]
        return Result(Numbers(product, digits.length(product)), jnp.zeros(len(product), bool))
