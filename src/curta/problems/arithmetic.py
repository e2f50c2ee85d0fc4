"""Operations on digit arrays, on the device, for training on published layouts.

Each operation has special cases, which turn random problems into rare ones. Training draws a share
of its problems from them (`task.special`), and each is a slice of the evaluation, so a report shows
where errors are. Cases may shorten operands, never lengthen them, so bounds still hold. Noise that
is used twice is shifted the second time (`>> 8`), so that the two choices are independent.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt

from curta.config.errors import Registry
from curta.problems import digits
from curta.problems.digits import NumberBatch, cut
from curta.problems.operations import OPERATIONS, SIGNS

Noise = UInt[Array, "batch numbers width"]
Case = Callable[[NumberBatch, Noise], NumberBatch]
"""Turns random problems into rare ones of one kind, with random bits for each digit."""


class Arithmetic(NamedTuple):
    """An operation on the device; `answer` agrees with `Operation.truth`.

    `answer` returns absolute values; of a `signed` operation, an answer is negative if the first
    operand is `less` than the second. `admit` replaces random operands that have no answer.
    """

    answer: Callable[[NumberBatch], NumberBatch]
    cases: Mapping[str, Case]
    admit: Callable[[NumberBatch], NumberBatch] = lambda operands: operands


def unequal(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Shorten all operands but one."""
    lengths, count = operands.lengths, operands.lengths.shape[1]
    shorter = jnp.minimum(lengths, 1 + below(noise[..., 0], jnp.maximum(lengths - 1, 1)))
    is_long = jnp.arange(count)[None] == below(noise[:, :1, -1] >> 8, count)
    return cut(NumberBatch(operands.digits, jnp.where(is_long, lengths, shorter)))


def smaller_first(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make the first operand shorter than the longest other, unless that has one digit."""
    lengths = operands.lengths
    most = jnp.maximum(jnp.max(lengths[:, 1:], axis=1) - 1, 1)
    first = jnp.minimum(lengths[:, 0], 1 + below(noise[:, 0, 0], most))
    return cut(operands._replace(lengths=lengths.at[:, 0].set(first)))


def equal(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make all operands the first one, cut to the shortest length."""
    same = jnp.broadcast_to(operands.digits[:, :1], operands.digits.shape)
    return cut(NumberBatch(same, _least(operands)))


def near(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make all operands the first one, with one digit changed in each other."""
    same = equal(operands, noise)
    place = below(noise[..., 0] >> 8, jnp.maximum(same.lengths, 1))[..., None]
    moved = (same.digits + 1 + below(noise, 9)) % 10
    is_other = (jnp.arange(same.digits.shape[1]) > 0)[None, :, None]
    changed = (digits.places(same.digits) == place) & is_other
    return cut(NumberBatch(jnp.where(changed, moved, same.digits), same.lengths))


def ties(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Give all operands one length, and make about half of them the first one."""
    same, others = equal(operands, noise), same_length(operands, noise)
    chosen = below(noise[..., -1:] >> 8, 2) > 0
    return cut(same._replace(digits=jnp.where(chosen, same.digits, others.digits)))


def same_length(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Cut all operands to the shortest length."""
    return cut(operands._replace(lengths=_least(operands)))


def one_digit(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Cut all operands to one digit."""
    return cut(operands._replace(lengths=jnp.minimum(operands.lengths, 1)))


def in_order(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Give all operands one length, in ascending order."""
    return digits.ascending(same_length(operands, noise))


def carry(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make most digits of the first two operands add up to nine, so that carries run far.

    In half of the problems a carry runs through every place, as in 6238 + 3762.
    """
    lengths = operands.lengths.at[:, :2].set(_least(operands)[:, :2])
    first = operands.digits[:, 0]
    is_full = below(noise[:, 0, :1] >> 8, 2) > 0
    sums_to_nine = is_full | (below(noise[:, 1], 5) > 0)
    second = jnp.where(sums_to_nine, 9 - first, operands.digits[:, 1])
    lowest = is_full & (digits.places(first) == 0)
    first = jnp.where(lowest, jnp.maximum(first, 1), first)
    second = jnp.where(lowest, 10 - first, second)
    return cut(NumberBatch(operands.digits.at[:, 0].set(first).at[:, 1].set(second), lengths))


def borrow(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make most digits of the first operand zero, so that borrows run far: 4000 - 2581."""
    zeros = below(noise[:, 0], 5) > 0
    first = jnp.where(zeros, 0, operands.digits[:, 0])
    return cut(operands._replace(digits=operands.digits.at[:, 0].set(first)))


def one_operand_is(digit: int, operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make one operand, drawn from all places, that digit; nothing changes where none is there."""
    count = operands.lengths.shape[1]
    chosen = jnp.arange(count)[None] == below(noise[:, :1, 0], count)
    changed = chosen & (operands.lengths > 0)
    lengths = jnp.where(changed, 1, operands.lengths)
    return cut(NumberBatch(jnp.where(changed[..., None], digit, operands.digits), lengths))


def nines(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make all but a few digits nines."""
    replaced = below(noise, 8) > 0
    return cut(operands._replace(digits=jnp.where(replaced, 9, operands.digits)))


def trailing_zeros(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make all operands end in zeros."""
    zeros = 1 + below(noise[..., :1], jnp.maximum(operands.lengths - 1, 1)[..., None])
    stays = digits.places(operands.digits) >= zeros
    return cut(operands._replace(digits=jnp.where(stays, operands.digits, 0)))


def few_digits(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Leave two different digits, one of them zero, so that digits repeat."""
    digit = operands.digits[..., :1]
    return cut(operands._replace(digits=digit * below(noise, 2)))


def sparse(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make all digits but the first and the last zero, as in 10...02."""
    places = digits.places(operands.digits)
    stays = (places == 0) | (places == operands.lengths[..., None] - 1)
    return cut(operands._replace(digits=jnp.where(stays, operands.digits, 0)))


def exact(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make the first operand a multiple of the second."""
    return _with_first(operands, _multiple(operands))


def almost(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make the first operand one less than a multiple of the second."""
    product = _multiple(operands)
    less, is_zero = digits.distance(product, jnp.zeros_like(product).at[:, 0].set(1))
    return _with_first(operands, jnp.where(is_zero[:, None], product, less))


def beyond_nines(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make the second operand mostly nines, the first a multiple of it plus less than ten.

    Remainders then cross a power of ten, where borrows run through zeros: 3004 = 3 * 999 + 7.
    """
    second = nines(operands, noise).digits[:, 1]
    product = _multiple(operands._replace(digits=operands.digits.at[:, 1].set(second)))
    few = jnp.zeros_like(product).at[:, 0].set(below(noise[:, 0, 0] >> 8, 10))
    more = digits.add(product, few)
    fits = (more[:, -1] == 0) & (digits.length(more) <= operands.lengths[:, 0])
    changed = _with_first(operands, jnp.where(fits[:, None], more[:, :-1], product))
    return changed._replace(digits=changed.digits.at[:, 1].set(second))


def below(bits: UInt[Array, "*shape"], bound: int | Int[Array, "*#shape"]) -> Int[Array, "*shape"]:
    """Return random numbers in 0..bound-1, uniform up to bound / 2^32.

    That is one in 10^9 for digits, and two in 10^4 for a table of a million rows.

    >>> below(jnp.array([7, 12], jnp.uint32), 10).tolist()
    [7, 2]
    """
    return (bits % jnp.asarray(bound).astype(jnp.uint32)).astype(jnp.int32)


def _least(operands: NumberBatch) -> Array:
    """Return the smallest length of each problem, for all operands that are present.

    >>> _least(NumberBatch(jnp.zeros((1, 3, 4)), jnp.array([[4, 2, 0]]))).tolist()
    [[2, 2, 0]]
    """
    is_present = operands.lengths > 0
    huge = jnp.iinfo(jnp.int32).max
    least = jnp.min(jnp.where(is_present, operands.lengths, huge), axis=1, keepdims=True)
    return jnp.where(is_present, least, 0)


def _multiple(operands: NumberBatch) -> Int[Array, "batch width"]:
    """Return a multiple of the second operand that is no longer than the first.

    It is 0 if the second operand is longer, and the second itself if the drawn multiple is.

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
    """Return the operands with another first one, of any length."""
    lengths = operands.lengths.at[:, 0].set(digits.length(first))
    return NumberBatch(operands.digits.at[:, 0].set(first), lengths)


def _single(answer: Int[Array, "batch width"]) -> NumberBatch:
    """Return answers of one number: `[[0, 6, 0]]` is 60."""
    return NumberBatch(answer[:, None], digits.length(answer)[:, None])


def _sum(operands: NumberBatch) -> NumberBatch:
    carries = operands.digits.shape[1] // 9 + 1  # each further digit holds nine more operands
    columns = jnp.pad(jnp.sum(operands.digits, axis=1), ((0, 0), (0, carries)))
    return _single(digits.carried(columns))


def less(operands: NumberBatch) -> Bool[Array, " batch"]:
    """Return whether the first operand is less than the second."""
    return digits.distance(operands.digits[:, 0], operands.digits[:, 1])[1]


def _pairwise(
    operate: Callable[[Array, Array], Int[Array, "batch width"]],
) -> Callable[[NumberBatch], NumberBatch]:
    """Return the answer as a function of the operands' digits."""
    return lambda operands: _single(operate(operands.digits[:, 0], operands.digits[:, 1]))


def _not_by_zero(operands: NumberBatch) -> NumberBatch:
    """Return the operands with 1 in place of a second operand that is 0."""
    second = operands.digits[:, 1]
    is_zero = jnp.all(second == 0, axis=-1)
    return operands._replace(digits=operands.digits.at[:, 1, 0].add(is_zero.astype(jnp.int32)))


def _places(operands: NumberBatch) -> NumberBatch:
    """Return the places of the operands in ascending order, from 1: 2, 3, 1 for 210, 7, 33."""
    is_present = jnp.sort(operands.lengths > 0, axis=1, descending=True)
    places = jnp.where(is_present, 1 + digits.order(operands), 0)
    numbers = digits.of_ints(places, places.shape[1])
    return NumberBatch(numbers, jnp.where(is_present, digits.length(numbers), 0))


def _reversed(operands: NumberBatch) -> NumberBatch:
    numbers = digits.reverse(operands.digits, operands.lengths)
    return NumberBatch(numbers, digits.length(numbers))


has_zero: Case = partial(one_operand_is, 0)
has_one: Case = partial(one_operand_is, 1)

# Special cases by name; their order is part of the random draw.
_DIVISION = {
    "larger": smaller_first, "exact": exact, "almost": almost, "equal": equal,
    "nines": beyond_nines, "trailing zeros": trailing_zeros, "zero": has_zero, "one": has_one,
}  # fmt: skip
_SINGLE = {"few digits": few_digits, "trailing zeros": trailing_zeros}


@lru_cache
def _modular(symbol: str) -> Arithmetic | None:
    """Return the arithmetic of a symbol such as `+ mod 97`; None for any other symbol."""
    operation = OPERATIONS.get(symbol)
    if operation is None or operation.modulus is None:
        return None
    operate, modulus = SIGNS[operation.mark][1], operation.modulus

    def answer(operands: NumberBatch) -> NumberBatch:
        """Return answers modulo a number: 90 + 10 is 3 modulo 97, and 5 - 7 is 95."""
        first, second = digits.residue(operands.digits, modulus).T
        return _single(digits.of_ints(operate(first, second) % modulus, modulus - 1))

    return Arithmetic(answer, {"equal": equal, "zero": has_zero, "one": has_one})


ARITHMETIC: Registry[Arithmetic] = Registry(
    "operation",
    {
        "+": Arithmetic(
            _sum, {"unequal": unequal, "carry": carry, "nines": nines, "zero": has_zero}
        ),
        "-": Arithmetic(
            _pairwise(lambda a, b: digits.distance(a, b)[0]),
            {"unequal": unequal, "borrow": borrow, "equal": equal, "near": near, "zero": has_zero},
        ),
        "*": Arithmetic(
            _pairwise(digits.multiply),
            {"unequal": unequal, "nines": nines, "trailing zeros": trailing_zeros,
             "sparse": sparse, "zero": has_zero, "one": has_one},
        ),
        "//": Arithmetic(_pairwise(lambda a, b: digits.divide(a, b)[0]), _DIVISION, _not_by_zero),
        "%": Arithmetic(_pairwise(lambda a, b: digits.divide(a, b)[1]), _DIVISION, _not_by_zero),
        "<": Arithmetic(
            lambda n: _single(less(n)[:, None].astype(jnp.int32)),
            {"unequal": unequal, "equal": equal, "near": near},
        ),
        "sort": Arithmetic(
            digits.ascending,
            {"unequal": unequal, "equal": equal, "near": near, "few digits": few_digits,
             "zero": has_zero},
        ),
        "order": Arithmetic(
            _places,
            {"unequal": unequal, "same length": same_length, "one digit": one_digit,
             "ties": ties, "near": near, "in order": in_order},
        ),
        "copy": Arithmetic(lambda operands: operands, _SINGLE),
        "reverse": Arithmetic(_reversed, _SINGLE),
    },
    numbered=_modular,
)  # fmt: skip
"""The arithmetic of every operation that is `on_device`, by symbol."""
