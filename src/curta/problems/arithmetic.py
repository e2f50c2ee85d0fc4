"""Numbers as arrays of digits, and operations on them, on the device, for any length.

Numbers are int32 arrays of decimal digits, least significant first, padded with zeros at the most
significant end. Training on published layouts computes its data this way without leaving the
device; `operations`, in Python's ints, is what it must agree with.

Each operation has special cases, which turn random problems into rare ones. Training draws a share
of its problems from them (`task.special`), and each is a slice of the evaluation, so a report shows
where errors are. Cases may shorten operands, never lengthen them, so bounds still hold. Noise that
is used twice is shifted the second time (`>> 8`), so that the two choices are independent.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt

from curta.config.errors import Registry
from curta.problems.operations import OPERATIONS, SIGNS


class NumberBatch(NamedTuple):
    """The numbers of a batch of problems, least significant digit first; length 0: no number."""

    digits: Int[Array, "batch numbers width"]
    lengths: Int[Array, "batch numbers"]


def add(a: Int[Array, "*batch width"], b: Int[Array, "*batch width"]) -> Int[Array, "*batch more"]:
    """Return the sum of two numbers, one digit wider than the operands.

    >>> add(jnp.array([8, 9]), jnp.array([5, 0])).tolist()  # 98 + 5
    [3, 0, 1]
    """
    sums = a + b
    return carried(jnp.concatenate([sums, jnp.zeros_like(sums[..., :1])], axis=-1))


def carried(columns: Int[Array, "*batch width"]) -> Int[Array, "*batch width"]:
    """Propagate the carries of columns that may hold more than nine; the last must not overflow.

    A scan over places: one pass, however far carries run.

    >>> carried(jnp.array([13, 9, 0])).tolist()
    [3, 0, 1]
    """

    def place(carry: Array, column: Array) -> tuple[Array, Array]:
        total = column + carry
        return total // 10, total % 10

    return _ripple(place, columns)


def subtract(
    a: Int[Array, "*batch width"], b: Int[Array, "*batch width"]
) -> tuple[Int[Array, "*batch width"], Bool[Array, "*batch width"]]:
    """Return the digits of a - b, modulo 10^width, and whether each place borrows.

    The last place borrows if and only if a < b.

    >>> [part.tolist() for part in subtract(jnp.array([2, 1]), jnp.array([5, 0]))]  # 12 - 5
    [[7, 0], [True, False]]
    """

    def place(borrow: Array, column: Array) -> tuple[Array, tuple[Array, Array]]:
        total = column - borrow
        return (total < 0).astype(total.dtype), (total % 10, total < 0)

    return _ripple(place, a - b)


def distance(
    a: Int[Array, "*batch width"], b: Int[Array, "*batch width"]
) -> tuple[Int[Array, "*batch width"], Bool[Array, "*batch"]]:
    """Return the digits of |a - b|, and whether a < b.

    >>> [part.tolist() for part in distance(jnp.array([5, 0]), jnp.array([2, 1]))]  # 5 and 12
    [[7, 0], True]
    """
    (down, borrows), (up, _) = subtract(a, b), subtract(b, a)
    less = borrows[..., -1]
    return jnp.where(less[..., None], up, down), less


def multiply(
    a: Int[Array, "*batch first"], b: Int[Array, "*batch second"]
) -> Int[Array, "*batch both"]:
    """Return the product, as wide as both factors together.

    >>> multiply(jnp.array([2, 1]), jnp.array([5])).tolist()  # 12 x 5
    [0, 6, 0]
    """
    # 12 x 45 adds the rows 5 x 12 and, one place further, 4 x 12; carries come last.
    width = a.shape[-1] + b.shape[-1]
    row = jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, b.shape[-1])])

    def add_row(columns: Array, factor: tuple[Array, Array]) -> tuple[Array, None]:
        place, digit = factor
        return columns + jnp.roll(row, place, axis=-1) * digit[..., None], None

    places = jnp.arange(b.shape[-1])
    columns = jnp.zeros((*a.shape[:-1], width), a.dtype)
    return carried(jax.lax.scan(add_row, columns, (places, jnp.moveaxis(b, -1, 0)))[0])


def divide(
    a: Int[Array, "batch first"], b: Int[Array, "batch second"]
) -> tuple[Int[Array, "batch first"], Int[Array, "batch second"]]:
    """Return quotient and remainder by long division; the divisor must not be zero.

    >>> [part.tolist() for part in divide(jnp.array([[7, 1]]), jnp.array([[5]]))]  # 17 by 5
    [[[3, 0]], [[2]]]
    """
    divisor = jnp.pad(b, ((0, 0), (0, 1)))  # the remainder has one place more before it is reduced

    def step(remainder: Array, digit: Array) -> tuple[Array, Array]:
        """Append the next digit to the remainder; return what is left, and the quotient's digit."""
        remainder, count = jnp.concatenate([digit[:, None], remainder[:, :-1]], axis=1), 0 * digit
        for _ in range(9):  # subtract the divisor as often as it fits
            less, borrows = subtract(remainder, divisor)
            fits = ~borrows[:, -1]
            remainder = jnp.where(fits[:, None], less, remainder)
            count = count + fits.astype(count.dtype)
        return remainder, count

    remainder, quotient = jax.lax.scan(step, jnp.zeros_like(divisor), a.T[::-1])
    return quotient[::-1].T, remainder[:, :-1]


def ascending(numbers: NumberBatch) -> NumberBatch:
    """Sort the numbers of each problem in ascending order, absent ones last; stable.

    >>> digits = jnp.array([[[7, 0], [2, 1], [3, 0]]])  # 7, 12, 3
    >>> ascending(NumberBatch(digits, jnp.array([[1, 2, 1]]))).digits.tolist()
    [[[3, 0], [7, 0], [2, 1]]]
    """
    places = order(numbers)
    digits = jnp.take_along_axis(numbers.digits, places[..., None], axis=1)
    return NumberBatch(digits, jnp.take_along_axis(numbers.lengths, places, axis=1))


def order(numbers: NumberBatch) -> Int[Array, "batch numbers"]:
    """Return the places of each problem's numbers in ascending order, absent ones last.

    >>> order(NumberBatch(jnp.array([[[7, 0], [2, 1], [3, 0]]]), jnp.array([[1, 2, 1]]))).tolist()
    [[2, 0, 1]]
    """
    width = numbers.digits.shape[-1]
    keys = [numbers.digits[..., place] for place in range(width)]
    return jnp.lexsort((*keys, numbers.lengths == 0), axis=-1)


def reverse(
    digits: Int[Array, "*batch width"], lengths: Int[Array, "*batch"]
) -> Int[Array, "*batch width"]:
    """Return the first `lengths` digits in opposite order.

    >>> reverse(jnp.array([1, 2, 3, 0]), jnp.array(3)).tolist()
    [3, 2, 1, 0]
    """
    source = lengths[..., None] - 1 - places(digits)
    reversed_digits = jnp.take_along_axis(digits, jnp.maximum(source, 0), axis=-1)
    return jnp.where(source >= 0, reversed_digits, 0)


def residue(digits: Int[Array, "*batch width"], modulus: int) -> Int[Array, "*batch"]:
    """Return the remainder of a number of any length; ten times the modulus must fit 32 bits.

    >>> residue(jnp.array([0, 0, 2]), 97).tolist()  # 200
    6
    """

    def place(remainder: Array, digit: Array) -> tuple[Array, None]:
        return (10 * remainder + digit) % modulus, None

    highest_first = jnp.moveaxis(digits, -1, 0)[::-1]
    return jax.lax.scan(place, jnp.zeros_like(highest_first[0]), highest_first)[0]


def of_ints(values: Int[Array, "*batch"], high: int) -> Int[Array, "*batch width"]:
    """Return the digits of whole numbers up to `high`, as many as `high` has.

    >>> of_ints(jnp.array([7, 42]), 100).tolist()
    [[7, 0, 0], [2, 4, 0]]
    """
    return jnp.stack([values // 10**place % 10 for place in range(len(str(high)))], axis=-1)


def length(digits: Int[Array, "*batch width"]) -> Int[Array, "*batch"]:
    """Count digits without leading zeros; zero has one digit.

    >>> length(jnp.array([[7, 0, 2, 0], [0, 0, 0, 0]])).tolist()
    [3, 1]
    """
    return jnp.maximum(1, jnp.max(jnp.where(digits > 0, 1 + places(digits), 0), axis=-1))


def cut(numbers: NumberBatch) -> NumberBatch:
    """Cut numbers to their lengths; a leading zero becomes 1, but zero itself stays.

    >>> cut(NumberBatch(jnp.array([[[4, 0, 9]]]), jnp.array([[2]]))).digits.tolist()
    [[[4, 1, 0]]]
    """
    place, lengths = places(numbers.digits), numbers.lengths[..., None]
    leading = (place == lengths - 1) & (lengths > 1) & (numbers.digits == 0)
    digits = jnp.where(leading, 1, numbers.digits)
    return NumberBatch(jnp.where(place < lengths, digits, 0), numbers.lengths)


def places(digits: Int[Array, "*batch width"]) -> Int[Array, "*#batch width"]:
    """Return 0, 1, 2, ... along the last axis; other axes have size 1.

    >>> places(jnp.array([[7, 0, 2], [1, 1, 0]])).tolist()
    [[0, 1, 2]]
    """
    return jnp.expand_dims(jnp.arange(digits.shape[-1]), tuple(range(digits.ndim - 1)))


def _ripple(place: Callable[[Array, Array], tuple[Array, Any]], columns: Array) -> Any:
    """Scan `place` over columns from the least significant one; return its outputs."""
    columns = jnp.moveaxis(columns, -1, 0)
    _, outputs = jax.lax.scan(place, jnp.zeros_like(columns[0]), columns)
    return jax.tree.map(lambda output: jnp.moveaxis(output, 0, -1), outputs)


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
    changed = (places(same.digits) == place) & is_other
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
    return ascending(same_length(operands, noise))


def carry(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make most digits of the first two operands add up to nine, so that carries run far.

    In half of the problems a carry runs through every place, as in 6238 + 3762.
    """
    lengths = operands.lengths.at[:, :2].set(_least(operands)[:, :2])
    first = operands.digits[:, 0]
    is_full = below(noise[:, 0, :1] >> 8, 2) > 0
    sums_to_nine = is_full | (below(noise[:, 1], 5) > 0)
    second = jnp.where(sums_to_nine, 9 - first, operands.digits[:, 1])
    lowest = is_full & (places(first) == 0)
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
    stays = places(operands.digits) >= zeros
    return cut(operands._replace(digits=jnp.where(stays, operands.digits, 0)))


def few_digits(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Leave two different digits, one of them zero, so that digits repeat."""
    digit = operands.digits[..., :1]
    return cut(operands._replace(digits=digit * below(noise, 2)))


def sparse(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make all digits but the first and the last zero, as in 10...02."""
    place = places(operands.digits)
    stays = (place == 0) | (place == operands.lengths[..., None] - 1)
    return cut(operands._replace(digits=jnp.where(stays, operands.digits, 0)))


def exact(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make the first operand a multiple of the second."""
    return _with_first(operands, _multiple(operands))


def almost(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make the first operand one less than a multiple of the second."""
    product = _multiple(operands)
    less, is_zero = distance(product, jnp.zeros_like(product).at[:, 0].set(1))
    return _with_first(operands, jnp.where(is_zero[:, None], product, less))


def beyond_nines(operands: NumberBatch, noise: Noise) -> NumberBatch:
    """Make the second operand mostly nines, the first a multiple of it plus less than ten.

    Remainders then cross a power of ten, where borrows run through zeros: 3004 = 3 * 999 + 7.
    """
    second = nines(operands, noise).digits[:, 1]
    product = _multiple(operands._replace(digits=operands.digits.at[:, 1].set(second)))
    few = jnp.zeros_like(product).at[:, 0].set(below(noise[:, 0, 0] >> 8, 10))
    more = add(product, few)
    fits = (more[:, -1] == 0) & (length(more) <= operands.lengths[:, 0])
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
    shift = operands.lengths[:, :1] - operands.lengths[:, 1:2]
    factor = jnp.where(places(first) < jnp.maximum(shift, 1), first, 0)
    product = multiply(factor, second)
    fits = length(product)[:, None] <= operands.lengths[:, :1]
    return jnp.where(shift < 0, 0, jnp.where(fits, product[:, : first.shape[-1]], second))


def _with_first(operands: NumberBatch, first: Int[Array, "batch width"]) -> NumberBatch:
    """Return the operands with another first one, of any length."""
    lengths = operands.lengths.at[:, 0].set(length(first))
    return NumberBatch(operands.digits.at[:, 0].set(first), lengths)


def _single(answer: Int[Array, "batch width"]) -> NumberBatch:
    """Return answers of one number: `[[0, 6, 0]]` is 60."""
    return NumberBatch(answer[:, None], length(answer)[:, None])


def _sum(operands: NumberBatch) -> NumberBatch:
    carries = operands.digits.shape[1] // 9 + 1  # each further digit holds nine more operands
    columns = jnp.pad(jnp.sum(operands.digits, axis=1), ((0, 0), (0, carries)))
    return _single(carried(columns))


def less(operands: NumberBatch) -> Bool[Array, " batch"]:
    """Return whether the first operand is less than the second."""
    return distance(operands.digits[:, 0], operands.digits[:, 1])[1]


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
    places = jnp.where(is_present, 1 + order(operands), 0)
    numbers = of_ints(places, places.shape[1])
    return NumberBatch(numbers, jnp.where(is_present, length(numbers), 0))


def _reversed(operands: NumberBatch) -> NumberBatch:
    numbers = reverse(operands.digits, operands.lengths)
    return NumberBatch(numbers, length(numbers))


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
        first, second = residue(operands.digits, modulus).T
        return _single(of_ints(operate(first, second) % modulus, modulus - 1))

    return Arithmetic(answer, {"equal": equal, "zero": has_zero, "one": has_one})


ARITHMETIC: Registry[Arithmetic] = Registry(
    "operation",
    {
        "+": Arithmetic(
            _sum, {"unequal": unequal, "carry": carry, "nines": nines, "zero": has_zero}
        ),
        "-": Arithmetic(
            _pairwise(lambda a, b: distance(a, b)[0]),
            {"unequal": unequal, "borrow": borrow, "equal": equal, "near": near, "zero": has_zero},
        ),
        "*": Arithmetic(
            _pairwise(multiply),
            {"unequal": unequal, "nines": nines, "trailing zeros": trailing_zeros,
             "sparse": sparse, "zero": has_zero, "one": has_one},
        ),
        "//": Arithmetic(_pairwise(lambda a, b: divide(a, b)[0]), _DIVISION, _not_by_zero),
        "%": Arithmetic(_pairwise(lambda a, b: divide(a, b)[1]), _DIVISION, _not_by_zero),
        "<": Arithmetic(
            lambda n: _single(less(n)[:, None].astype(jnp.int32)),
            {"unequal": unequal, "equal": equal, "near": near},
        ),
        "sort": Arithmetic(
            ascending,
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
