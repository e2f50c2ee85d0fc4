"""How long the longest run of equal digits is, as far as nine."""

from itertools import groupby

from curta import Answer, Given, Paper, Sign, program


@program(
    "longest",
    axes=("place",),
    prompt=(Given("n", along="place"), Sign("=")),
    answer=Answer("longest"),
    truth=lambda n: min(9, max(len(list(run)) for _, run in groupby(str(n)))),
    sizes=(1, 8),
)
def longest_run(paper: Paper, n: list[int]) -> None:
    """The length of the run at each digit; beside it, the longest so far."""
    length = longest = 0
    for place, digit in enumerate(n):
        length = min(9, length + 1) if place and n[place - 1] == digit else 1
        longest = max(longest, length)
        paper.move(place=+1).write("length", length, carry=longest)
    paper.write("longest", longest).end()
