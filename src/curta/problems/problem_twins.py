"""Twins in a table: 2+1 of 1+2. A random order of the table whose first part holds both or none.

Problems without a twin (1+1) and pairs of twins are numbered on their own. A part of the table has
as many of each as its size asks for, so it has any size exactly; in the order of a part, problems
without a twin are spread evenly among the pairs. All is arithmetic on places: nothing is stored.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

Places = Int[Array, " places"]
Operands = tuple[Places, Places]


@dataclass(frozen=True)
class Parts:
    """A table of pairs, first operands from `low` and second ones from `second` up to `high`.

    Its first part has `first_part` problems, its second part all others. `second` is `low` or one
    more, where nothing has a second operand of zero.
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

    def single(self, number: Places) -> Operands:
        """The operands of a problem without a twin: 0 is 0+0, 1 is 1+1.

        Where nothing has a second operand of zero, numbers go on with 0 and 1, 0 and 2.
        """
        value = self.second + number % self.both
        return jnp.where(number < self.both, value, self.low), value

    def pair(self, number: Places, flipped: Bool[Array, " places"]) -> Operands:
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
