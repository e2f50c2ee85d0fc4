"""`order 210,7,33`: which number is the least, which the next; of equal ones the earlier first."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import jax.numpy as jnp

from curta.problems import digits
from curta.problems.digits import Numbers
from curta.problems.operations import cases
from curta.problems.operations.base import Case, Operation, Result


class Ordering(Operation):
    """The answer is the places of the operands, counted from one: 2,3,1 for 210,7,33."""

    symbol = "order"
    mark = "o"
    name = "ordering"
    example = "order 210,7,33"
    least, most = 1, None
    cases: ClassVar[Mapping[str, Case]] = {
        "unequal": cases.unequal,
        "same length": cases.same_length,
        "one digit": cases.one_digit,
        "ties": cases.ties,
        "near": cases.near,
        "in order": cases.in_order,
    }
    patterns: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "in order already": (1, 2, 3, 4, 5, 6, 7),
        "in opposite order": (7, 6, 5, 4, 3, 2, 1),
        "all equal": (5, 5, 5, 5, 5),
        "equal ones apart": (7, 3, 7, 3),
        "by the last digit": (123_453, 123_451, 123_452),
        "by length": (1000, 100, 10, 1),
    }

    def truth(self, *operands: int) -> tuple[int, ...]:
        return tuple(sorted(range(1, len(operands) + 1), key=lambda place: operands[place - 1]))

    def widths(self, digits: Sequence[int]) -> tuple[int, ...]:
        return (len(str(len(digits))),) * len(digits)

    def answer(self, operands: Numbers) -> Result:
        there = jnp.sort(operands.lengths > 0, axis=1, descending=True)
        places = jnp.where(there, 1 + digits.order(operands), 0)
        powers = 10 ** jnp.arange(len(str(places.shape[1])))
        written = places[..., None] // powers % 10
        lengths = jnp.where(there, digits.length(written), 0)
        return Result(Numbers(written, lengths), jnp.zeros(len(places), bool))

    def text(self, operands: tuple[str, ...]) -> str:
        return f"order {','.join(operands)}"

    def value(self, numbers: Sequence[int]) -> tuple[int, ...] | None:
        """None if a place is missing, or comes twice."""
        complete = sorted(numbers) == list(range(1, len(numbers) + 1))
        return tuple(numbers) if numbers and complete else None
