"""The check sum of ISBN-10: each digit times its place, without its elevens."""

from curta import Answer, Given, Paper, Sign, program


@program(
    "weighted",
    axes=("place",),
    prompt=(Given("n", along="place"), Sign("=")),
    answer=Answer("rest", base=11),
    truth=lambda n: sum(place * int(d) for place, d in enumerate(str(n)[::-1], 1)) % 11,
    sizes=(1, 8),
)
def weighted(paper: Paper, n: list[int]) -> None:
    """The sum so far by eleven, after the place by eleven."""
    rest = 0
    for place, digit in enumerate(n, 1):
        rest = (rest + place * digit) % 11
        paper.move(place=+1).write("place", place % 11).write("so far", rest)
    paper.write("rest", rest).end()
