"""An extra axis for a second pointer: do a number's digits occur in another one, in that order?"""

from curta import Answer, Given, Paper, Sign, program


def occurs(a: int, b: int) -> bool:
    """The same in plain Python, from the lowest digits on."""
    left = iter(str(b)[::-1])
    return all(digit in left for digit in str(a)[::-1])


@program(
    "within",
    axes=("place", "needle"),
    prompt=(
        Given("a", along="needle", everywhere=("place",)),
        Sign(",", everywhere=("place", "needle")),
        Given("b", along="place", everywhere=("needle",)),
        Sign("="),
    ),
    answer=Answer("verdict", truth=True),
    truth=occurs,
    sizes={"digits": (1, 3), "second": (1, 8)},
)
def within(paper: Paper, a: list[int], b: list[int]) -> None:
    """Whether the digits of a occur in b, in that order; each match moves on along a."""
    matched = 0
    for digit in b:
        paper.move(place=+1)
        if matched < len(a) and digit == a[matched]:
            paper.write("step", 1).move(needle=+1)
            matched += 1
        else:
            paper.write("step", 0)
    paper.write("verdict", int(matched == len(a))).end()
