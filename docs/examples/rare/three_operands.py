"""Three numbers added in one step for each place."""

from itertools import zip_longest

from curta import Answer, Given, Paper, Sign, program


@program(
    "threesum",
    axes=("place",),
    prompt=(
        Given("a", along="place"), Sign(";", role="first"), Given("b", along="place"),
        Sign(";", role="second"), Given("c", along="place"), Sign("="),
    ),
    answer=Answer("sum"),
    truth=lambda a, b, c: a + b + c,
    sizes=(1, 6),
)  # fmt: skip
def three_operands(paper: Paper, a: list[int], b: list[int], c: list[int]) -> None:
    """The sum of three numbers, the carry beside each digit."""
    carry = 0
    for x, y, z in zip_longest(a, b, c, fillvalue=0):
        carry, digit = divmod(x + y + z + carry, 10)
        paper.move(place=+1).write("sum", digit, carry=carry)
    if carry:
        paper.move(place=+1).write("sum", carry)
    paper.end()
