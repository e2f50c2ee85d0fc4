"""The program of `conflict.py`, repaired: the sum so far is written small beside each digit."""

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
    """The digits copied, the sum so far beside each, then their sum without its tens."""
    total = 0
    for digit in n:
        total = (total + digit) % 10
        paper.move(place=+1).write("copy", digit, carry=total)
    paper.write("sum", total).end()
