"""The whole square root by odd numbers, as on a calculating machine.

1, 1+3, 1+3+5, ... are the squares, so the root of a number is how many odd numbers can be
subtracted from it one after the other. Two digits of the number are brought down at a time;
then the last odd number moves up one place: less by one, and a 1 behind it. `isqrt 15=` is

    0 v 1 ==  0                            to begin with: 1 is more than nothing
    5 1 0 v 1 0 ==                         15: 1 fits
    1 4 1 0 + 3 0 ==  2 1 1 0 + 5 0 ==     14: 3 fits; 11: 5 fits
    3 6¹0 0 + 7 0 ===  3                   6: 7 does not, so the root's digit is 3

where a row is what is left, then the odd number, both from their lowest digit on. They are
compared from the highest place on, with a sign `=` for each place that does not decide.
"""

import math

from curta.programs import cases
from curta.programs.division import fits, subtract
from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "isqrt",
    axes=("place", "row", "step"),
    prompt=(
        Given("number", "step", everywhere=("row",), high_first=True, multiple=2),
        Sign("=", at={"step": -1}),
    ),
    answer=Answer("root", high_first=True),
    broadcast={
        "partial": ("step",),
        "rest": ("step",),
        "odd": ("step",),
        "then": ("place", "step"),
        "times": ("place", "step"),
        "same": ("step",),
        "root": ("place", "row"),
    },
    truth=math.isqrt,
    cases={"about a square": cases.about_a_square},
    example="isqrt 1234",
)
def isqrt(paper: Paper, number: list[int]) -> None:
    """The largest whole number whose square is no more than this."""
    remainder, odd = [0, 0], [1]
    paper.move(place=+1).write("partial", 0)
    root(paper, remainder, odd)
    for low, high in zip(number[-2::-2], number[::-2], strict=True):
        remainder, odd = [low, high, *remainder[: len(odd)]], [1, odd[0] - 1, *odd[1:]]
        paper.move(row=+1, step=+1)
        for digit in remainder:
            paper.move(place=+1).write("partial", digit)
        remainder, odd = root(paper, remainder, odd)
    paper.end()


def root(paper: Paper, remainder: list[int], odd: list[int]) -> tuple[list[int], list[int]]:
    """Subtracts odd numbers while they fit; the root's next digit is how many that are."""
    times = 0
    write_odd(paper, "v", odd)
    while fits(paper.move(place=+1), remainder, [*odd, 0]):
        times += 1
        paper.home("place").move(place=-1, row=+1).write("times", times)
        remainder = subtract(paper, "rest", remainder, [*odd, 0])
        odd = [(odd[0] + 2) % 10, odd[1] + odd[0] // 9, *odd[2:]]
        write_odd(paper, "+", odd)
    paper.home("place").move(place=-1, step=+1).write("root", times)
    return remainder, odd


def write_odd(paper: Paper, sign: str, odd: list[int]) -> None:
    """The odd number, after a sign that says how it comes about."""
    paper.home("place").write("then", sign).write("odd", odd[0])
    for digit in odd[1:]:
        paper.move(place=+1).write("odd", digit)
