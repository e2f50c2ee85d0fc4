"""Random problems as whole numbers: of given sizes, and rare ones made of others."""

import random
from collections.abc import Callable, Iterator, Sequence
from random import Random

from curta.config.errors import UserError
from curta.config.table import spanned
from curta.problems.numerals import to_digits, to_number
from curta.problems.operations import OPERATIONS
from curta.problems.sizes import Sizes
from curta.programs.machine.program import Program

TRIES = 1_000
"""Draws after which a program is given up that refuses them all."""


class RefusedError(UserError):
    """A program that has no problems of a given size."""


def draw(program: Program, sizes: Sizes, rng: random.Random) -> tuple[int, ...]:
    """A problem of these sizes: digit counts uniform and independent, digits uniform."""
    for _ in range(TRIES):
        values = propose(program, sizes, rng)
        if not refused(program, values):
            return values
    drawn = f"all of {TRIES:,} random problems of {spanned(sizes.first, 'digit')}"
    raise RefusedError(f"{program.title} refused {drawn}: change sizes= or refuse=")


def propose(program: Program, sizes: Sizes, rng: random.Random) -> tuple[int, ...]:
    """As `draw`, but the program may refuse the problem."""
    lengths = _lengths(sizes, rng)
    if program.draw is not None:
        return program.draw(rng, *lengths)
    parts = program.format.of_operands(len(lengths))
    return tuple(number(rng, n, part.base) for n, part in zip(lengths, parts, strict=True))


def _lengths(sizes: Sizes, rng: random.Random) -> list[int]:
    """A digit count for each of some operands."""
    count = rng.randint(*sizes.operands)
    return [rng.randint(*sizes.digits(place)) for place in range(count)]


def rare(program: Program, sizes: Sizes, rng: random.Random) -> tuple[int, ...]:
    """A random problem made special: nines, zeros, equal or nearly equal operands, one digit.

    Of a program with special cases of its own, half of them are these.
    """
    drawn = draw(program, sizes, rng)
    if program.draw is not None:
        return drawn
    if program.cases and rng.random() < 0.5:
        return _of_a_case(program, sizes, rng) or drawn
    bases, values = [part.base for part in program.format.of_operands(len(drawn))], drawn
    if len(values) > 1 and rng.random() < 0.3:
        values = _alike(values, sizes, bases[0], rng)
    changed = tuple(_special(*one, rng) for one in zip(values, bases, strict=True))
    return next(one for one in (changed, values, drawn) if not refused(program, one))


def _of_a_case(program: Program, sizes: Sizes, rng: random.Random) -> tuple[int, ...] | None:
    """A problem of one of the program's own cases; None if it is larger than asked for."""
    case = rng.choice(list(program.cases.values()))
    values = case(rng, *_lengths(sizes, rng))
    parts = enumerate(program.format.of_operands(len(values)))
    tops = [part.base ** sizes.digits(place)[1] for place, part in parts]
    fits = all(value < top for value, top in zip(values, tops, strict=True))
    return values if fits and not refused(program, values) else None


def refused(program: Program, values: Sequence[int]) -> str | None:
    """Why these operands have no answer, if they have none."""
    if program.refuse is not None:
        return program.refuse(*values)
    known = OPERATIONS.get(program.operator)
    return None if known is None else known.refuse(tuple(values))


def number(rng: random.Random, digits: int, base: int = 10) -> int:
    """A number of exactly so many digits; of one digit, 0 too."""
    return rng.randrange(base ** (digits - 1) if digits > 1 else 0, base**digits)


def drawn(program: Program, sizes: Sizes, seed: str, special: float) -> Iterator[tuple[int, ...]]:
    """Problems without end, a share of them special; always the same ones."""
    rng = random.Random(seed)
    while True:
        yield (rare if rng.random() < special else draw)(program, sizes, rng)


def _alike(values: tuple[int, ...], sizes: Sizes, base: int, rng: random.Random) -> tuple[int, ...]:
    """All operands the first one, or one beside it, where sizes allow that."""
    first, top = values[0], base ** sizes.others[1] - 1
    near = [min(max(0, first + rng.choice((0, 0, -1, 1))), top) for _ in values[1:]]
    return (first, *near) if sizes.first == sizes.others else values


def _special(value: int, base: int, rng: random.Random) -> int:
    """The number, or another of as many digits or fewer."""
    digits = len(to_digits(value, base))
    top = base**digits
    cases: tuple[Callable[[], int], ...] = (
        lambda: top - 1,  # 999
        lambda: top // base,  # 100
        lambda: top - 1 - rng.randrange(base) * base ** rng.randrange(digits),  # 979
        lambda: min(top // base + rng.randrange(base), top - 1),  # 107
        lambda: (top - 1) // (base - 1) * rng.randrange(1, base) if digits > 1 else value,  # 777
        lambda: value - value % base ** rng.randrange(digits),  # 120
        lambda: rng.randrange(2),
        lambda: value,
    )
    return cases[rng.randrange(len(cases))]()


# Problems of given sizes: drawn as a program's are, or made from others by small changes.
#
# A problem is a list of operands, each a list of digits, least significant first, as a program is
# given them. Whatever is made here stays within the sizes that are asked for.


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
