"""Python ints as decimal text and back, at any length."""

_CHUNK = 4000  # digits; below the length at which Python refuses to convert
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
