"""Random problems as whole numbers: of given sizes, and rare ones made of others."""

import random
from collections.abc import Callable, Iterator, Sequence

from curta.config.errors import UserError
from curta.config.table import spanned
from curta.problems.numerals import to_digits
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
