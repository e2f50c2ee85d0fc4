"""Numbers as text and back, at any length: decimals, fractions, and Python's `0xff` or `3#12`."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from curta.config.errors import UserError, quoted

_CHUNK = 4000  # digits; below the length at which Python refuses to convert

_LARGE = 10**_CHUNK  # computed once, since that takes longer than most conversions

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

_DIGIT_OF = bytes(max(0, byte - 48) for byte in range(256))
"""Table from characters to digits: 40 digits take 0.6 us by it, 3 us one by one."""

PREFIXES = {2: "0b", 8: "0o", 16: "0x"}
_BASES = {prefix: base for base, prefix in PREFIXES.items()}
_LITERAL = re.compile(r"(?<![0-9A-Za-z#])(0[bBoOxX]|[0-9]+#)([0-9A-Za-z]+)")
_NUMBER = re.compile(r"[0-9]+")


def to_int(digits: str) -> int:
    """Return `int(digits)` for any length, despite Python's limit on conversions."""
    if len(digits) <= _CHUNK:
        return int(digits)
    half = len(digits) // 2
    return to_int(digits[:half]) * 10 ** (len(digits) - half) + to_int(digits[half:])


def to_text(value: int) -> str:
    """Return `str(value)` of a non-negative int of any length."""
    if value < _LARGE:
        return str(value)
    half = int(value.bit_length() * 0.30103) // 2
    high, low = divmod(value, 10**half)
    return to_text(high) + to_text(low).rjust(half, "0")


def plain_answer(answer: Any) -> Any:
    """Return an answer as JSON represents it: a fraction is text."""
    return to_exact(answer) if isinstance(answer, Fraction) else answer


def to_exact(value: Fraction) -> str:
    """Format a fraction: `16.25`, `-0.5`, `16.0`; `1/3` if no decimal fraction is exact."""
    sign, size = "-" * (value < 0), abs(value)
    places = places_of(value)
    if places is None:
        return f"{sign}{to_text(size.numerator)}/{to_text(size.denominator)}"
    digits = to_text(size.numerator * 10**places // size.denominator).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def of_exact(text: str) -> Fraction:
    """Parse what `to_exact` wrote."""
    sign, plain = (-1 if text.startswith("-") else 1), text.removeprefix("-")
    above, slash, below = plain.partition("/")
    if slash:
        return Fraction(sign * to_int(above), to_int(below))
    whole, _, decimals = plain.partition(".")
    return Fraction(sign * to_int(whole + decimals), 10 ** len(decimals))


def places_of(value: Fraction) -> int | None:
    """Return the fewest digits after the point that are exact, at least 1; None if none are."""
    below = value.denominator
    enough = range(below.bit_length() + 1)  # if ten to any power is a multiple of the denominator
    places = bisect_left(enough, True, key=lambda power: pow(10, power, below) == 0)
    return max(places, 1) if places in enough else None


def format_number(value: int, base: int) -> str:
    """Format a non-negative number in a base: `255`, `0xff`, `3#100110`."""
    if base == 10:
        return to_text(value)
    if base in PREFIXES:
        return format(value, f"#{PREFIXES[base][1]}")
    return f"{base}#" + "".join(DIGITS[digit] for digit in reversed(to_digits(value, base)))


def literals(text: str) -> tuple[str, int]:
    """Return the text with all numbers in decimal, and their base.

    Raises UserError if numbers have different bases, or a digit that their base does not have.
    """
    matches = list(_LITERAL.finditer(text))
    if not matches:
        return text, 10
    bases = [_base(literal[1]) for literal in matches]
    decimal = _NUMBER.search(_LITERAL.sub(" ", text))
    others = [m[0] for m, base in zip(matches, bases, strict=True) if base != bases[0]]
    if decimal or others:
        first, other = quoted(matches[0][0]), quoted(decimal[0] if decimal else others[0])
        raise UserError(f"{first} and {other}: write all operands in one base")
    base = bases[0]

    def to_decimal(literal: re.Match[str]) -> str:
        values = [DIGITS.index(digit) for digit in literal[2].lower()]
        if max(values) >= base:
            raise UserError(f"{quoted(literal[0])} has a digit that base {base} does not have")
        return to_text(to_number(values[::-1], base))

    return _LITERAL.sub(to_decimal, text), base


def _base(prefix: str) -> int:
    """Return the base of a number's prefix: 16 for `0x`, 3 for `3#`."""
    if prefix.lower() in _BASES:
        return _BASES[prefix.lower()]
    base = int(prefix[:-1]) if len(prefix) < 4 else 0
    if not 2 <= base <= len(DIGITS):
        raise UserError(
            f"base {quoted(prefix[:-1])[1:-1]}: bases are 2 to {len(DIGITS)}, such as 3#12"
        )
    return base


def to_digits(number: int, base: int = 10) -> list[int]:
    """Return the digits of a non-negative number, least significant first."""
    if base == 10:
        return list(to_text(number)[::-1].encode().translate(_DIGIT_OF))
    digits = list[int]()
    while number or not digits:
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits


def to_number(digits: Sequence[int], base: int = 10) -> int:
    """Return the number with these digits, least significant first."""
    if base == 10:
        return to_int("".join(map(str, reversed(digits))) or "0")
    number = 0
    for digit in reversed(digits):
        number = number * base + digit
    return number
