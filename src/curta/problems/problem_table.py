"""Finite tables of problems as index arithmetic: every pair of operands, in a random order.

The order is a seeded bijection of the row numbers, computed when needed. So a split of five million
rows takes no memory, and no two of its parts can share a row. If a problem and its twin (its mirror
image: 2+1 of 1+2) have to be in the same part, the order is one of pairs. A hash identifies drawn
problems.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt

from curta.problems import arithmetic
from curta.problems.arithmetic import NumberBatch
from curta.problems.operations import OPERATIONS

ROUNDS = 6
LARGEST = (1 << 31) - 1
"""Most rows of a table: their numbers have 31 bits."""

Places = Int[Array, " places"]


@dataclass(frozen=True)
class TwinOrder:
    """A random order of a table in which each part has both problems of a mirrored pair or neither.

    Operands range from `low` to `high`. The first part has `first_part` problems, the second part
    all others.

    Problems without a twin (1+1) and pairs of twins are numbered separately. Each part gets the
    share of both that makes its size exact, and within it problems without a twin are spread evenly
    among the pairs. All of this is arithmetic on places; nothing is stored.
    """

    low: int
    high: int
    first_part: int

    @property
    def singles(self) -> int:
        """How many problems have no twin: those of equal operands."""
        return self.high - self.low + 1

    @property
    def pairs(self) -> int:
        return self.singles * (self.singles - 1) // 2

    @property
    def singles_first(self) -> int:
        """How many problems without a twin the first part has: their share, rounded to fit pairs.

        Of 10 x 10 sums, 25 held out: their share is 2.5, and 3 leave 22, which are 11 pairs.
        """
        share = self.first_part * self.singles // (self.singles + 2 * self.pairs)
        return share + (self.first_part - share) % 2

    def rows(self, places: Places, seed: int) -> Places:
        """Return the numbers of the rows at these places.

        Sums of 0..2 with three held out may have 0+2, 2+0 and 1+1 at places 0 to 2.
        """
        total, singles, size = self.singles + 2 * self.pairs, self.singles_first, self.first_part
        in_first = places < size
        inside = jnp.where(in_first, places, places - size)
        count = jnp.where(in_first, singles, self.singles - singles)
        # At every `spacing`-th place of a part stands a problem without a twin.
        other_spacing = _spacing(total - size, self.singles - singles)
        spacing = jnp.where(in_first, _spacing(size, singles), other_spacing)
        singles_before = jnp.minimum((inside + spacing - 1) // spacing, count)
        is_single = (inside % spacing == 0) & (inside // spacing < count)
        slot = inside - singles_before
        single = singles_before + jnp.where(in_first, 0, singles)
        pair = slot // 2 + jnp.where(in_first, 0, (size - singles) // 2)
        # Problems without a twin and pairs each have a random order.
        single = shuffled(jnp.where(is_single, single, 0), self.singles, seed)
        pair = shuffled(jnp.where(is_single, 0, pair), max(1, self.pairs), seed)
        # With n values on a circle, pairs are those at distance 1, 2, ..., n / 2. Each distance has
        # n of them, except n / 2, which has half as many. Of 0..4: 0+1, 1+2, 2+3, 3+4, 4+0, 0+2,
        # 1+3, 2+4, 3+0, 4+1.
        first = pair % self.singles
        other = (first + 1 + pair // self.singles) % self.singles
        is_flipped = slot % 2 == 1
        a = jnp.where(is_single, single, jnp.where(is_flipped, other, first))
        b = jnp.where(is_single, single, jnp.where(is_flipped, first, other))
        return a * self.singles + b

    def boundary(self, place: int) -> int:
        """Return the first place from `place` on at which the first part parts no twins."""
        spacing = _spacing(self.first_part, self.singles_first)
        while place < self.first_part:
            singles_before = min(-(-place // spacing), self.singles_first)
            if (place - singles_before) % 2 == 0:
                break
            place += 1
        return place


def _spacing(size: int, singles: int) -> int:
    """Return the distance in places between problems without a twin in a part."""
    return size // singles if singles else max(1, size)


@dataclass(frozen=True)
class ProblemTable:
    """All pairs of operands in `low..high` for which the operation has an answer.

    If the operation commutes, `twins_together` puts both a problem and its twin (b+a for a+b) among
    the first `held_out` places, or both after them.
    """

    operator: str
    low: int
    high: int
    seed: int = 0
    held_out: int = 0
    twins_together: bool = False

    @property
    def second(self) -> int:
        """The least second operand: one if zero has no answer, as in divisions."""
        refuse = OPERATIONS[self.operator].refuse
        refused = refuse((self.low, self.low)) and refuse((self.high, self.low))
        return self.low + 1 if refused else self.low

    @property
    def rows(self) -> int:
        return (self.high - self.low + 1) * (self.high - self.second + 1)

    @property
    def twin_order(self) -> TwinOrder | None:
        """The order by pairs of twins; None if twins need not be in the same part."""
        commutes = OPERATIONS[self.operator].commutes and self.second == self.low
        is_paired = self.twins_together and commutes
        return TwinOrder(self.low, self.high, self.held_out) if is_paired else None

    def held_range(self, place: int, count: int) -> range:
        """Return `count` held-out places, fewer at the end, from `place` or the next boundary on.

        At a boundary, problems that are held out part no twins.
        """
        start = place if self.twin_order is None else self.twin_order.boundary(place)
        return range(start, min(start + count, self.held_out))

    def row(self, places: Places) -> Places:
        """Return the numbers of the rows at these places of the random order."""
        order = self.twin_order
        if order is None:
            return shuffled(places, self.rows, self.seed)
        return order.rows(places, self.seed)

    def pairs(self, places: Int[Array, " places"]) -> Int[Array, "places 2"]:
        """Return the operands at these places.

        >>> sorted(ProblemTable("//", 0, 2).pairs(jnp.arange(6)).tolist())
        [[0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]]
        """
        row = self.row(places)
        width = self.high - self.second + 1
        return jnp.stack([self.low + row // width, self.second + row % width], axis=1)

    def row_of(self, pairs: Int[np.ndarray, "pairs 2"]) -> Int[np.ndarray, " pairs"]:
        """Return the numbers of the rows with these operands; -1 for operands outside of the table.

        >>> ProblemTable("//", 0, 2).row_of(np.array([[0, 1], [2, 2], [1, 0]])).tolist()
        [0, 5, -1]
        """
        first, second = pairs[:, 0] - self.low, pairs[:, 1] - self.second
        width = self.high - self.second + 1
        inside = (first >= 0) & (second >= 0) & (pairs.max(axis=1, initial=0) <= self.high)
        return np.where(inside, first * width + second, -1)

    def numbers(self, places: Int[Array, " places"]) -> NumberBatch:
        """Return the operands at these places, as digits."""
        return numbers(self.pairs(places), self.high)


def numbers(values: Int[Array, "batch operands"], high: int) -> NumberBatch:
    """Return whole numbers up to `high` as digits.

    >>> numbers(jnp.array([[7, 42]]), 99).digits.tolist()
    [[[7, 0], [2, 4]]]
    """
    arrays = arithmetic.of_ints(values, high)
    return NumberBatch(arrays, arithmetic.length(arrays))


Number = UInt[Array, "*shape"] | int
"""A seed, or one for each place."""


def shuffled(
    places: Int[Array, " places"] | UInt[Array, " places"], rows: int, seed: Number
) -> Int[Array, " places"]:
    """Return a pseudorandom bijection of 0..rows-1: a Feistel network with cycle walking.

    The network permutes the numbers of an even count of bits. A result that is no row is put in
    again, until it is one: at most four times on average.
    Source: Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002.

    >>> shuffled(jnp.arange(5), 5, seed=1).tolist()
    [4, 0, 2, 3, 1]
    """
    bits = max(1, ((rows - 1).bit_length() + 1) // 2)

    def walk(values: UInt[Array, " places"]) -> UInt[Array, " places"]:
        return jnp.where(values >= rows, _network(values, bits, seed), values)

    values = _network(places.astype(jnp.uint32), bits, seed)
    values = jax.lax.while_loop(lambda values: jnp.any(values >= rows), walk, values)
    return values.astype(jnp.int32)


def _network(value: UInt[Array, " places"], bits: int, seed: Number) -> UInt[Array, " places"]:
    left, right = value >> bits, value & ((1 << bits) - 1)
    for number in range(ROUNDS):
        left, right = right, left ^ (mixed(right, number, seed) & ((1 << bits) - 1))
    return left << bits | right


def mixed(value: UInt[Array, "*shape"], number: int, seed: Number) -> UInt[Array, "*shape"]:
    """Hash a value, a round and a seed, by the finaliser of MurmurHash3."""
    key = (jnp.asarray(seed, jnp.uint32) * ROUNDS + (number + 1)) * jnp.uint32(0x9E3779B9)
    mixed = value ^ key
    mixed = (mixed ^ mixed >> 16) * jnp.uint32(0x85EBCA6B)
    mixed = (mixed ^ mixed >> 13) * jnp.uint32(0xC2B2AE35)
    return mixed ^ mixed >> 16


FINGERPRINT_KEY = 0x43757274
"""Seed of `fingerprint`. Never change it: data sets are split by the hash."""


def fingerprint(numbers: NumberBatch) -> UInt[Array, " batch"]:
    """Hash the operands of each problem, independent of their order and the arrays' width."""
    values, lengths = numbers
    place = arithmetic.places(values)
    marks = jnp.where(place < lengths[..., None], values + 1, 0).astype(jnp.uint32)
    factors = mixed(place.astype(jnp.uint32), 0, FINGERPRINT_KEY)
    whole = jnp.sum(marks * factors, axis=-1, dtype=jnp.uint32)
    hashes = jnp.where(lengths > 0, mixed(whole, 1, FINGERPRINT_KEY), jnp.uint32(0))
    return mixed(jnp.sum(hashes, axis=-1, dtype=jnp.uint32), 2, FINGERPRINT_KEY)
