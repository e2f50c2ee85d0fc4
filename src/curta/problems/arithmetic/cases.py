"""Special cases that several operations share; each maps random problems to rare ones.

Lengths may shrink but never grow, so a case fits wherever its problems did. Where bits of noise
are used a second time they are shifted (`>> 8`), so that the two choices do not go together.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int, UInt

from curta.problems.arithmetic import digits
from curta.problems.arithmetic.base import Noise
from curta.problems.arithmetic.digits import Numbers, cut


def unequal(operands: Numbers, noise: Noise) -> Numbers:
    """All operands but one are shorter than they were."""
    lengths, count = operands.lengths, operands.lengths.shape[1]
    shorter = jnp.minimum(lengths, 1 + below(noise[..., 0], jnp.maximum(lengths - 1, 1)))
    kept = jnp.arange(count)[None] == below(noise[:, :1, -1] >> 8, count)
    return cut(Numbers(operands.digits, jnp.where(kept, lengths, shorter)))


def smaller_first(operands: Numbers, noise: Noise) -> Numbers:
    """The first operand is shorter than the longest other, unless that has one digit only."""
    lengths = operands.lengths
    most = jnp.maximum(jnp.max(lengths[:, 1:], axis=1) - 1, 1)
    first = jnp.minimum(lengths[:, 0], 1 + below(noise[:, 0, 0], most))
    return cut(operands._replace(lengths=lengths.at[:, 0].set(first)))


def equal(operands: Numbers, noise: Noise) -> Numbers:
    """Every operand is the first; of different lengths, as much of it as fits."""
    same = jnp.broadcast_to(operands.digits[:, :1], operands.digits.shape)
    return cut(Numbers(same, _least(operands)))


def near(operands: Numbers, noise: Noise) -> Numbers:
    """Every operand is the first but for one digit."""
    same = equal(operands, noise)
    place = below(noise[..., 0] >> 8, jnp.maximum(same.lengths, 1))[..., None]
    moved = (same.digits + 1 + below(noise, 9)) % 10
    later = (jnp.arange(same.digits.shape[1]) > 0)[None, :, None]
    changed = (digits.places(same.digits) == place) & later
    return cut(Numbers(jnp.where(changed, moved, same.digits), same.lengths))


def ties(operands: Numbers, noise: Noise) -> Numbers:
    """All operands have one length, and about half of them are the first."""
    same, cut_short = equal(operands, noise), same_length(operands, noise)
    chosen = below(noise[..., -1:] >> 8, 2) > 0
    return cut(same._replace(digits=jnp.where(chosen, same.digits, cut_short.digits)))


def same_length(operands: Numbers, noise: Noise) -> Numbers:
    """All operands are as long as the shortest."""
    return cut(operands._replace(lengths=_least(operands)))


def one_digit(operands: Numbers, noise: Noise) -> Numbers:
    """Every operand has one digit."""
    return cut(operands._replace(lengths=jnp.minimum(operands.lengths, 1)))


def in_order(operands: Numbers, noise: Noise) -> Numbers:
    """All operands have one length and stand in ascending order."""
    return digits.ascending(same_length(operands, noise))


def carry(operands: Numbers, noise: Noise) -> Numbers:
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
    return cut(Numbers(operands.digits.at[:, 0].set(first).at[:, 1].set(second), lengths))


def borrow(operands: Numbers, noise: Noise) -> Numbers:
    """The first operand is mostly zeros: borrows run across them, as in 4000 - 2581."""
    zeros = below(noise[:, 0], 5) > 0
    first = jnp.where(zeros, 0, operands.digits[:, 0])
    return cut(operands._replace(digits=operands.digits.at[:, 0].set(first)))


def zero(operands: Numbers, noise: Noise) -> Numbers:
    """One operand is zero."""
    return _one_operand_is(0, operands, noise)


def one(operands: Numbers, noise: Noise) -> Numbers:
    """One operand is one."""
    return _one_operand_is(1, operands, noise)


def nines(operands: Numbers, noise: Noise) -> Numbers:
    """Nines throughout but for a few digits."""
    replaced = below(noise, 8) > 0
    return cut(operands._replace(digits=jnp.where(replaced, 9, operands.digits)))


def trailing_zeros(operands: Numbers, noise: Noise) -> Numbers:
    """Every operand ends in zeros."""
    zeros = 1 + below(noise[..., :1], jnp.maximum(operands.lengths - 1, 1)[..., None])
    kept = digits.places(operands.digits) >= zeros
    return cut(operands._replace(digits=jnp.where(kept, operands.digits, 0)))


def few_digits(operands: Numbers, noise: Noise) -> Numbers:
    """Only two different digits, one of them zero: long runs of the same digit."""
    digit = operands.digits[..., :1]
    return cut(operands._replace(digits=digit * below(noise, 2)))


def sparse(operands: Numbers, noise: Noise) -> Numbers:
    """Zeros between the first and the last digit of every operand, as in 10...02."""
    places = digits.places(operands.digits)
    kept = (places == 0) | (places == operands.lengths[..., None] - 1)
    return cut(operands._replace(digits=jnp.where(kept, operands.digits, 0)))


def exact(operands: Numbers, noise: Noise) -> Numbers:
    """The first operand is a multiple of the second."""
    return _with_first(operands, _multiple(operands))


def almost(operands: Numbers, noise: Noise) -> Numbers:
    """The first operand is one less than a multiple of the second."""
    product = _multiple(operands)
    one = jnp.zeros_like(product).at[:, 0].set(1)
    less, nothing = digits.distance(product, one)
    return _with_first(operands, jnp.where(nothing[:, None], product, less))


def beyond_nines(operands: Numbers, noise: Noise) -> Numbers:
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


def _least(operands: Numbers) -> Array:
    """The smallest length for all operands that are there.

    >>> _least(Numbers(jnp.zeros((1, 3, 4)), jnp.array([[4, 2, 0]]))).tolist()
    [[2, 2, 0]]
    """
    there = operands.lengths > 0
    huge = jnp.iinfo(jnp.int32).max
    least = jnp.min(jnp.where(there, operands.lengths, huge), axis=1, keepdims=True)
    return jnp.where(there, least, 0)


def _one_operand_is(digit: int, operands: Numbers, noise: Noise) -> Numbers:
    """One operand, drawn from all places, is that digit; nothing changes if there is none there."""
    count = operands.lengths.shape[1]
    chosen = jnp.arange(count)[None] == below(noise[:, :1, 0], count)
    there = chosen & (operands.lengths > 0)
    lengths = jnp.where(there, 1, operands.lengths)
    return cut(Numbers(jnp.where(there[..., None], digit, operands.digits), lengths))


def _multiple(operands: Numbers) -> Int[Array, "batch width"]:
    """A multiple of the second operand that is no longer than the first.

    It is 0 if the second is longer, and the second once where the multiple that was drawn is.

    >>> _multiple(Numbers(jnp.array([[[1, 2, 3], [4, 0, 0]]]), jnp.array([[3, 1]]))).tolist()
    [[4, 8, 0]]
    >>> _multiple(Numbers(jnp.array([[[7, 2], [4, 3]]]), jnp.array([[2, 2]]))).tolist()
    [[4, 3]]
    """
    first, second = operands.digits[:, 0], operands.digits[:, 1]
    places = operands.lengths[:, :1] - operands.lengths[:, 1:2]
    factor = jnp.where(digits.places(first) < jnp.maximum(places, 1), first, 0)
    product = digits.multiply(factor, second)
    fits = digits.length(product)[:, None] <= operands.lengths[:, :1]
    return jnp.where(places < 0, 0, jnp.where(fits, product[:, : first.shape[-1]], second))


def _with_first(operands: Numbers, first: Int[Array, "batch width"]) -> Numbers:
    """The operands with another first one, of whatever length it has."""
    lengths = operands.lengths.at[:, 0].set(digits.length(first))
    return Numbers(operands.digits.at[:, 0].set(first), lengths)
