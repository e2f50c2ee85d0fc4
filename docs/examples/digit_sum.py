"""A first program: the last digit of the sum of a number's digits."""

from curta import Answer, Given, Paper, Sign, program


@program(
    "digitsum",
    axes=("place",),
    prompt=(Given("n", along="place"), Sign("=")),
    answer=Answer("sum"),
    truth=lambda n: sum(map(int, str(n))) % 10,
    sizes=(1, 8),
)
def digit_sum(paper: Paper, n: list[int]) -> None:
    """The sum of all digits, without its tens."""
    total = 0
    for digit in n:
        total = (total + digit) % 10
        paper.move(place=+1).write("so far", total)
    paper.write("sum", total).end()
