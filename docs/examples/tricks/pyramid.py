"""A diagonal: a pyramid in which each digit is the sum of the two above it, without its tens."""

from itertools import pairwise

from curta import Answer, Given, Paper, Sign, program


def top(n: int) -> int:
    """The same in plain Python."""
    row = [int(digit) for digit in str(n)]
    while len(row) > 1:
        row = [(x + y) % 10 for x, y in pairwise(row)]
    return row[0]


@program(
    "pyramid",
    axes=("place", "row"),
    prompt=(Given("n", along="place"), Sign("=")),
    answer=Answer("top"),
    truth=top,
    sizes=(1, 6),
)
def pyramid(paper: Paper, n: list[int]) -> None:
    """The last digit of the pyramid. Each row begins one square later than the one above."""
    row, blanks = n, 0
    while True:
        for _ in range(blanks):
            paper.move(place=+1).write("blank", ".")
        for place, digit in enumerate(row):
            paper.move(place=+1).write("digit", digit, carry=int(place == 0))
        if len(row) == 1:
            break
        paper.home("place").move(place=-1, row=+1).write("next", "|")
        row = [(x + y) % 10 for x, y in pairwise(row)]
        blanks += 1
    paper.write("top", row[0]).end()
