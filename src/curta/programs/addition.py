"""The sum of two numbers, from the right to the left: `12+39=` is written `21+93=15$`."""

from itertools import zip_longest

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "addition",
    "+",
    axes=("place",),
    prompt=(Given("a", "place"), Sign("+"), Given("b", "place"), Sign("=")),
    answer=Answer("sum"),
)
def addition(paper: Paper, a: list[int], b: list[int], *, base: int = 10) -> None:
    """The sum of two numbers, place by place."""
    carry = 0
    for x, y in zip_longest(a, b, fillvalue=0):
        carry, digit = divmod(x + y + carry, base)
        paper.move(place=+1).write("sum", digit)
    if carry:
        paper.move(place=+1).write("sum", carry)
    paper.end()
