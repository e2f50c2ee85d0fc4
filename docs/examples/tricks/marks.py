"""Marks instead of counts: does a number have as many ones as twos?"""

from curta import Answer, Given, Paper, Sign, program


def equal(n: int) -> bool:
    """The same in plain Python."""
    return str(n).count("1") == str(n).count("2")


def few_kinds(rng, digits: int) -> tuple[int]:
    """Draw a number of ones, twos and threes."""
    return (int("".join(rng.choices("123", k=digits))),)


@program(
    "asmany",
    axes=("place", "tally"),
    prompt=(
        Given("n", along="place", everywhere=("tally",)),
        Sign("=", at={"place": -1, "tally": -1}),
    ),
    answer=Answer("verdict", truth=True),
    broadcast={"mark": ("place",)},
    truth=equal,
    sizes=(1, 8),
    cases={"ones and twos": few_kinds},
)
def as_many(paper: Paper, n: list[int]) -> None:
    """A mark for each one; then each two goes back over a mark."""
    marks = 0
    for digit in n:
        if digit == 1:
            marks += 1
            paper.move(place=+1, tally=+1).write("mark", "/")
        else:
            paper.move(place=+1).write("pass", ".")
    paper.home("place").move(place=-1).write("again", "|")
    for digit in n:
        if digit == 2 and not marks:
            paper.write("verdict", 0).end()
            return
        marks -= digit == 2
        paper.move(place=+1, tally=-int(digit == 2)).write("second", digit)
    paper.write("verdict", int(marks == 0)).end()
