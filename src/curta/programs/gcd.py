"""The greatest common divisor by halves and differences (J. Stein, 1967).

Each step has a row: y is the number that stays, x is half of the other one, or half of the
difference if both are odd. While both numbers are even both are halved, and a `2` is noted; what
is left in the end is doubled once for each. `gcd 6,4=` is written, a line a row:

    + | 2               no number is 0; both are even, so a 2 is noted
    2 4 3 3             4 stays; half of 6 is 3, and no 5 is added
    y 3 2 2 |           3 stays; half of 4
    x 3 1 1 | <         3 stays; half of 2; both are odd, and 1 is less than 3
    < 1 1 1 | = ,       1 stays; half of 3 - 1; they are equal; a mark up to the first digit
    = 1                 a copy as far as that mark
    | 2 : 2             the first 2 is taken, and the number doubled
    | - . 2 $           there is no other one: 2 is the answer

Numbers are compared and halved from right to left. The half of each digit is written first; the new
digit is that, plus 5 if the next digit is odd. Rows only move forward, and a step sees no further
than the row above, so the windows can be proved complete.
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
    broadcast={"step": ("place",), "two": ("row",), "taken": ("row",)},
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
    if nonzero != "+":
        write_answer(paper, nonzero, y if nonzero == "y" else x)
        return

    order, twos = "", 0
    while order != "=":
        paper.home("place").move(place=-1).write("turn", "|")
        if x[0] % 2 == y[0] % 2 == 0:
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

    number = write_significant(paper, x)
    for count in range(twos + 1):
        paper.home("place").move(place=-1, row=+1).write("again", "|")
        for _ in range(count):
            paper.move(place=+1).write("past", "-")
        if count < twos:
            paper.move(place=+1).write("taken", "2")
            number = write_double(paper, number, base)
    write_answer(paper, ".", number)


def step(
    paper: Paper, sign: str, x: list[int], y: list[int], base: int
) -> tuple[list[int], list[int]]:
    """Half of x (signs `2` and `x`), y, x - y (`>`) or y - x, and the number that stays."""
    paper.home("place").move(place=-1, row=+1).write("step", sign)
    changed, staying = (y, x) if sign in "y<" else (x, y)
    borrow, digits, borrows = 0, [], []
    for upper, lower in zip(changed, staying, strict=True):
        difference = upper - borrow - (lower if sign in "<>" else 0)
        borrow = int(difference < 0)
        digits.append(difference % base)
        borrows.append(borrow)
    halves = []
    for place, stays in enumerate(staying):
        paper.move(place=+1).write("y", stays)
        paper.write("half", digits[place] // 2, carry=borrows[place])
        left = digits[place + 1] if place + 1 < len(digits) else 0
        halves.append(digits[place] // 2 + base // 2 * (left % 2))
        paper.write("x", halves[-1])
    return halves, staying


def compare(paper: Paper, x: list[int], y: list[int]) -> str:
    """Writes how the numbers compare up to each place; the last of it."""
    order = "="
    for digit_x, digit_y in zip(x, y, strict=True):
        order = order if digit_x == digit_y else "<" if digit_x < digit_y else ">"
        paper.move(place=+1).write("order", order)
    return order


def write_significant(paper: Paper, number: list[int]) -> list[int]:
    """Copies a number without zeros in front; marks from the left show where it ends."""
    digits = list(number)
    paper.write("front", ",")
    while not digits[-1]:
        digits.pop()
        paper.move(place=-1).write("front", ",")
    paper.home("place").move(place=-1, row=+1).write("copy", "=")
    for digit in digits:
        paper.move(place=+1).write("sum", digit)
    return digits


def write_double(paper: Paper, number: list[int], base: int) -> list[int]:
    """Twice the number, with one more digit where that is needed."""
    paper.home("place").move(place=-1).write("copy", ":")
    carry, doubles = 0, []
    for digit in number:
        carry, double = divmod(2 * digit + carry, base)
        doubles.append(double)
    doubles += [carry] * carry
    for digit in doubles:
        paper.move(place=+1).write("sum", digit)
    return doubles


def write_answer(paper: Paper, sign: str, number: list[int]) -> None:
    """Copies the number that is the answer."""
    paper.home("place").move(place=-1).write("copy", sign)
    for digit in number:
        paper.move(place=+1).write("answer", digit)
    paper.end()
