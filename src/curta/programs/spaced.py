"""Sums with spaces, worked out before they are written: `1234 + 5678 =2¹1¹96=6912$`.

The first digit of a sum depends on every carry. So the sum is worked out from the right to
the left, a small 1 where it carries, and then written in the usual order. Both numbers have
the same length, by zeros. In `spaced-apart` the spaces are elsewhere: `1 234 + 5 678=`.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program
from curta.programs.machine.prompt import Part

BETWEEN = (
    Sign(" ", "space", at={"place": -2}),
    Sign("+"),
    Sign(" ", "other space", at={"place": -3}),
)
END = Sign("=", step={"place": 1})


def operand(role: str, gap: str = "") -> Given:
    """A number in the usual order."""
    return Given(role, "place", high_first=True, filled=True, gap=gap)


def worked(paper: Paper, a: list[int], b: list[int]) -> None:
    """The sum of two numbers: worked out from the right, then written from the left."""
    carry, total = 0, []
    for x, y in zip(a, b, strict=True):
        carry, digit = divmod(x + y + carry, 10)
        paper.move(place=-1).write("worked", digit, carry=carry)
        total.append(digit)
    if carry:
        paper.move(place=-1).write("worked", 1)
        total.append(1)
    paper.move(place=-1).write("result", "=")
    for digit in reversed(total):
        paper.move(place=+1).write("sum", digit)
    paper.end()


ANSWER = Answer("sum", high_first=True)
PROMPT: tuple[Part, ...] = (operand("a"), *BETWEEN, operand("b"), Sign(" ", "last space", step={}))
APART: tuple[Part, ...] = (operand("a", gap=" "), *BETWEEN, operand("b", gap=" "))

spaced = program("spaced", "+", axes=("place",), prompt=(*PROMPT, END), answer=ANSWER)(worked)
spaced_apart = program("spaced-apart", "+", axes=("place",), prompt=(*APART, END), answer=ANSWER)(
    worked
)
