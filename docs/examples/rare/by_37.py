"""Division by 37, digit by digit from the highest."""

from curta import Answer, Given, Paper, Sign, program


@program(
    "byprime",
    axes=("place",),
    prompt=(Given("n", along="place", high_first=True), Sign("=")),
    answer=Answer("quotient", high_first=True),
    truth=lambda n: n // 37,
    sizes=(1, 8),
)
def by_37(paper: Paper, n: list[int]) -> None:
    """The quotient's digits, each after the remainder so far."""
    rest = 0
    for digit in reversed(n):
        quotient, rest = divmod(10 * rest + digit, 37)
        paper.move(place=+1).write("rest", rest).write("quotient", quotient)
    paper.end()
