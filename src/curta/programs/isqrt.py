"""The whole square root by odd numbers, as on a calculating machine.

1, 1+3, 1+3+5, ... are the squares, so the root of a number is how many odd numbers can be
subtracted from it one after the other. The odd number stands under the number's first pair of
digits; when it no longer fits, it moves on: less by one, and a 1 under the next pair. So it is
twice the root and 1 in the end. `isqrt 15=` is written, a line a row:

    0 1 ^                   the places are counted; the first pair begins at place 0
    b 5  51 10              a copy of 15, and under it 01
    | 1 5 >  0 1 >          the odd number, the number, and which is greater: 15 > 1
    > 3 4 >  0 1 >          less 1 it is 14, and 14 > 3
    > 5 1 <  0 1 >          less 3 it is 11, and 11 > 5
    > 7 6 <  0 0 <          less 5 it is 6, and 6 < 7: it no longer fits
    < 3 3  0 0 $            there is no other pair: half of 7, 3; the root is 03

They are compared from right to left. For each further pair, two more rows move the odd number by
one place each. After nine times it no longer fits, whatever the digits say: `<<`. Rows only move
forward, and a step sees no further than the row above, so the windows can be proved complete.
"""

import math

from curta.programs import cases
from curta.programs.machine import Answer, Given, Paper, ProgramError, Sign, program


@program(
    "isqrt",
    axes=("place", "row"),
    prompt=(Given("number", "place"), Sign("=")),
    answer=Answer("root"),
    broadcast={"step": ("place",)},
    truth=math.isqrt,
    cases={"about a square": cases.about_a_square},
    example="isqrt 1234",
)
def isqrt(paper: Paper, number: list[int], *, base: int = 10) -> None:
    """The largest whole number whose square is no more than this."""
    if base % 2 or base == 2:
        raise ProgramError(f"isqrt needs an even base from 4 on (got {base})")
    last = len(number) - 1
    unit = last - last % 2
    for place in range(last + 1):
        paper.move(place=+1).write("pair", place % 2)
    paper.move(place=unit - last).write("unit", "^")
    odd = [int(place == unit) for place in range(last + 1)]
    write_moved(paper, "b", number, odd, unit)
    while True:
        sign, number, odd = write_step(paper, "|", number, odd, unit, base)
        while sign in ">=":
            sign, number, odd = write_step(paper, sign, number, odd, unit, base)
        if unit == 0:
            break
        odd = [*odd[1:], 0]
        odd[unit - 1] -= 1
        write_moved(paper, "<", number, odd, unit - 1)
        unit -= 2
        odd[unit] = 1
        write_moved(paper, ":", number, odd, unit)
    paper.home("place").move(place=-1, row=+1).write("step", "<")
    for digit, left in zip(odd, [*odd[1:], 0], strict=True):
        paper.move(place=+1).write("half", digit // 2)
        paper.write("root", digit // 2 + base // 2 * (left % 2))
    paper.end()


def write_moved(paper: Paper, sign: str, number: list[int], odd: list[int], unit: int) -> None:
    """Copies the number, and writes the odd one, which begins at place `unit`, where it is now."""
    paper.home("place").move(place=-1, row=+1).write("step", sign)
    for digit in number[: unit + 1]:
        paper.move(place=+1).write("low", digit)
    for place in range(unit, len(number)):
        paper.move(place=int(place > unit)).write("held", number[place])
        paper.write("moved", odd[place])


def write_step(
    paper: Paper, sign: str, number: list[int], odd: list[int], unit: int, base: int
) -> tuple[str, list[int], list[int]]:
    """Subtracts the odd number if it was less (`>`) or equal, and compares with the next one.

    Returns the last sign, the number, and the odd number.
    """
    paper.home("place").move(place=-1, row=+1).write("step", sign)
    for digit in number[:unit]:
        paper.move(place=+1).write("low", digit)
    remainder, following, order = number[:unit], odd[:unit], "="
    borrow, carry = 0, 2 if sign in ">=" else 0
    for place in range(unit, len(number)):
        digit = number[place] if sign in "|>" else 0
        difference = digit - borrow - (odd[place] if sign == ">" else 0)
        borrow, digit = int(difference < 0), difference % base
        carry, next_odd = divmod(odd[place] + carry, base)
        remainder.append(digit)
        following.append(next_odd)
        if place == unit + 1 and following[unit] == base - 1 and next_odd % 2:
            order = "<<"
        elif order != "<<" and digit != next_odd:
            order = "<" if digit < next_odd else ">"
        paper.move(place=+1).write("odd", next_odd, carry=carry).write("number", digit)
        paper.write("order", order, carry=int(place == unit and next_odd == base - 1))
    return order, remainder, following
