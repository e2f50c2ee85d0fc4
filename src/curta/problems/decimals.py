"""Python ints and fractions as decimal text and back, at any length."""

from fractions import Fraction

_CHUNK = 4000  # digits; below the length at which Python refuses to convert
_BITS_OF_FIVE = 2.321928094887362
_LARGE = 10**_CHUNK  # raised once: it takes longer than most conversions


def to_int(digits: str) -> int:
    """`int(digits)` for any length, in pieces that Python's conversion limit allows."""
    if len(digits) <= _CHUNK:
        return int(digits)
    half = len(digits) // 2
    return to_int(digits[:half]) * 10 ** (len(digits) - half) + to_int(digits[half:])


def to_text(value: int) -> str:
    """`str(value)` for any length of a non-negative int."""
    if value < _LARGE:
        return str(value)
    half = int(value.bit_length() * 0.30103) // 2
    high, low = divmod(value, 10**half)
    return to_text(high) + to_text(low).rjust(half, "0")


def to_exact(value: Fraction) -> str:
    """`16.25`, `-0.5`, `16.0`; `1/3` where no decimal fraction is exact."""
    sign, size = "-" * (value < 0), abs(value)
    places = places_of(value)
    if places is None:
        return f"{sign}{to_text(size.numerator)}/{to_text(size.denominator)}"
    digits = to_text(size.numerator * 10**places // size.denominator).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def of_exact(text: str) -> Fraction:
    """What `to_exact` wrote."""
    sign, plain = (-1 if text.startswith("-") else 1), text.removeprefix("-")
    above, slash, below = plain.partition("/")
    if slash:
        return Fraction(sign * to_int(above), to_int(below))
    whole, _, rest = plain.partition(".")
    return Fraction(sign * to_int(whole + rest), 10 ** len(rest))


def places_of(value: Fraction) -> int | None:
    """The fewest digits after the point, one at least; None if no number of them is exact."""
    twos = (value.denominator & -value.denominator).bit_length() - 1
    odd = value.denominator >> twos
    fives = round((odd.bit_length() - 1) / _BITS_OF_FIVE)
    found = next((n for n in range(max(0, fives - 1), fives + 2) if 5**n == odd), None)
    return None if found is None else max(twos, found, 1)
