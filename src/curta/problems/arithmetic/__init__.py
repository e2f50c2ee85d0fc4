"""Operations on digit arrays, on the device: what published layouts are trained on.

One entry for each operation that is `on_device`, by its symbol.
"""

from functools import lru_cache, partial

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.config.registry import Registry
from curta.problems.arithmetic import cases, digits
from curta.problems.arithmetic.base import Arithmetic, Case, Noise, Result
from curta.problems.arithmetic.digits import Numbers
from curta.problems.operations import OPERATIONS

__all__ = ["ARITHMETIC", "Arithmetic", "Case", "Noise", "Numbers", "Result"]


def _one(answer: Int[Array, "batch width"]) -> Result:
    """One number each, from 0 up: `[[0, 6, 0]]` is 60."""
    number = answer[:, None]
    return Result(Numbers(number, digits.length(number)), jnp.zeros(len(number), bool))


def _sum(operands: Numbers) -> Result:
    wide = operands.digits.shape[1] // 9 + 1  # each further digit holds nine more operands
    columns = jnp.pad(jnp.sum(operands.digits, axis=1), ((0, 0), (0, wide)))
    return _one(digits.carried(columns))


def _difference(operands: Numbers) -> Result:
    rest, negative = digits.distance(operands.digits[:, 0], operands.digits[:, 1])
    return Result(Numbers(rest[:, None], digits.length(rest)[:, None]), negative)


def _product(operands: Numbers) -> Result:
    return _one(digits.multiply(operands.digits[:, 0], operands.digits[:, 1]))


def _quotient(operands: Numbers) -> Result:
    return _one(digits.divide(operands.digits[:, 0], operands.digits[:, 1])[0])


def _remainder(operands: Numbers) -> Result:
    return _one(digits.divide(operands.digits[:, 0], operands.digits[:, 1])[1])


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


def _residue(sign: str, modulus: int, operands: Numbers) -> Result:
    """The answer of a sign modulo a number: 90 + 10 is 3 modulo 97, and 5 - 7 is 95."""
    first, second = digits.residue(operands.digits, modulus).T
    answer = {"+": first + second, "-": first - second, "*": first * second}[sign] % modulus
    return _one(digits.of_ints(answer, modulus - 1))


def _named(*some: Case) -> dict[str, Case]:
    """Special cases by their names, `trailing zeros`."""
    return {case.__name__.replace("_", " "): case for case in some}


_DIVISION = (
    {"larger": cases.smaller_first}
    | _named(cases.exact, cases.almost, cases.equal)
    | {"nines": cases.beyond_nines}
    | _named(cases.trailing_zeros, cases.zero, cases.one)
)
_SINGLE = _named(cases.few_digits, cases.trailing_zeros)
_SUM = _named(cases.unequal, cases.carry, cases.nines, cases.zero)
_DIFFERENCE = _named(cases.unequal, cases.borrow, cases.equal, cases.near, cases.zero)
_PRODUCT = _named(
    cases.unequal, cases.nines, cases.trailing_zeros, cases.sparse, cases.zero, cases.one
)
_SORT = _named(cases.unequal, cases.equal, cases.near, cases.few_digits, cases.zero)
_ORDER = _named(
    cases.unequal, cases.same_length, cases.one_digit, cases.ties, cases.near, cases.in_order
)

_MODULAR = _named(cases.equal, cases.zero, cases.one)


@lru_cache
def _modular(symbol: str) -> Arithmetic | None:
    """The arithmetic of `+ mod 97` and its like; None for any other symbol."""
    operation = OPERATIONS.get(symbol)
    if operation is None or operation.modulus is None:
        return None
    return Arithmetic(partial(_residue, operation.mark, operation.modulus), _MODULAR)


_WRITTEN: dict[str, Arithmetic] = {
    "+": Arithmetic(_sum, _SUM),
    "-": Arithmetic(_difference, _DIFFERENCE),
    "*": Arithmetic(_product, _PRODUCT),
    "//": Arithmetic(_quotient, _DIVISION, _not_by_zero),
    "%": Arithmetic(_remainder, _DIVISION, _not_by_zero),
    "<": Arithmetic(_less, _named(cases.unequal, cases.equal, cases.near)),
    "sort": Arithmetic(_sorted, _SORT),
    "order": Arithmetic(_places, _ORDER),
    "copy": Arithmetic(_same, _SINGLE),
    "reverse": Arithmetic(_reversed, _SINGLE),
}
ARITHMETIC: Registry[Arithmetic] = Registry("operation", _WRITTEN, numbered=_modular)
"""Of every operation that is `on_device`, by its symbol."""
