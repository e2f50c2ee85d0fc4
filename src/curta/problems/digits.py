"""Exact arithmetic on digit arrays, on the device, for any length.

Numbers are int32 arrays of decimal digits, least significant first, padded with zeros at the most
significant end. Training data is computed this way without leaving the device; `operations`, in
Python's ints, is what it must agree with.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


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
    divisor = jnp.pad(b, ((0, 0), (0, 1)))

    def step(remainder: Array, digit: Array) -> tuple[Array, Array]:
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
