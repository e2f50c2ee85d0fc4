"""The alternating sum of digits without its elevens: the remainder by eleven."""

from curta import Answer, Given, Paper, Sign, program


@program(
    "eleven",
    axes=("place",),
    prompt=(Given("n", along="place"), Sign("=")),
    answer=Answer("rest", base=11),
    truth=lambda n: n % 11,
    sizes=(1, 8),
)
def alternating(paper: Paper, n: list[int]) -> None:
    """The remainder by eleven; beside each, whether the next digit is added or taken away."""
    rest, sign = 0, 1
    for digit in n:
        rest, sign = (rest + sign * digit) % 11, -sign
        paper.move(place=+1).write("so far", rest, carry=int(sign < 0))
    paper.write("rest", rest).end()
