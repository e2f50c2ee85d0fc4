"""Draw random problems of given sizes, and rare ones derived from them."""

import random
from collections.abc import Callable, Iterator, Sequence

from curta.config.errors import UserError
from curta.config.table import spanned
from curta.problems.numerals import to_digits, to_number
from curta.problems.operations import OPERATIONS
from curta.problems.sizes import Sizes
from curta.programs.machine.program import Program

TRIES = 1_000
"""Draws after which a program that refuses them all is given up."""


class RefusedError(UserError):
    """A program has no problems of some size."""


def draw(program: Program, sizes: Sizes, rng: random.Random) -> tuple[int, ...]:
    """Draw a problem: independent uniform digit counts, uniform digits."""
    for _ in range(TRIES):
        values = propose(program, sizes, rng)
        if not refused(program, values):
            return values
    drawn = f"all of {TRIES:,} random problems of {spanned(sizes.first, 'digit')}"
    raise RefusedError(f"{program.title} refused {drawn}: change sizes= or refuse=")


def propose(program: Program, sizes: Sizes, rng: random.Random) -> tuple[int, ...]:
    """Draw a problem that the program may refuse."""
    lengths = _lengths(sizes, rng)
    if program.draw is not None:
        return program.draw(rng, *lengths)
    givens = program.format.of_operands(len(lengths))
    return tuple(number(rng, n, part.base) for n, part in zip(lengths, givens, strict=True))


def _lengths(sizes: Sizes, rng: random.Random) -> list[int]:
    """Draw a digit count for each operand."""
    count = rng.randint(*sizes.operands)
    return [rng.randint(*sizes.digits(place)) for place in range(count)]


def rare(program: Program, sizes: Sizes, rng: random.Random) -> tuple[int, ...]:
    """Draw a rare problem: nines, zeros, (nearly) equal operands, single digits.

    If the program has cases of its own, half of the problems are these.
    """
    plain = draw(program, sizes, rng)
    if program.draw is not None:
        return plain
    if program.cases and rng.random() < 0.5:
        case = rng.choice(list(program.cases.values()))
        special = case(rng, *_lengths(sizes, rng))
        givens = enumerate(program.format.of_operands(len(special)))
        tops = [part.base ** sizes.digits(place)[1] for place, part in givens]
        fits = all(value < top for value, top in zip(special, tops, strict=True))
        return special if fits and not refused(program, special) else plain
    values, bases = plain, [part.base for part in program.format.of_operands(len(plain))]
    if len(values) > 1 and rng.random() < 0.3 and sizes.first == sizes.others:
        # all operands the first one, or one beside it
        first, top = values[0], bases[0] ** sizes.others[1] - 1
        values = (first, *(min(max(0, first + rng.choice((0, 0, -1, 1))), top) for _ in values[1:]))
    changed = tuple(_special(n, base, rng) for n, base in zip(values, bases, strict=True))
    return next(some for some in (changed, values, plain) if not refused(program, some))


def refused(program: Program, values: Sequence[int]) -> str | None:
    """Return why these operands have no answer; None if they have one."""
    if program.refuse is not None:
        return program.refuse(*values)
    operation = OPERATIONS.get(program.operator)
    return None if operation is None else operation.refuse(tuple(values))


def number(rng: random.Random, digits: int, base: int = 10) -> int:
    """Draw a number of exactly `digits` digits; 0 has one digit."""
    return rng.randrange(base ** (digits - 1) if digits > 1 else 0, base**digits)


def drawn(program: Program, sizes: Sizes, seed: str, special: float) -> Iterator[tuple[int, ...]]:
    """Yield problems forever, determined by `seed`, a share of them rare."""
    rng = random.Random(seed)
    while True:
        yield (rare if rng.random() < special else draw)(program, sizes, rng)


def _special(value: int, base: int, rng: random.Random) -> int:
    """Return the number or a special one of at most as many digits."""
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


OperandDigits = list[list[int]]
"""The digits of all operands, least significant first, as programs take them."""

CHANGES = (
    "digit", "digit", "equal digit", "repeat", "copy", "length", "swap", "operands"
)  # fmt: skip
"""Small changes of a problem by which a search looks for new windows."""


class Drawer:
    """Draw problems of a program within sizes, and mutate them, by one random generator."""

    def __init__(self, program: Program, sizes: Sizes, rng: random.Random) -> None:
        self.program, self.sizes, self.rng = program, sizes, rng
        self.bases = [part.base for part in program.format.givens]

    def draw(self) -> OperandDigits:
        """Draw a problem as in training; the program may refuse it."""
        problem = propose(self.program, self.sizes, self.rng)
        return [to_digits(number, self.base(place)) for place, number in enumerate(problem)]

    def skewed(self) -> OperandDigits:
        """Draw a problem in which one digit, often the largest, fills many places."""
        digits, share = self.draw(), self.rng.random()
        for place, number in enumerate(digits):
            top = self.base(place) - 1
            often = self.rng.choice((0, top, top, self.digit(place)))
            number[:] = [often if self.rng.random() < share else digit for digit in number]
            self._fit(place, number)
        return digits

    def change(self, digits: OperandDigits) -> OperandDigits:
        """Return a problem after one to three small changes."""
        digits = [list(number) for number in digits]
        for _ in range(self.rng.randint(1, 3)):
            self._change(self.rng.choice(CHANGES), digits)
        for place, number in enumerate(digits):
            self._fit(place, number)
        return digits

    def _change(self, kind: str, digits: OperandDigits) -> None:
        rng = self.rng

        def pick() -> tuple[int, list[int]]:
            place = rng.randrange(len(digits))
            return place, digits[place]

        if kind == "operands":
            # one more, a copy of the last, or one less, where there can be any number of them
            few, many = self.sizes.operands
            if rng.random() < 0.5 and len(digits) < many:
                digits.append(list(digits[-1]))
            elif len(digits) > few:
                del digits[rng.randrange(len(self.bases) - 1, len(digits))]
            return
        if kind == "swap":
            # two operands for each other, and two digits of one
            first, second = rng.randrange(len(digits)), rng.randrange(len(digits))
            digits[first], digits[second] = digits[second], digits[first]
            _, number = pick()
            at, other_at = rng.randrange(len(number)), rng.randrange(len(number))
            number[at], number[other_at] = number[other_at], number[at]
            return
        place, number = pick()
        top = self.base(place) - 1
        if kind == "digit":
            # another one, the least, the greatest, one more or one less
            at = rng.randrange(len(number))
            near = (number[at] + 1, number[at] + top)
            number[at] = rng.choice((0, top, *near, self.digit(place)))
        elif kind == "equal digit":
            # the digit that another operand has at that place
            _, other = pick()
            at = rng.randrange(min(len(number), len(other)))
            number[at] = other[at]
        elif kind == "repeat":
            # one digit at several places in a row
            start = rng.randrange(len(number))
            stop = rng.randint(start, len(number))
            digit = rng.choice((0, top, number[start], self.digit(place)))
            number[start:stop] = [digit] * (stop - start)
        elif kind == "copy":
            # another operand as a whole, or all but its lower places
            _, other = pick()
            keep = rng.choice((0, len(other) // 2, len(other) - 1))
            number[keep:] = other[keep:]
        else:
            # shorter or longer, by one digit or by any number of them
            fewest, most = self.sizes.digits(place)
            step = rng.choice((-1, 1))
            size = rng.choice((len(number) + step, rng.randint(fewest, most)))
            del number[max(size, 1) :]
            number += [self.digit(place) for _ in range(min(size, most) - len(number))]

    def numbers(self, digits: OperandDigits) -> tuple[int, ...]:
        """Return the operands as numbers."""
        return tuple(to_number(n, self.base(place)) for place, n in enumerate(digits))

    def digits(self, problem: Sequence[int]) -> OperandDigits:
        """Return the digits of a problem, adjusted to the sizes."""
        digits = [to_digits(number, self.base(place)) for place, number in enumerate(problem)]
        for place, number in enumerate(digits):
            self._fit(place, number)
        return digits

    def base(self, place: int) -> int:
        return self.bases[min(place, len(self.bases) - 1)]

    def digit(self, place: int) -> int:
        return self.rng.randrange(self.base(place))

    def _fit(self, place: int, number: list[int]) -> None:
        """Adjust a number to its base and sizes, without a leading zero."""
        fewest, most = self.sizes.digits(place)
        del number[most:]
        number += [self.digit(place) for _ in range(fewest - len(number))]
        number[:] = [digit % self.base(place) for digit in number]
        if len(number) > 1 and number[-1] == 0:
            number[-1] = self.rng.randrange(1, self.base(place))
