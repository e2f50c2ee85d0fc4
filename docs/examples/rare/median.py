"""For each place the median of three digits."""

from itertools import zip_longest

from curta import Answer, Given, Paper, Sign, program


def medians(a: int, b: int, c: int) -> int:
    """Return the medians; a number that is shorter has zeros in front."""
    width = max(len(str(n)) for n in (a, b, c))
    columns = zip(*(str(n).zfill(width) for n in (a, b, c)), strict=True)
    return int("".join(sorted(column)[1] for column in columns))


@program(
    "median",
    axes=("place",),
    prompt=(
        Given("a", along="place"), Sign(";", role="first"), Given("b", along="place"),
        Sign(";", role="second"), Given("c", along="place"), Sign("="),
    ),
    answer=Answer("median"),
    truth=medians,
    sizes=(1, 6),
)  # fmt: skip
def median(paper: Paper, a: list[int], b: list[int], c: list[int]) -> None:
    """The median of the three digits of each place."""
    for column in zip_longest(a, b, c, fillvalue=0):
        paper.move(place=+1).write("median", sorted(column)[1])
    paper.end()
