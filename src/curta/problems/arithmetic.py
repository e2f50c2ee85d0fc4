"""Operations on digit arrays, on the device: what published layouts are trained on.

Each has special cases, which turn random problems into rare ones. Training draws a stated share
from them, and each is a slice of the evaluation set, so that a report shows where errors are.
Lengths may shrink but never grow, so a case fits wherever its problems did. Where bits of noise
are used a second time they are shifted (`>> 8`), so that the two choices do not go together.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt

from curta.config.registry import Registry
from curta.problems import digits
from curta.problems.digits import NumberBatch, cut
from curta.problems.operations import OPERATIONS

Noise = UInt[Array, "batch numbers width"]
Case = Callable[[NumberBatch, Noise], NumberBatch]
"""Random problems into problems of one kind, given fresh random bits for each digit."""


class Result(NamedTuple):
    """Answers of a batch: one or more numbers each, and whether they are below zero."""

    numbers: NumberBatch
    negative: Bool[Array, " batch"]


class Arithmetic(NamedTuple):
    """An operation on the device: `answer` is what its `truth` is in Python.

    `admit` replaces random operands that have no answer.
    """

    answer: Callable[[NumberBatch], Result]
    cases: Mapping[str, Case]
    admit: Callable[[NumberBatch], NumberBatch] = lambda operands: operands


def unequal(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """All operands but one are shorter than they were."""
    lengths, count = operands.lengths, operands.lengths.shape[1]
    shorter = jnp.minimum(lengths, 1 + below(noise[..., 0], jnp.maximum(lengths - 1, 1)))
    kept = jnp.arange(count)[None] == below(noise[:, :1, -1] >> 8, count)
    return cut(NumberBatch(operands.digits, jnp.where(kept, lengths, shorter)))


def smaller_first(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """The first operand is shorter than the longest other, unless that has one digit only."""
    lengths = operands.lengths
    most = jnp.maximum(jnp.max(lengths[:, 1:], axis=1) - 1, 1)
    first = jnp.minimum(lengths[:, 0], 1 + below(noise[:, 0, 0], most))
    return cut(operands._replace(lengths=lengths.at[:, 0].set(first)))


def equal(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Every operand is the first; of different lengths, as much of it as fits."""
    same = jnp.broadcast_to(operands.digits[:, :1], operands.digits.shape)
    return cut(NumberBatch(same, _least(operands)))


def near(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Every operand is the first but for one digit."""
    same = equal(operands, noise)
    place = below(noise[..., 0] >> 8, jnp.maximum(same.lengths, 1))[..., None]
    moved = (same.digits + 1 + below(noise, 9)) % 10
    later = (jnp.arange(same.digits.shape[1]) > 0)[None, :, None]
    changed = (digits.places(same.digits) == place) & later
    return cut(NumberBatch(jnp.where(changed, moved, same.digits), same.lengths))


def ties(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """All operands have one length, and about half of them are the first."""
    same, cut_short = equal(operands, noise), same_length(operands, noise)
    chosen = below(noise[..., -1:] >> 8, 2) > 0
    return cut(same._replace(digits=jnp.where(chosen, same.digits, cut_short.digits)))


def same_length(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """All operands are as long as the shortest."""
    return cut(operands._replace(lengths=_least(operands)))


def one_digit(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Every operand has one digit."""
    return cut(operands._replace(lengths=jnp.minimum(operands.lengths, 1)))


def in_order(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """All operands have one length and stand in ascending order."""
    return digits.ascending(same_length(operands, noise))


def carry(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """The first two operands' digits mostly add up to nine, so that carries run far.

    In half of the problems the carry runs through every place, as in 6238 + 3762.
    """
    lengths = operands.lengths.at[:, :2].set(_least(operands)[:, :2])
    first = operands.digits[:, 0]
    whole = below(noise[:, 0, :1] >> 8, 2) > 0
    nines = whole | (below(noise[:, 1], 5) > 0)
    second = jnp.where(nines, 9 - first, operands.digits[:, 1])
    lowest = whole & (digits.places(first) == 0)
    first = jnp.where(lowest, jnp.maximum(first, 1), first)
    second = jnp.where(lowest, 10 - first, second)
    return cut(NumberBatch(operands.digits.at[:, 0].set(first).at[:, 1].set(second), lengths))


def borrow(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """The first operand is mostly zeros: borrows run across them, as in 4000 - 2581."""
    zeros = below(noise[:, 0], 5) > 0
    first = jnp.where(zeros, 0, operands.digits[:, 0])
    return cut(operands._replace(digits=operands.digits.at[:, 0].set(first)))


def zero(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """One operand is zero."""
    return _one_operand_is(0, operands, noise)


def one(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """One operand is one."""
    return _one_operand_is(1, operands, noise)


def nines(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Nines throughout but for a few digits."""
    replaced = below(noise, 8) > 0
    return cut(operands._replace(digits=jnp.where(replaced, 9, operands.digits)))


def trailing_zeros(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Every operand ends in zeros."""
    zeros = 1 + below(noise[..., :1], jnp.maximum(operands.lengths - 1, 1)[..., None])
    kept = digits.places(operands.digits) >= zeros
    return cut(operands._replace(digits=jnp.where(kept, operands.digits, 0)))


def few_digits(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Only two different digits, one of them zero: long runs of the same digit."""
    digit = operands.digits[..., :1]
    return cut(operands._replace(digits=digit * below(noise, 2)))


def sparse(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Zeros between the first and the last digit of every operand, as in 10...02."""
    places = digits.places(operands.digits)
    kept = (places == 0) | (places == operands.lengths[..., None] - 1)
    return cut(operands._replace(digits=jnp.where(kept, operands.digits, 0)))


def exact(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """The first operand is a multiple of the second."""
    return _with_first(operands, _multiple(operands))


def almost(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """The first operand is one less than a multiple of the second."""
    product = _multiple(operands)
    one = jnp.zeros_like(product).at[:, 0].set(1)
    less, nothing = digits.distance(product, one)
    return _with_first(operands, jnp.where(nothing[:, None], product, less))


def beyond_nines(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """The second operand mostly nines, the first a multiple of it and less than ten more.

    Remainders then step across a power of ten, where borrows run through zeros: as 3004 by 999,
    where 3004 = 3 * 999 + 7.
    """
    second = nines(operands, noise).digits[:, 1]
    product = _multiple(operands._replace(digits=operands.digits.at[:, 1].set(second)))
    few = jnp.zeros_like(product).at[:, 0].set(below(noise[:, 0, 0] >> 8, 10))
    more = digits.add(product, few)
    fits = (more[:, -1] == 0) & (digits.length(more) <= operands.lengths[:, 0])
    found = _with_first(operands, jnp.where(fits[:, None], more[:, :-1], product))
    return found._replace(digits=found.digits.at[:, 1].set(second))


def below(bits: UInt[Array, "*shape"], bound: int | Int[Array, "*#shape"]) -> Int[Array, "*shape"]:
    """Whole numbers in 0..bound-1, some likelier than others by up to bound / 2^32.

    That is one in 10^9 for digits, and two in 10^4 for a table of a million rows.

    >>> below(jnp.array([7, 12], jnp.uint32), 10).tolist()
    [7, 2]
    """
    return (bits % jnp.asarray(bound).astype(jnp.uint32)).astype(jnp.int32)


def _least(operands: NumberBatch) -> Array:
    """The smallest length for all operands that are there.

    >>> _least(NumberBatch(jnp.zeros((1, 3, 4)), jnp.array([[4, 2, 0]]))).tolist()
    [[2, 2, 0]]
    """
    there = operands.lengths > 0
    huge = jnp.iinfo(jnp.int32).max
    least = jnp.min(jnp.where(there, operands.lengths, huge), axis=1, keepdims=True)
    return jnp.where(there, least, 0)


def _one_operand_is(digit: int, operands: NumberBatch, noise: Noise) -> NumberBatch:
    """One operand, drawn from all places, is that digit; nothing changes if there is none there."""
    count = operands.lengths.shape[1]
    chosen = jnp.arange(count)[None] == below(noise[:, :1, 0], count)
    there = chosen & (operands.lengths > 0)
    lengths = jnp.where(there, 1, operands.lengths)
    return cut(NumberBatch(jnp.where(there[..., None], digit, operands.digits), lengths))


def _multiple(operands: NumberBatch) -> Int[Array, "batch width"]:
    """A multiple of the second operand that is no longer than the first.

    It is 0 if the second is longer, and the second once where the multiple that was drawn is.

    >>> _multiple(NumberBatch(jnp.array([[[1, 2, 3], [4, 0, 0]]]), jnp.array([[3, 1]]))).tolist()
    [[4, 8, 0]]
    >>> _multiple(NumberBatch(jnp.array([[[7, 2], [4, 3]]]), jnp.array([[2, 2]]))).tolist()
    [[4, 3]]
    """
    first, second = operands.digits[:, 0], operands.digits[:, 1]
    places = operands.lengths[:, :1] - operands.lengths[:, 1:2]
    factor = jnp.where(digits.places(first) < jnp.maximum(places, 1), first, 0)
    product = digits.multiply(factor, second)
    fits = digits.length(product)[:, None] <= operands.lengths[:, :1]
    return jnp.where(places < 0, 0, jnp.where(fits, product[:, : first.shape[-1]], second))


def _with_first(operands: NumberBatch, first: Int[Array, "batch width"]) -> NumberBatch:
    """The operands with another first one, of whatever length it has."""
    lengths = operands.lengths.at[:, 0].set(digits.length(first))
    return NumberBatch(operands.digits.at[:, 0].set(first), lengths)


def _one(answer: Int[Array, "batch width"]) -> Result:
    """One number each, from 0 up: `[[0, 6, 0]]` is 60."""
    number = answer[:, None]
    return Result(NumberBatch(number, digits.length(number)), jnp.zeros(len(number), bool))


def _sum(operands: NumberBatch) -> Result:
    wide = operands.digits.shape[1] // 9 + 1  # each further digit holds nine more operands
    columns = jnp.pad(jnp.sum(operands.digits, axis=1), ((0, 0), (0, wide)))
    return _one(digits.carried(columns))


def _difference(operands: NumberBatch) -> Result:
    rest, negative = digits.distance(operands.digits[:, 0], operands.digits[:, 1])
    return Result(NumberBatch(rest[:, None], digits.length(rest)[:, None]), negative)


def _divided(operands: NumberBatch) -> tuple[Array, Array]:
    return digits.divide(operands.digits[:, 0], operands.digits[:, 1])


def _not_by_zero(operands: NumberBatch) -> NumberBatch:
    """Operands with 1 in place of a second one that is 0."""
    second = operands.digits[:, 1]
    nothing = jnp.all(second == 0, axis=-1)
    return operands._replace(digits=operands.digits.at[:, 1, 0].add(nothing.astype(jnp.int32)))


def _less(operands: NumberBatch) -> Result:
    """The number 1 where the first operand is less than the second, else 0."""
    _, less = digits.distance(operands.digits[:, 0], operands.digits[:, 1])
    number = less.astype(jnp.int32)[:, None, None]
    return Result(NumberBatch(number, jnp.ones_like(number[..., 0])), jnp.zeros_like(less))


def _sorted(operands: NumberBatch) -> Result:
    ordered = digits.ascending(operands)
    return Result(ordered, jnp.zeros(len(ordered.digits), bool))


def _places(operands: NumberBatch) -> Result:
    """The places of the operands in ascending order, from one on: 2, 3, 1 for 210, 7, 33."""
    there = jnp.sort(operands.lengths > 0, axis=1, descending=True)
    places = jnp.where(there, 1 + digits.order(operands), 0)
    powers = 10 ** jnp.arange(len(str(places.shape[1])))
    written = places[..., None] // powers[None, None] % 10
    lengths = jnp.where(there, digits.length(written), 0)
    return Result(NumberBatch(written, lengths), jnp.zeros(len(places), bool))


def _reversed(operands: NumberBatch) -> Result:
    turned = digits.reverse(operands.digits, operands.lengths)
    return Result(NumberBatch(turned, digits.length(turned)), jnp.zeros(len(turned), bool))


def _residue(sign: str, modulus: int, operands: NumberBatch) -> Result:
    """The answer of a sign modulo a number: 90 + 10 is 3 modulo 97, and 5 - 7 is 95."""
    first, second = digits.residue(operands.digits, modulus).T
    answer = {"+": first + second, "-": first - second, "*": first * second}[sign] % modulus
    return _one(digits.of_ints(answer, modulus - 1))


def _named(*some: Case) -> dict[str, Case]:
    """Special cases by their names, `trailing zeros`."""
    return {case.__name__.replace("_", " "): case for case in some}


_DIVISION = (
    {"larger": smaller_first}
    | _named(exact, almost, equal)
    | {"nines": beyond_nines}
    | _named(trailing_zeros, zero, one)
)
_SINGLE = _named(few_digits, trailing_zeros)
_SUM = _named(unequal, carry, nines, zero)
_DIFFERENCE = _named(unequal, borrow, equal, near, zero)
_PRODUCT = _named(unequal, nines, trailing_zeros, sparse, zero, one)
_SORT = _named(unequal, equal, near, few_digits, zero)
_ORDER = _named(unequal, same_length, one_digit, ties, near, in_order)

_MODULAR = _named(equal, zero, one)


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
    "*": Arithmetic(lambda n: _one(digits.multiply(n.digits[:, 0], n.digits[:, 1])), _PRODUCT),
    "//": Arithmetic(
        lambda n: _one(digits.divide(n.digits[:, 0], n.digits[:, 1])[0]), _DIVISION, _not_by_zero
    ),
    "%": Arithmetic(
        lambda n: _one(digits.divide(n.digits[:, 0], n.digits[:, 1])[1]), _DIVISION, _not_by_zero
    ),
    "<": Arithmetic(_less, _named(unequal, equal, near)),
    "sort": Arithmetic(_sorted, _SORT),
    "order": Arithmetic(_places, _ORDER),
    "copy": Arithmetic(lambda n: Result(n, jnp.zeros(len(n.digits), bool)), _SINGLE),
    "reverse": Arithmetic(_reversed, _SINGLE),
}
ARITHMETIC: Registry[Arithmetic] = Registry("operation", _WRITTEN, numbered=_modular)
"""Of every operation that is `on_device`, by its symbol."""
