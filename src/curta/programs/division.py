"""Long division by repeated subtraction: quotient and remainder.

`65//4=` is written, a step for each digit of 65, here on lines of their own:

    6 0 ==  1 2 0 ==  1                            6: 4 goes once, 2 remains; quotient 1
    5 2 =   1 1 2 =  2 7¹1 =  3 3 1 =  4 9¹0 ==    25: 4 goes six times, 1 remains;
            5 5 0 ==  6 1 0 ==  6                  quotient 6

A step brings down the next digit: the remainder so far, one place up, with that digit as the
lowest. Then remainder and divisor are compared from the highest place on: after a first `=` comes
another one for each place where they are equal, up to the one that decides. While the divisor fits
it is subtracted: how often it was by now, then the row. When it no longer fits, that count is the
quotient's digit; after nine times it no longer fits, which is not compared.
"""

from collections.abc import Callable, Sequence

from curta.programs.cases import beside_a_multiple
from curta.programs.machine import Answer, Given, Paper, Program, Sign, program

AXES = ("place", "row", "step")


def division_of(name: str, operator: str, answer: Answer) -> Callable[..., Program]:
    """A program of that operator, with the prompt that both share."""
    return program(
        name,
        operator,
        axes=AXES,
        prompt=(
            Given("dividend", "step", everywhere=("place", "row"), high_first=True),
            Sign(operator, everywhere=AXES),
            Given("divisor", "place", everywhere=("row", "step"), positive=True),
            Sign("=", at={"row": -1}),
        ),
        answer=answer,
        family="division",
        cases={"beside a multiple": beside_a_multiple},
        broadcast={
            "partial": ("step",),
            "rest": ("step",),
            "times": ("place", "step"),
            "same": ("step",),
        },
    )


@division_of("division", "//", Answer("quotient", high_first=True))
def division(paper: Paper, dividend: list[int], divisor: list[int], *, base: int = 10) -> None:
    """The quotient: how often the divisor goes into each part of the dividend."""
    divide(paper, dividend, divisor, base)
    paper.end()


@division_of("modulo", "%", Answer("answer"))
def modulo(paper: Paper, dividend: list[int], divisor: list[int], *, base: int = 10) -> None:
    """The remainder: long division, then what is left."""
    remainder = divide(paper, dividend, divisor, base)
    paper.write("result", "=")
    for digit in remainder:
        paper.move(place=+1).write("answer", digit)
    paper.end()


def divide(paper: Paper, dividend: Sequence[int], divisor: list[int], base: int) -> list[int]:
    """Writes all steps; the digits of the remainder."""
    divisor = [*divisor, 0]
    remainder = [0] * len(divisor)
    for digit in reversed(dividend):
        remainder = [digit, *remainder[:-1]]
        paper.move(row=+1)
        for below in remainder:
            paper.move(place=+1).write("partial", below)
        times = 0
        while fits(paper, remainder, divisor, last=times == base - 1):
            times += 1
            paper.home("place").move(place=-1, row=+1).write("times", times)
            remainder = subtract(paper, remainder, divisor, base)
        paper.home("place").move(place=-1, step=+1).write("quotient", times)
    return remainder


def fits(paper: Paper, remainder: list[int], divisor: list[int], last: bool) -> bool:
    """Compares from the highest place on, with a sign where nothing is decided yet.

    The `last` remainder is known to fit no more.
    """
    paper.move(place=+1).write("same", "=")
    if last:
        return False
    for x, y in zip(reversed(remainder), reversed(divisor), strict=True):
        if x != y:
            return x > y
        paper.move(place=-1).write("same", "=")
    return True


def subtract(paper: Paper, larger: list[int], smaller: list[int], base: int) -> list[int]:
    """The difference, place by place, with a small 1 beside each digit that borrows."""
    borrow, remainder = 0, []
    for x, y in zip(larger, smaller, strict=True):
        borrow, digit = int(x < y + borrow), (x - y - borrow) % base
        paper.move(place=+1).write("rest", digit, carry=borrow)
        remainder.append(digit)
    return remainder
