"""The sum of two decimal fractions: `12.5+3.75=` is written `05.21+57.3=52.¹61$`.

A number is two operands, the digits below its point and those above it. The digits below are
given as the number that they are when read backward: 3.75 is 57 and 3, and 3.05 is 50 and 3. So
zeros at the end vanish, as they do in a fraction. On paper zeros fill the shorter fraction up, so
both points stand on one square.

The carry of a digit follows from two digits and their sum. The point is between: a small 1 beside
it says that one is carried through, else it would have to see five digits at once.
"""

from fractions import Fraction
from itertools import zip_longest

from curta.programs import cases
from curta.programs.machine import Answer, Given, Paper, Sign, program, to_digits, to_number
from curta.programs.machine.prompt import Part


def pointed(role: str) -> tuple[Part, ...]:
    """A number with a point, its lowest place first."""
    return (
        Given(f"{role} fraction", "place", high_first=True, filled=True),
        Sign(".", f"{role} point", step={"place": 1}),
        Given(role, "place", follows=True),
    )


def value(below: int, above: int) -> Fraction:
    """The number of these two operands: 57 and 3 are 3.75."""
    digits = to_digits(below)
    return above + Fraction(to_number(digits[::-1]), 10 ** len(digits))


def total(a_below: int, a: int, b_below: int, b: int) -> Fraction:
    """What is right, by Python's own fractions."""
    return value(a_below, a) + value(b_below, b)


def add(paper: Paper, role: str, a: list[int], b: list[int], carry: int) -> int:
    """Writes the sum of digits, least significant first, from the next square on; the carry."""
    for x, y in zip_longest(a, b, fillvalue=0):
        carry, digit = divmod(x + y + carry, 10)
        paper.move(place=+1).write(role, digit)
    return carry


@program(
    "fractions",
    "+.",
    axes=("place",),
    prompt=(*pointed("a"), Sign("+"), *pointed("b"), Sign("=")),
    answer=Answer("sum", fraction="sum fraction"),
    truth=total,
    cases={"any lengths": cases.any_lengths, "through the point": cases.through_the_point},
    example="12.5+3.75",
)
def fractions(
    paper: Paper, a_below: list[int], a: list[int], b_below: list[int], b: list[int]
) -> None:
    """The sum of two decimal fractions, place by place and on through the point."""
    carry = add(paper, "sum fraction", a_below[::-1], b_below[::-1], 0)
    paper.move(place=+1).write("point", ".¹" if carry else ".")
    carry = add(paper, "sum", a, b, carry)
    if carry:
        paper.move(place=+1).write("sum", carry)
    paper.end()
