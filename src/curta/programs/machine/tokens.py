"""Tokens: what is written, which part it plays, and how the pen moved to get there."""

from typing import NamedTuple

from curta.problems.numerals import DIGITS

HOME = 1 << 16
"""A move on one axis is an offset from where the last token stands, or HOME plus an offset
from the origin: `-1` is one square back, `HOME - 1` the square before the origin."""

END = "$"
"""The symbol of the token that ends a text; its role is `end`."""

CARRIES = "⁰¹²³⁴⁵⁶⁷⁸⁹"
"""What a digit carries, written small beside it: `7¹`; nothing where it carries nothing."""


class Token(NamedTuple):
    """One entry of a vocabulary.

    `value` is the number that the symbol stands for, None for a sign; `carry` what is
    written small beside it. `move` has one entry for each axis.
    """

    symbol: str
    role: str
    move: tuple[int, ...]
    value: int | None = None
    carry: int = 0

    @property
    def text(self) -> str:
        """The symbol, the role and the move, as vocabularies and tables show it."""
        return " ".join([self.symbol, self.role, *map(arrow, self.move)])


def arrow(move: int) -> str:
    """`+1`, `0`, `-1`, or `home`, `home-1`: a move on one axis as people read it."""
    if abs(move) < HOME // 2:
        return f"{move:+d}" if move else "0"
    return f"home{move - HOME:+d}" if move != HOME else "home"


def digit_symbol(value: int, carry: int = 0) -> str:
    """The symbol of a digit: `7`, `7¹`, `f`; `(96)` where a base has no sign of its own."""
    plain = DIGITS[value] if value < len(DIGITS) else f"({value})"
    return plain + CARRIES[carry] if carry else plain
