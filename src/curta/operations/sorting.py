"""`sort 210,7,33`: numbers in ascending order; equal ones keep theirs."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import jax.numpy as jnp

from .. import digits
from ..digits import Numbers
from . import cases
from .base import Case, Operation, Result


class Sorting(Operation):
    symbol = "sort"
    mark = "s"
    name = "sorting"
    example = "sort 210,7,33"
    least, most = 1, None
    cases: ClassVar[Mapping[str, Case]] = {
        "unequal": cases.unequal,
        "equal": cases.equal,
        "near": cases.near,
        "few digits": cases.few_digits,
        "zero": cases.zero,
    }

    def truth(self, *operands: int) -> tuple[int, ...]:
        return tuple(sorted(operands))

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (max(digits),) * len(digits)

    def answer(self, operands: Numbers) -> Result:
        ordered = digits.ascending(operands)
        return Result(ordered, jnp.zeros(len(ordered.digits), bool))

    def text(self, operands: tuple[str, ...]) -> str:
        return f"sort {','.join(operands)}"

    def value(self, numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(numbers)
