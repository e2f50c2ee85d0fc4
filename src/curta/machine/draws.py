"""Problems of given sizes: drawn at random, or made from others by small changes.

A problem is a list of operands, each a list of digits, least significant first, as a program is
given them. Whatever is made here stays within the sizes that are asked for.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from .prompt import Format, Given
from .tokens import to_digits, to_number

Digits = list[list[int]]
"""The digits of all operands of a problem."""

Range = tuple[int, int]
"""The least and the most, both included."""


class Sizes(NamedTuple):
    """How many digits each operand may have, and how many operands a `many` part stands for."""

    digits: tuple[Range, ...]
    """One for each operand of the format; that of a `many` part holds for all of its operands."""
    operands: Range = (1, 1)

    def grown(self, factor: int) -> "Sizes":
        """The same fewest, and so many times the most; one number stays one number."""
        low, high = self.operands
        longer = tuple((fewest, most * factor) for fewest, most in self.digits)
        return Sizes(longer, (low, high * factor if high > 1 else high))

    def short(self) -> "Sizes":
        """The same fewest, and at most two more."""
        low, high = self.operands
        fewer = tuple((fewest, min(most, fewest + 2)) for fewest, most in self.digits)
        return Sizes(fewer, (low, min(high, low + 2)))


class Drawer:
    """Draws problems of a format within sizes, and changes them, all by one generator."""

    def __init__(self, format: Format, sizes: Sizes, rng: Random) -> None:
        parts = [part for part in format.parts if isinstance(part, Given)]
        assert len(parts) == len(sizes.digits), "a size for each operand of the format"
        self.rng = rng
        self.ranges = list(sizes.digits)
        self.bases = [part.base for part in parts]
        self.many = bool(parts) and parts[-1].many is not None
        self.count = sizes.operands if self.many else (1, 1)

    def draw(self) -> Digits:
        """A problem: sizes uniform within their ranges, digits uniform."""
        operands = len(self.bases) - 1 + self.rng.randint(*self.count)
        return [self._number(place) for place in range(operands)]

    def skewed(self) -> Digits:
        """A problem in which one digit, often the greatest, stands in many places."""
        digits, share = self.draw(), self.rng.random()
        for place, number in enumerate(digits):
            top = self.base(place) - 1
            often = self.rng.choice((0, top, top, self.digit(place)))
            number[:] = [often if self.rng.random() < share else digit for digit in number]
            self._fit(place, number)
        return digits

    def change(self, digits: Digits) -> Digits:
        """One to three small changes of a problem."""
        digits = [list(number) for number in digits]
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice(CHANGES)(self, digits)
        for place, number in enumerate(digits):
            self._fit(place, number)
        return digits

    def numbers(self, digits: Digits) -> tuple[int, ...]:
        """The operands as numbers."""
        return tuple(to_number(n, self.base(place)) for place, n in enumerate(digits))

    def digits(self, problem: Sequence[int]) -> Digits:
        """The digits of a problem, brought within the sizes."""
        digits = [to_digits(number, self.base(n)) for n, number in enumerate(problem)]
        for place, number in enumerate(digits):
            self._fit(place, number)
        return digits

    def base(self, place: int) -> int:
        return self.bases[min(place, len(self.bases) - 1)]

    def size(self, place: int) -> Range:
        return self.ranges[min(place, len(self.ranges) - 1)]

    def digit(self, place: int) -> int:
        return self.rng.randrange(self.base(place))

    def _number(self, place: int) -> list[int]:
        number = [self.digit(place) for _ in range(self.rng.randint(*self.size(place)))]
        self._fit(place, number)
        return number

    def _fit(self, place: int, number: list[int]) -> None:
        """Brings a number into its base and its sizes; the first digit of a longer one is not 0."""
        fewest, most = self.size(place)
        del number[most:]
        number += [self.digit(place) for _ in range(fewest - len(number))]
        number[:] = [digit % self.base(place) for digit in number]
        if len(number) > 1 and number[-1] == 0:
            number[-1] = self.rng.randrange(1, self.base(place))


Change = Callable[[Drawer, Digits], None]


def _one_digit(drawer: Drawer, digits: Digits) -> None:
    """Another digit, the least, the greatest, one more or one less."""
    place, number = _any(drawer, digits)
    at, top = drawer.rng.randrange(len(number)), drawer.base(place) - 1
    near = (number[at] + 1, number[at] + top)
    number[at] = drawer.rng.choice((0, top, *near, drawer.digit(place)))


def _same_digit(drawer: Drawer, digits: Digits) -> None:
    """The digit that another operand has at that place."""
    _, number = _any(drawer, digits)
    _, other = _any(drawer, digits)
    at = drawer.rng.randrange(min(len(number), len(other)))
    number[at] = other[at]


def _repeat(drawer: Drawer, digits: Digits) -> None:
    """One digit at several places in a row."""
    place, number = _any(drawer, digits)
    start = drawer.rng.randrange(len(number))
    stop = drawer.rng.randint(start, len(number))
    top = drawer.base(place) - 1
    digit = drawer.rng.choice((0, top, number[start], drawer.digit(place)))
    number[start:stop] = [digit] * (stop - start)


def _copy(drawer: Drawer, digits: Digits) -> None:
    """Another operand as a whole, or its lower places."""
    _, number = _any(drawer, digits)
    _, other = _any(drawer, digits)
    keep = drawer.rng.choice((0, len(other) // 2, len(other) - 1))
    number[keep:] = other[keep:]


def _length(drawer: Drawer, digits: Digits) -> None:
    """A number shorter or longer, by one digit or by any number of them."""
    place, number = _any(drawer, digits)
    fewest, most = drawer.size(place)
    step = drawer.rng.choice((-1, 1))
    size = drawer.rng.choice((len(number) + step, drawer.rng.randint(fewest, most)))
    del number[max(size, 1) :]
    number += [drawer.digit(place) for _ in range(min(size, most) - len(number))]


def _swap(drawer: Drawer, digits: Digits) -> None:
    """Two operands for each other, or two digits of one."""
    first, second = drawer.rng.randrange(len(digits)), drawer.rng.randrange(len(digits))
    digits[first], digits[second] = digits[second], digits[first]
    _, number = _any(drawer, digits)
    one, other = drawer.rng.randrange(len(number)), drawer.rng.randrange(len(number))
    number[one], number[other] = number[other], number[one]


def _operands(drawer: Drawer, digits: Digits) -> None:
    """An operand more, a copy of the last, or one less, where there can be any number."""
    spare = len(drawer.bases) - 1
    low, high = drawer.count
    if drawer.rng.random() < 0.5 and len(digits) - spare < high:
        digits.append(list(digits[-1]))
    elif len(digits) - spare > low:
        del digits[drawer.rng.randrange(spare, len(digits))]


CHANGES: tuple[Change, ...] = (
    _one_digit,
    _one_digit,
    _same_digit,
    _repeat,
    _copy,
    _length,
    _swap,
    _operands,
)


def _any(drawer: Drawer, digits: Digits) -> tuple[int, list[int]]:
    place = drawer.rng.randrange(len(digits))
    return place, digits[place]
