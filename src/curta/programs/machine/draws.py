"""Problems of given sizes: drawn as a program's are, or made from others by small changes.

A problem is a list of operands, each a list of digits, least significant first, as a program is
given them. Whatever is made here stays within the sizes that are asked for.
"""

from collections.abc import Callable, Sequence
from random import Random

from curta.problems.numerals import to_digits, to_number
from curta.problems.sizes import Sizes
from curta.programs.machine.program import Program
from curta.programs.machine.sampling import propose

Digits = list[list[int]]
"""The digits of all operands of a problem."""


class Drawer:
    """Draws problems of a program within sizes, and changes them, all by one generator."""

    def __init__(self, program: Program, sizes: Sizes, rng: Random) -> None:
        self.program, self.sizes, self.rng = program, sizes, rng
        self.bases = [part.base for part in program.format.givens]

    def draw(self) -> Digits:
        """A problem as training has them, which the program may refuse."""
        return self._digits(propose(self.program, self.sizes, self.rng))

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
        digits = self._digits(problem)
        for place, number in enumerate(digits):
            self._fit(place, number)
        return digits

    def base(self, place: int) -> int:
        return self.bases[min(place, len(self.bases) - 1)]

    def digit(self, place: int) -> int:
        return self.rng.randrange(self.base(place))

    def _digits(self, problem: Sequence[int]) -> Digits:
        return [to_digits(number, self.base(place)) for place, number in enumerate(problem)]

    def _fit(self, place: int, number: list[int]) -> None:
        """Brings a number into its base and its sizes; the first digit of a longer one is not 0."""
        fewest, most = self.sizes.digits(place)
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
    fewest, most = drawer.sizes.digits(place)
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
    few, many = drawer.sizes.operands
    if drawer.rng.random() < 0.5 and len(digits) < many:
        digits.append(list(digits[-1]))
    elif len(digits) > few:
        del digits[drawer.rng.randrange(len(drawer.bases) - 1, len(digits))]


CHANGES: tuple[Change, ...] = (
    _one_digit, _one_digit, _same_digit, _repeat, _copy, _length, _swap, _operands
)  # fmt: skip


def _any(drawer: Drawer, digits: Digits) -> tuple[int, list[int]]:
    place = drawer.rng.randrange(len(digits))
    return place, digits[place]
