"""Whole numbers in any base, as text: Python's `0b101`, `0o17` and `0xff`, else `3#12`."""

import re
from collections.abc import Sequence

from curta.config.errors import UserError, quoted
from curta.problems.decimals import to_int, to_text

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


_DIGIT_OF = bytes(max(0, byte - 48) for byte in range(256))
"""Characters of decimal digits to the digits; 3 us for 40 digits one by one, 0.6 us so."""

PREFIXES = {2: "0b", 8: "0o", 16: "0x"}
_BASES = {prefix: base for base, prefix in PREFIXES.items()}
_LITERAL = re.compile(r"(?<![0-9A-Za-z#])(0[bBoOxX]|[0-9]+#)([0-9A-Za-z]+)")
_NUMBER = re.compile(r"[0-9]+")


def written(value: int, base: int) -> str:
    """A whole number from 0 up: `255`, `0xff`, `3#100110`."""
    if base == 10:
        return to_text(value)
    if base in PREFIXES:
        return format(value, f"#{PREFIXES[base][1]}")
    return f"{base}#" + "".join(DIGITS[digit] for digit in reversed(to_digits(value, base)))


def literals(text: str) -> tuple[str, int]:
    """The text with all numbers in decimal, and the base that they had; it is one for all."""
    matches = list(_LITERAL.finditer(text))
    if not matches:
        return text, 10
    bases = [_base(literal[1]) for literal in matches]
    decimal = _NUMBER.search(_LITERAL.sub(" ", text))
    others = [m[0] for m, base in zip(matches, bases, strict=True) if base != bases[0]]
    if decimal or others:
        first, other = quoted(matches[0][0]), quoted(decimal[0] if decimal else others[0])
        raise UserError(f"{first} and {other}: write all operands in one base")
    return _LITERAL.sub(_decimal, text), bases[0]


def _base(prefix: str) -> int:
    if prefix.lower() in _BASES:
        return _BASES[prefix.lower()]
    base = int(prefix[:-1]) if len(prefix) < 4 else 0
    if not 2 <= base <= len(DIGITS):
        raise UserError(
            f"base {quoted(prefix[:-1])[1:-1]}: bases are 2 to {len(DIGITS)}, such as 3#12"
        )
    return base


def _decimal(literal: re.Match[str]) -> str:
    base = _base(literal[1])
    values = [DIGITS.index(digit) for digit in literal[2].lower()]
    if max(values) >= base:
        raise UserError(f"{quoted(literal[0])} has a digit that base {base} does not have")
    return to_text(to_number(values[::-1], base))


def to_digits(number: int, base: int = 10) -> list[int]:
    """The digits of a whole number from 0 up, least significant first."""
    if base == 10:
        return list(to_text(number)[::-1].encode().translate(_DIGIT_OF))
    if number < base:
        return [number]
    digits = []
    while number:
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits


def to_number(digits: Sequence[int], base: int = 10) -> int:
    """The number of these digits, least significant first."""
    if base == 10:
        return to_int("".join(map(str, reversed(digits))) or "0")
    number = 0
    for digit in reversed(digits):
        number = number * base + digit
    return number
