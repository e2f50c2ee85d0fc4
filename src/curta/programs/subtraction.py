"""The difference of two numbers, of either sign: `12-34=` is `21-43=8¹7¹-2¹2¹$`.

First place by place, a small 1 beside each digit that borrows. If the last place borrows, the
result is below zero: a minus follows, and the result is subtracted from zero in the same way.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "subtraction",
    "-",
    axes=("place",),
    prompt=(Given("a", "place"), Sign("-"), Given("b", "place"), Sign("=")),
    answer=Answer("answer", sign="sign"),
    broadcast={"sign": ("place",)},
)
def subtraction(paper: Paper, a: list[int], b: list[int]) -> None:
    """The difference, then its sign, then its size."""
    width = max(len(a), len(b))
    difference, borrow = [], 0
    for x, y in zip(a + [0] * (width - len(a)), b + [0] * (width - len(b)), strict=True):
        borrow, digit = int(x < y + borrow), (x - y - borrow) % 10
        paper.move(place=+1).write("rest", digit, carry=borrow)
        difference.append(digit)
    below = borrow
    paper.home().move(place=-1).write("sign", "-" if below else "+")
    borrow = 0
    for digit in difference:
        if below:
            borrow, digit = int(digit + borrow > 0), -(digit + borrow) % 10
        paper.move(place=+1).write("answer", digit, carry=borrow)
    paper.end()
