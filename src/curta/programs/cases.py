"""Rare problems of the operations that programs bring, drawn as `draw(rng, *digits)`."""

from random import Random

from curta.problems.numerals import to_int, to_text
from curta.programs.machine.sampling import number


def any_lengths(rng: Random, *digits: int) -> tuple[int, ...]:
    """Draw numbers of any length up to these."""
    return tuple(number(rng, rng.randint(1, width)) for width in digits)


def through_the_point(
    rng: Random, below: int, above: int, other_below: int, other_above: int
) -> tuple[int, int, int, int]:
    """Draw fractions that add up to one, with nines above the point of either."""
    places = min(below, other_below)
    part = rng.randrange(1, 10**places)
    first, second = (to_int(to_text(n).rjust(places, "0")[::-1]) for n in (part, 10**places - part))
    if rng.random() < 0.5:
        return first, 10**above - 1, second, 0
    return first, 0, second, 10**other_above - 1


def common_factor(rng: Random, first: int, second: int) -> tuple[int, int]:
    """Draw two multiples of a number of any length, often with powers of two as factors."""
    digits = rng.randint(1, min(first, second))
    odd_digits = rng.randint(1, digits)
    shared = number(rng, odd_digits) << rng.randrange(
        int((10 ** (digits - odd_digits)).bit_length())
    )
    free = (width - len(to_text(shared)) for width in (first, second))
    wide, narrow = (shared * (number(rng, width) if width > 0 else 1) for width in free)
    return wide, narrow


def one_is_zero(rng: Random, first: int, second: int) -> tuple[int, int]:
    """Draw a number and 0, in either order."""
    pair = [number(rng, max(first, second)), 0]
    rng.shuffle(pair)
    return pair[0], pair[1]


def powers_of_two(rng: Random, *digits: int) -> tuple[int, ...]:
    """Draw powers of two of at most these lengths."""
    return tuple(1 << rng.randrange(int((10**width - 1).bit_length())) for width in digits)


def about_a_square(rng: Random, digits: int) -> tuple[int]:
    """Draw a square and a rest that ends like the odd number to be subtracted next.

    So squares and one less are frequent, and roots that end with 9; most roots are short.
    """
    root = rng.randrange(10 ** rng.randint(1, rng.randint(1, (digits + 1) // 2)))
    if rng.random() < 0.4:
        root += 9 - root % 10
    odd = 2 * root + 1
    alike = 10 ** rng.randrange(len(to_text(odd)) + 1)
    value = root * root + odd % alike - rng.choice((0, 0, 1))
    value += alike * rng.randrange(1 + odd * rng.choice((1, 5)) // alike)
    if rng.random() < 0.3:
        value = 100 * value + rng.randrange(100)
    return (min(max(0, value), 10**digits - 1),)


def beside_a_multiple(rng: Random, first: int, second: int) -> tuple[int, int]:
    """Draw a dividend that leaves almost nothing, or almost all of the divisor.

    The quotient has one digit that is frequent, most often 9.
    """
    divisor = max(1, number(rng, rng.randint(1, second)))
    often = rng.choice((0, 1, 5, 8, 9, 9, 9))
    share, quotient = rng.random(), 0
    for _ in range(max(1, first - len(to_text(divisor)))):
        quotient = 10 * quotient + (often if rng.random() < share else rng.randrange(10))
    left = rng.randrange(min(divisor, 3))
    left = rng.choice((left, divisor - 1 - left))
    return (quotient * divisor + left) % 10**first, divisor
