"""The greatest common divisor by halves and differences (J. Stein, 1967).

Two numbers, x and y, become smaller until they are equal. If one is even and the other odd,
half of the even one has the same divisors in common. If both are even, both are halved, and
the result is doubled in the end. If both are odd, the smaller is taken from the larger.

Before each step they are compared from the right to the left, a sign a place: `<`, `=`, `>`;
`x` or `y` while only that number has a digit other than 0, `0` while neither has. A half is
written in pairs: half of the digit, then 5 more if the one to its left is odd. `gcd 6,4=`:

    > > 2 2 33  y 22 |        6 and 4 are both even: 3 and 2, and a 2 to remember
    > > y 11 |                2 is even: 3 and 1
    > > x 2 |                 both are odd: 3 - 1 = 2
    > > x 11 |                2 is even: 1 and 1
    = x 1 | 2 | 2 $           they are equal: 1, doubled once; the answer is 2

Each number has an axis of its own, on which it moves when it changes, so both are always seen
where the pen is. Halves of x are written one further on y's axis, where no y is seen.
"""

import math

from curta.programs import cases
from curta.programs.division import subtract
from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "gcd",
    axes=("place", "x", "y", "twos"),
    prompt=(
        Given("x", "place", everywhere=("y", "twos"), filled=True),
        Sign(",", everywhere=("place", "x", "y", "twos")),
        Given("y", "place", everywhere=("x", "twos"), filled=True),
        Sign("=", everywhere=("twos",)),
    ),
    answer=Answer("answer"),
    broadcast={
        "so far": ("twos",),
        "verdict": ("place", "twos"),
        "turn": ("place", "twos"),
        "minus": ("place", "twos"),
        "halve": ("place", "twos"),
        "half x": ("twos",),
        "half y": ("twos",),
        "twos": ("place", "x", "y"),
        "result": ("place", "x", "y", "twos"),
        "again": ("place", "x", "y"),
        "sum": ("x", "y"),
        "answer": ("x", "y"),
    },
    truth=math.gcd,
    commutes=True,
    cases={
        "common factor": cases.common_factor,
        "one is zero": cases.one_is_zero,
        "powers of two": cases.powers_of_two,
    },
    example="gcd 1071,462",
)
def gcd(paper: Paper, x: list[int], y: list[int]) -> None:
    """The greatest common divisor of two numbers."""
    twos = 0
    while (verdict := compare(paper, x, y)) in "<>":
        paper.home("place").move(place=-1).write("verdict", verdict)
        paper.home("place").move(place=-1)
        if x[0] % 2 and y[0] % 2:
            if verdict == ">":
                x = subtract(paper.move(x=+1).write("minus", "x"), "x", x, y)
            else:
                y = subtract(paper.move(y=+1).write("minus", "y"), "y", y, x)
            paper.home("place").move(place=-1).write("turn", "|")
            continue
        which = "y" if x[0] % 2 else "x" if y[0] % 2 else "2"
        paper.move(x=+1, y=+1).write("halve", which)
        if which == "2":
            twos += 1
            paper.move(twos=+1).write("twos", "2")
        if which != "y":
            x = halve(paper, "x", x)
        if which == "2":
            paper.home("place").move(place=-1, x=+1).write("halve", "y")
        if which != "x":
            y = halve(paper, "y", y)
        paper.home("place").move(place=-1, **{"y" if which == "x" else "x": -1})
        paper.write("turn", "|")
    write_result(paper, "y" if verdict == "y" else "x", y if verdict == "y" else x, twos)


def compare(paper: Paper, x: list[int], y: list[int]) -> str:
    """Writes how the numbers compare up to each place; the last of it."""
    order, any_x, any_y, sign = "=", False, False, "0"
    for digit_x, digit_y in zip(x, y, strict=True):
        order = order if digit_x == digit_y else "<" if digit_x < digit_y else ">"
        any_x, any_y = any_x or digit_x > 0, any_y or digit_y > 0
        sign = order if any_x and any_y else "x" if any_x else "y" if any_y else "0"
        paper.move(place=+1).write("so far", sign)
    return sign


def halve(paper: Paper, role: str, number: list[int]) -> list[int]:
    """Half of an even number: half of each digit, and 5 if the next one is odd."""
    halves = []
    for digit, left in zip(number, [*number[1:], 0], strict=True):
        paper.move(place=+1).write(f"half {role}", digit // 2)
        halves.append(digit // 2 + 5 * (left % 2))
        paper.write(role, halves[-1])
    return halves


def write_result(paper: Paper, role: str, number: list[int], twos: int) -> None:
    """The number that is left, doubled as often as both were halved."""
    paper.home("place").move(place=-1).write("result", role)
    for digit in number:
        paper.move(place=+1).write("sum", digit)
    for left in range(twos, -1, -1):
        paper.home("place").move(place=-1, x=+1, y=+1, twos=-1).write("again", "|")
        carry, twice = 0, []
        for digit in number:
            twice.append((2 * digit + carry) % 10 if left else digit)
            carry = digit // 5
            paper.move(place=+1).write("sum" if left else "answer", twice[-1])
        number = twice
    paper.end()
