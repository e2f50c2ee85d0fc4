"""Finite tables of problems as index arithmetic: every pair of operands, in a random order.

A row's place in the order is a seeded bijection of the row numbers, computed when it is
asked for, so a split of five million rows takes no memory and no two of its parts
can share a row. Where a problem and its twin (2+1 of 1+2) stand together, the order is one of
pairs. A hash tells drawn problems apart in the same way.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt

from curta.problems import digits
from curta.problems.digits import NumberBatch
from curta.problems.operations import OPERATIONS

ROUNDS = 6
LARGEST = (1 << 31) - 1
"""Most rows of a table: their numbers have 31 bits."""


Places = Int[Array, " places"]


@dataclass(frozen=True)
class TwinOrder:
    """A random order of a table whose first part holds both twins or neither.

    First operands are from `low`, second ones from `second`, up to `high`; `second` is `low`, or
    one more where nothing has a second operand of zero. The first part has `first_part` problems,
    the second all others.

    Problems without a twin (1+1) and pairs of twins are numbered on their own. A part has as many
    of each as its size asks for, so it has any size exactly; in the order of a part, problems
    without a twin are spread evenly among the pairs. All is arithmetic on places: nothing is
    stored.
    """

    low: int
    second: int
    high: int
    first_part: int

    @property
    def both(self) -> int:
        """Values that may stand on either side."""
        return self.high - self.second + 1

    @property
    def singles(self) -> int:
        """Problems without a twin: equal operands, and those whose mirror is not in the table."""
        return self.both * (1 + self.second - self.low)

    @property
    def pairs(self) -> int:
        return self.both * (self.both - 1) // 2

    @property
    def singles_first(self) -> int:
        """Problems without a twin in the first part: their share of it, and one more if need be.

        Of 10 x 10 sums, 25 held out: 2.5 is their share, 3 leave 22, which are 11 pairs.
        """
        share = self.first_part * self.singles // (self.singles + 2 * self.pairs)
        return share + (self.first_part - share) % 2

    def at(self, places: Places) -> tuple[Bool[Array, " places"], Places, Bool[Array, " places"]]:
        """Whether a problem without a twin stands there; its number or its pair's; which of two."""
        rows, alone, out = self.singles + 2 * self.pairs, self.singles_first, self.first_part
        first = places < out
        inside = jnp.where(first, places, places - out)
        count = jnp.where(first, alone, self.singles - alone)
        every = jnp.where(first, _every(out, alone), _every(rows - out, self.singles - alone))
        before = jnp.minimum((inside + every - 1) // every, count)
        is_alone = (inside % every == 0) & (inside // every < count)
        slot = inside - before
        pair = slot // 2 + jnp.where(first, 0, (out - alone) // 2)
        number = jnp.where(is_alone, before + jnp.where(first, 0, alone), pair)
        return is_alone, number, slot % 2 == 1

    def boundary(self, place: int) -> int:
        """Return the first place from `place` on at which the first part can be divided.

        No pair then has one problem before that place and its twin after it.
        """
        every = _every(self.first_part, self.singles_first)
        while place < self.first_part:
            singles_before = min(-(-place // every), self.singles_first)
            if (place - singles_before) % 2 == 0:
                break
            place += 1
        return place

    def single(self, number: Places) -> tuple[Places, Places]:
        """The operands of a problem without a twin: 0 is 0+0, 1 is 1+1.

        Where nothing has a second operand of zero, numbers go on with 0 and 1, 0 and 2.
        """
        value = self.second + number % self.both
        return jnp.where(number < self.both, value, self.low), value

    def pair(self, number: Places, flipped: Bool[Array, " places"]) -> tuple[Places, Places]:
        """The operands of a pair, or of its twin.

        With n values on a circle, pairs are those at distance 1, 2, ..., up to n / 2; each
        distance has n of them, but for n / 2, which has half as many. Of 0..4: 0+1, 1+2, 2+3,
        3+4, 4+0, 0+2, 1+3, 2+4, 3+0, 4+1.
        """
        one = number % self.both
        other = (one + 1 + number // self.both) % self.both
        a, b = jnp.where(flipped, other, one), jnp.where(flipped, one, other)
        return self.second + a, self.second + b


def _every(count: int, alone: int) -> int:
    """At every how many places of a part a problem without a twin stands."""
    return count // alone if alone else max(1, count)


@dataclass(frozen=True)
class ProblemTable:
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
    def twin_order(self) -> TwinOrder | None:
        """The pairs of twins, where these stand together."""
        if not (self.twins_together and OPERATIONS[self.operator].commutes):
            return None
        return TwinOrder(self.low, self.second, self.high, self.held_out)

    def boundary(self, place: int) -> int:
        """Return the first place from `place` on at which what is held out can be divided."""
        return place if self.twin_order is None else self.twin_order.boundary(place)

    def held_range(self, place: int, count: int) -> range:
        """Return `count` places of what is held out that part no twins, from `place` on or soon
        after it; fewer at the end."""
        start = self.boundary(place)
        return range(start, min(start + count, self.held_out))

    def row(self, places: Places) -> Places:
        """Return the numbers of the rows that stand at these places of the random order.

        Where twins stand together, problems without one and pairs each have a random order. Sums
        of 0..2: at places 0..2 0+2, 2+0 and 1+1, say, if three are held out.
        """
        order = self.twin_order
        if order is None:
            return shuffled(places, self.rows, self.seed)
        alone, number, flipped = order.at(places)
        single = shuffled(jnp.where(alone, number, 0), order.singles, self.seed)
        pair = shuffled(jnp.where(alone, 0, number), max(1, order.pairs), self.seed)
        a, b = (
            jnp.where(alone, one, two)
            for one, two in zip(order.single(single), order.pair(pair, flipped), strict=True)
        )
        return (a - self.low) * (self.high - self.second + 1) + b - self.second

    def pairs(self, places: Int[Array, " places"]) -> Int[Array, "places 2"]:
        """The operands that stand there.

        >>> sorted(ProblemTable("//", 0, 2).pairs(jnp.arange(6)).tolist())
        [[0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]]
        """
        row = self.row(places)
        width = self.high - self.second + 1
        return jnp.stack([self.low + row // width, self.second + row % width], axis=1)

    def row_of(self, pairs: Int[np.ndarray, "pairs 2"]) -> Int[np.ndarray, " pairs"]:
        """The numbers of the rows with these operands, -1 where there is no such row.

        >>> ProblemTable("//", 0, 2).row_of(np.array([[0, 1], [2, 2], [1, 0]])).tolist()
        [0, 5, -1]
        """
        first, second = pairs[:, 0] - self.low, pairs[:, 1] - self.second
        width = self.high - self.second + 1
        inside = (first >= 0) & (second >= 0) & (pairs.max(axis=1, initial=0) <= self.high)
        return np.where(inside, first * width + second, -1)

    def numbers(self, places: Int[Array, " places"]) -> NumberBatch:
        return numbers(self.pairs(places), self.high)


def numbers(values: Int[Array, "batch operands"], high: int) -> NumberBatch:
    """Whole numbers up to `high` as digits.

    >>> numbers(jnp.array([[7, 42]]), 99).digits.tolist()
    [[[7, 0], [2, 4]]]
    """
    found = digits.of_ints(values, high)
    return NumberBatch(found, digits.length(found))


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


FINGERPRINT_KEY = 0x43757274
"""Of the hash that parts drawn problems: never changed, so that no two data sets disagree."""


def fingerprint(numbers: NumberBatch) -> UInt[Array, " batch"]:
    """A hash of each problem's operands, whatever their order and the width of the arrays."""
    values, lengths = numbers
    place = digits.places(values)
    marks = jnp.where(place < lengths[..., None], values + 1, 0).astype(jnp.uint32)
    factors = mixed(place.astype(jnp.uint32), 0, FINGERPRINT_KEY)
    whole = jnp.sum(marks * factors, axis=-1, dtype=jnp.uint32)
    each = jnp.where(lengths > 0, mixed(whole, 1, FINGERPRINT_KEY), jnp.uint32(0))
    return mixed(jnp.sum(each, axis=-1, dtype=jnp.uint32), 2, FINGERPRINT_KEY)
