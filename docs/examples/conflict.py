"""A program that `curta check` refuses: the running total is kept in mind, not on paper.

Where the copy ends, the same digits are followed by different sums. `repaired.py` writes the
total on every square; then each step follows from what stands beside it.
"""

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
    """The digits copied, then their sum without its tens."""
    total = 0
    for digit in n:
        total = (total + digit) % 10
        paper.move(place=+1).write("copy", digit)
    paper.write("sum", total).end()
