"""The greatest common divisor by halves and differences (J. Stein, 1967).

While both numbers are even, both are halved, and a `2` is noted each time. After that, whichever
is even is halved; of two odd numbers the greater one is replaced by half of the difference, until
they are equal. What is left is doubled once for each noted `2`.
"""

import math

from curta.programs import cases
from curta.programs.machine import Answer, Given, Paper, ProgramError, Sign, program


@program(
    "gcd",
    axes=("place", "row"),
    prompt=(
        Given("x", "place", filled=True),
        Sign(",", everywhere=("place", "row")),
        Given("y", "place", filled=True),
        Sign("="),
    ),
    answer=Answer("answer"),
    broadcast={"step": ("place",), "two": ("row",), "doubled": ("row",)},
    truth=math.gcd,
    commutes=True,
    cases={
        "common factor": cases.common_factor,
        "one is zero": cases.one_is_zero,
        "powers of two": cases.powers_of_two,
    },
    example="gcd 1071,462",
)
def gcd(paper: Paper, x: list[int], y: list[int], *, base: int = 10) -> None:
    """The greatest common divisor of two numbers."""
    if base % 2:
        raise ProgramError(f"gcd halves digits, so its base must be even (got {base})")
    nonzero = "0"
    for digit_x, digit_y in zip(x, y, strict=True):
        any_x, any_y = digit_x > 0 or nonzero in "x+", digit_y > 0 or nonzero in "y+"
        nonzero = "+" if any_x and any_y else "x" if any_x else "y" if any_y else "0"
        paper.move(place=+1).write("nonzero", nonzero)
    twos, order = 0, ""
    if nonzero != "+":
        paper.home("place").move(place=-1).write("double", nonzero)
        for digit in y if nonzero == "y" else x:
            paper.move(place=+1).write("answer", digit)
        paper.end()
        return
    while order != "=":
        paper.home("place").move(place=-1).write("turn", "|")
        if x[0] % 2 == 0 and y[0] % 2 == 0:
            for _ in range(twos):
                paper.move(place=+1).write("past", "-")
            paper.move(place=+1).write("two", "2")
            twos += 1
            x, y = step(paper, "2", x, y, base)
            x, y = step(paper, "y", x, y, base)
        elif x[0] % 2 == 0:
            x, y = step(paper, "x", x, y, base)
        elif y[0] % 2 == 0:
            x, y = step(paper, "y", x, y, base)
        elif (order := compare(paper, x, y)) != "=":
            x, y = step(paper, order, x, y, base)
    write_result(paper, x, twos, base)


def compare(paper: Paper, x: list[int], y: list[int]) -> str:
    """Writes how the numbers compare up to each place; the last of it."""
    order = "="
    for digit_x, digit_y in zip(x, y, strict=True):
        order = order if digit_x == digit_y else "<" if digit_x < digit_y else ">"
        paper.move(place=+1).write("order", order)
    return order


def step(
    paper: Paper, sign: str, x: list[int], y: list[int], base: int
) -> tuple[list[int], list[int]]:
    """Writes half of a number or of the difference, digit by digit, beside the other number."""
    paper.home("place").move(place=-1, row=+1).write("step", sign)
    halved, other = (y, x) if sign in "y<" else (x, y)
    borrow, digits = 0, list[tuple[int, int]]()
    for upper, lower in zip(halved, other, strict=True):
        difference = upper - borrow - (lower if sign in "<>" else 0)
        borrow = int(difference < 0)
        digits.append((difference % base, borrow))
    halves = list[int]()
    lefts = [digit % 2 for digit, _ in digits[1:]] + [0]
    for lower, (digit, borrow), left in zip(other, digits, lefts, strict=True):
        paper.move(place=+1).write("y", lower).write("half", digit // 2, carry=borrow)
        halves.append(digit // 2 + base // 2 * left)
        paper.write("x", halves[-1])
    return halves, other


def write_result(paper: Paper, number: list[int], twos: int, base: int) -> None:
    """Copies the number without its zeros in front, doubles it, and copies it once more."""
    number = list(number)
    paper.write("front", ",")
    while not number[-1]:
        number.pop()
        paper.move(place=-1).write("front", ",")
    paper.home("place").move(place=-1, row=+1).write("double", "=")
    for digit in number:
        paper.move(place=+1).write("sum", digit)
    for count in range(twos + 1):
        paper.home("place").move(place=-1, row=+1).write("again", "|")
        for _ in range(count):
            paper.move(place=+1).write("skip", "-")
        if count == twos:
            break
        paper.move(place=+1).write("doubled", "2")
        paper.home("place").move(place=-1).write("double", ":")
        carry, above, number = 0, number, []
        for digit in above:
            carry, double = divmod(2 * digit + carry, base)
            number.append(double)
        number += [carry] * (carry > 0)
        for digit in number:
            paper.move(place=+1).write("sum", digit)
    paper.home("place").move(place=-1).write("double", ".")
    for digit in number:
        paper.move(place=+1).write("answer", digit)
    paper.end()
