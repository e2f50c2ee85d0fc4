"""Tokens: what is written, which part it plays, and how the pen moved to get there."""

from collections.abc import Sequence
from typing import NamedTuple

HOME = 1 << 16
"""A move on one axis is an offset from where the last token stands, or HOME plus an offset
from the origin: `-1` is one square back, `HOME - 1` the square before the origin."""

END = "$"
"""The symbol of the token that ends a text; its role is `end`."""

CARRIES = "⁰¹²³⁴⁵⁶⁷⁸⁹"
"""What a digit carries, written small beside it: `7¹`; nothing where it carries nothing."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


_DIGIT_OF = bytes(max(0, byte - 48) for byte in range(256))
"""Characters of decimal digits to the digits; 3 us for 40 digits one by one, 0.6 us so."""


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


def to_digits(number: int, base: int = 10) -> list[int]:
    """The digits of a whole number from 0 up, least significant first."""
    if base == 10:
        from curta.problems.decimals import to_text

        return list(to_text(number)[::-1].encode().translate(_DIGIT_OF))
    if number < base:
        return [number]
    found = []
    while number:
        number, digit = divmod(number, base)
        found.append(digit)
    return found


def to_number(digits: Sequence[int], base: int = 10) -> int:
    """The number of these digits, least significant first."""
    if base == 10:
        from curta.problems.decimals import to_int

        return to_int("".join(map(str, reversed(digits))) or "0")
    number = 0
    for digit in reversed(digits):
        number = number * base + digit
    return number
