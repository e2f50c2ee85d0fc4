"""The digits of a number from the other end: `reverse 123=` is written `321=123$`.

The sign `=` stands beyond the last digit, and the answer goes back from there.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "reverse",
    axes=("place",),
    prompt=(Given("number", "place"), Sign("=", step={"place": 1})),
    answer=Answer("answer"),
)
def reverse(paper: Paper, number: list[int]) -> None:
    """The digits in opposite order."""
    for digit in reversed(number):
        paper.move(place=-1).write("answer", digit)
    paper.end()
