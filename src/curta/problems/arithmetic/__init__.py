"""Operations on digit arrays, on the device: what published layouts are trained on.

One entry for each operation that is `on_device`, by its symbol.
"""

import jax.numpy as jnp

from curta.problems.arithmetic import cases, digits
from curta.problems.arithmetic.base import Arithmetic, Case, Noise, Result
from curta.problems.arithmetic.digits import Numbers

__all__ = ["ARITHMETIC", "Arithmetic", "Case", "Noise", "Numbers", "Result"]


def _sum(operands: Numbers) -> Result:
    wide = operands.digits.shape[1] // 9 + 1  # each further digit holds nine more operands
    columns = jnp.pad(jnp.sum(operands.digits, axis=1), ((0, 0), (0, wide)))
    total = digits.carried(columns)[:, None]
    return Result(Numbers(total, digits.length(total)), jnp.zeros(len(total), bool))


def _difference(operands: Numbers) -> Result:
    rest, negative = digits.distance(operands.digits[:, 0], operands.digits[:, 1])
    return Result(Numbers(rest[:, None], digits.length(rest)[:, None]), negative)


def _product(operands: Numbers) -> Result:
    product = digits.multiply(operands.digits[:, 0], operands.digits[:, 1])[:, None]
    return Result(Numbers(product, digits.length(product)), jnp.zeros(len(product), bool))


def _divided(operands: Numbers) -> tuple[Result, Result]:
    """Quotient and remainder."""
    found = digits.divide(operands.digits[:, 0], operands.digits[:, 1])
    never = jnp.zeros(len(operands.digits), bool)
    quotient, remainder = (
        Result(Numbers(part[:, None], digits.length(part)[:, None]), never) for part in found
    )
    return quotient, remainder


def _quotient(operands: Numbers) -> Result:
    return _divided(operands)[0]


def _remainder(operands: Numbers) -> Result:
    return _divided(operands)[1]


def _not_by_zero(operands: Numbers) -> Numbers:
    """Operands with 1 in place of a second one that is 0."""
    second = operands.digits[:, 1]
    nothing = jnp.all(second == 0, axis=-1)
    return operands._replace(digits=operands.digits.at[:, 1, 0].add(nothing.astype(jnp.int32)))


def _less(operands: Numbers) -> Result:
    """The number 1 where the first operand is less than the second, else 0."""
    _, less = digits.distance(operands.digits[:, 0], operands.digits[:, 1])
    number = less.astype(jnp.int32)[:, None, None]
    return Result(Numbers(number, jnp.ones_like(number[..., 0])), jnp.zeros_like(less))


def _sorted(operands: Numbers) -> Result:
    ordered = digits.ascending(operands)
    return Result(ordered, jnp.zeros(len(ordered.digits), bool))


def _places(operands: Numbers) -> Result:
    """The places of the operands in ascending order, from one on: 2, 3, 1 for 210, 7, 33."""
    there = jnp.sort(operands.lengths > 0, axis=1, descending=True)
    places = jnp.where(there, 1 + digits.order(operands), 0)
    powers = 10 ** jnp.arange(len(str(places.shape[1])))
    written = places[..., None] // powers[None, None] % 10
    lengths = jnp.where(there, digits.length(written), 0)
    return Result(Numbers(written, lengths), jnp.zeros(len(places), bool))


def _same(operands: Numbers) -> Result:
    return Result(operands, jnp.zeros(len(operands.digits), bool))


def _reversed(operands: Numbers) -> Result:
    turned = digits.reverse(operands.digits, operands.lengths)
    return Result(Numbers(turned, digits.length(turned)), jnp.zeros(len(turned), bool))


_DIVISION = {
    "larger": cases.smaller_first,
    "exact": cases.exact,
    "almost": cases.almost,
    "equal": cases.equal,
    "nines": cases.beyond_nines,
    "trailing zeros": cases.trailing_zeros,
    "zero": cases.zero,
    "one": cases.one,
}
_SINGLE = {"few digits": cases.few_digits, "trailing zeros": cases.trailing_zeros}

ARITHMETIC: dict[str, Arithmetic] = {
    "+": Arithmetic(
        _sum,
        {
            "unequal": cases.unequal,
            "carry": cases.carry,
            "nines": cases.nines,
            "zero": cases.zero,
        },
    ),
    "-": Arithmetic(
        _difference,
        {
            "unequal": cases.unequal,
            "borrow": cases.borrow,
            "equal": cases.equal,
            "near": cases.near,
            "zero": cases.zero,
        },
    ),
    "*": Arithmetic(
        _product,
        {
            "unequal": cases.unequal,
            "nines": cases.nines,
            "trailing zeros": cases.trailing_zeros,
            "sparse": cases.sparse,
            "zero": cases.zero,
            "one": cases.one,
        },
    ),
    "//": Arithmetic(_quotient, _DIVISION, _not_by_zero),
    "%": Arithmetic(_remainder, _DIVISION, _not_by_zero),
    "<": Arithmetic(_less, {"unequal": cases.unequal, "equal": cases.equal, "near": cases.near}),
    "sort": Arithmetic(
        _sorted,
        {
            "unequal": cases.unequal,
            "equal": cases.equal,
            "near": cases.near,
            "few digits": cases.few_digits,
            "zero": cases.zero,
        },
    ),
    "order": Arithmetic(
        _places,
        {
            "unequal": cases.unequal,
            "same length": cases.same_length,
            "one digit": cases.one_digit,
            "ties": cases.ties,
            "near": cases.near,
            "in order": cases.in_order,
        },
    ),
    "copy": Arithmetic(_same, _SINGLE),
    "reverse": Arithmetic(_reversed, _SINGLE),
}
