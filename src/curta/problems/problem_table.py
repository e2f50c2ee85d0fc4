"""Finite tables of problems as index arithmetic: every pair of operands, in a random order.

A row's place in the order is a seeded bijection of the row numbers, computed when it is
asked for, so a split of five million rows takes no memory and no two of its parts
can share a row. Where twins stand together (`problem_twins.py`), the order is one of pairs.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt

from curta.problems.arithmetic import digits
from curta.problems.arithmetic.digits import Numbers
from curta.problems.operations import OPERATIONS
from curta.problems.problem_twins import Parts

ROUNDS = 6
LARGEST = (1 << 31) - 1
"""Most rows of a table: their numbers have 31 bits."""


@dataclass(frozen=True)
class Table:
    """All pairs of operands in `low..high` for which the operation has an answer.

    With `twins_together`, a problem and its twin (b+a of a+b) both stand among the first `held_out`
    places, or both after them, where the operation commutes.
    """

    operator: str
    low: int
    high: int
    seed: int = 0
    held_out: int = 0
    twins_together: bool = False

    @property
    def second(self) -> int:
        """The least second operand: zero divides nothing."""
        refuse = OPERATIONS[self.operator].refuse
        refused = refuse((self.low, self.low)) and refuse((self.high, self.low))
        return self.low + 1 if refused else self.low

    @property
    def rows(self) -> int:
        return (self.high - self.low + 1) * (self.high - self.second + 1)

    @property
    def parts(self) -> Parts | None:
        """The pairs of twins, where these stand together."""
        if not (self.twins_together and OPERATIONS[self.operator].commutes):
            return None
        return Parts(self.low, self.second, self.high, self.held_out)

    def boundary(self, place: int) -> int:
        """Return the first place from `place` on at which what is held out can be divided."""
        return place if self.parts is None else self.parts.boundary(place)

    def held_range(self, place: int, count: int) -> range:
        """Return `count` places of what is held out that part no twins, from `place` on or soon
        after it; fewer at the end."""
        start = self.boundary(place)
        return range(start, min(start + count, self.held_out))

    def row(self, places: Int[Array, " places"]) -> Int[Array, " places"]:
        """The numbers of the rows that stand at these places of the random order."""
        if self.parts is not None:
            return self._together(self.parts, places)
        return shuffled(places, self.rows, self.seed)

    def _together(self, parts: Parts, places: Int[Array, " places"]) -> Int[Array, " places"]:
        """As `row`: problems without a twin, and pairs of twins, each in a random order.

        Sums of 0..2: at places 0..2 0+2, 2+0 and 1+1, say, if three are held out.
        """
        alone, number, flipped = parts.at(places)
        single = shuffled(jnp.where(alone, number, 0), parts.singles, self.seed)
        pair = shuffled(jnp.where(alone, 0, number), max(1, parts.pairs), self.seed)
        a, b = (
            jnp.where(alone, one, two)
            for one, two in zip(parts.single(single), parts.pair(pair, flipped), strict=True)
        )
        return (a - self.low) * (self.high - self.second + 1) + b - self.second

    def pairs(self, places: Int[Array, " places"]) -> Int[Array, "places 2"]:
        """The operands that stand there.

        >>> sorted(Table("//", 0, 2).pairs(jnp.arange(6)).tolist())
        [[0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]]
        """
        row = self.row(places)
        width = self.high - self.second + 1
        return jnp.stack([self.low + row // width, self.second + row % width], axis=1)

    def row_of(self, pairs: Int[np.ndarray, "pairs 2"]) -> Int[np.ndarray, " pairs"]:
        """The numbers of the rows with these operands, -1 where there is no such row.

        >>> Table("//", 0, 2).row_of(np.array([[0, 1], [2, 2], [1, 0]])).tolist()
        [0, 5, -1]
        """
        first, second = pairs[:, 0] - self.low, pairs[:, 1] - self.second
        width = self.high - self.second + 1
        inside = (first >= 0) & (second >= 0) & (pairs.max(axis=1, initial=0) <= self.high)
        return np.where(inside, first * width + second, -1)

    def numbers(self, places: Int[Array, " places"]) -> Numbers:
        return numbers(self.pairs(places), self.high)


def numbers(values: Int[Array, "batch operands"], high: int) -> Numbers:
    """Whole numbers up to `high` as digits.

    >>> numbers(jnp.array([[7, 42]]), 99).digits.tolist()
    [[[7, 0], [2, 4]]]
    """
    found = digits.of_ints(values, high)
    return Numbers(found, digits.length(found))


Number = UInt[Array, "*shape"] | int
"""A seed, or one for each place."""


def shuffled(
    places: Int[Array, " places"] | UInt[Array, " places"], rows: int, seed: Number
) -> Int[Array, " places"]:
    """A bijection of 0..rows-1 that looks random: a Feistel network, walked until inside.

    The network permutes the numbers of an even count of bits; a result that is no row is
    put in again, which leads back inside after four rounds at most on average.
    Source: Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002.

    >>> shuffled(jnp.arange(5), 5, seed=1).tolist()
    [4, 0, 2, 3, 1]
    """
    bits = max(1, ((rows - 1).bit_length() + 1) // 2)

    def walk(now: UInt[Array, " places"]) -> UInt[Array, " places"]:
        return jnp.where(now >= rows, _network(now, bits, seed), now)

    first = _network(places.astype(jnp.uint32), bits, seed)
    return jax.lax.while_loop(lambda now: jnp.any(now >= rows), walk, first).astype(jnp.int32)


def _network(value: UInt[Array, " places"], bits: int, seed: Number) -> UInt[Array, " places"]:
    left, right = value >> bits, value & ((1 << bits) - 1)
    for number in range(ROUNDS):
        left, right = right, left ^ (mixed(right, number, seed) & ((1 << bits) - 1))
    return left << bits | right


def mixed(value: UInt[Array, "*shape"], number: int, seed: Number) -> UInt[Array, "*shape"]:
    """A well-mixed function of value, round and seed (the finaliser of MurmurHash3)."""
    key = (jnp.asarray(seed, jnp.uint32) * ROUNDS + (number + 1)) * jnp.uint32(0x9E3779B9)
    mixed = value ^ key
    mixed = (mixed ^ mixed >> 16) * jnp.uint32(0x85EBCA6B)
    mixed = (mixed ^ mixed >> 13) * jnp.uint32(0xC2B2AE35)
    return mixed ^ mixed >> 16
