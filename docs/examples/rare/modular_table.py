"""A number's remainder by 47, by a table with a row for each remainder so far."""

from curta import Answer, Given, Paper, Sign, program


@program(
    "modtable",
    axes=("place",),
    prompt=(Given("n", along="place", high_first=True), Sign("=")),
    answer=Answer("rest", base=47),
    truth=lambda n: n % 47,
    sizes=(1, 8),
)
def modular_table(paper: Paper, n: list[int]) -> None:
    """The remainder by 47, from the highest digit on."""
    rest = 0
    for digit in reversed(n):
        rest = (10 * rest + digit) % 47
        paper.move(place=+1).write("so far", rest)
    paper.write("rest", rest).end()
