"""The sum of two numbers, with a carry mark before each digit: `12+39=` is `21+93=.1'5.0$`.

A dot marks no carry, `'` a carry of 1. The numbers have the same length and the sum has one place
more, so a digit is missing at the highest place only. Every digit is the same function of a mark
and two digits, at all places.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "carried",
    "+",
    axes=("place",),
    prompt=(
        Given("a", "place", filled=True),
        Sign("+"),
        Given("b", "place", filled=True),
        Sign("="),
    ),
    answer=Answer("sum"),
)
def carried(paper: Paper, a: list[int], b: list[int]) -> None:
    """The sum of two numbers, a carry mark before each digit."""
    carry = 0
    for x, y in zip([*a, 0], [*b, 0], strict=True):
        paper.move(place=+1).write("carry", "'" if carry else ".")
        carry, digit = divmod(x + y + carry, 10)
        paper.write("sum", digit)
    paper.end()
