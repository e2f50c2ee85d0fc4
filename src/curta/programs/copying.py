"""The digits of a number again: `copy 123=` is written `321=321$`."""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "copy", axes=("place",), prompt=(Given("number", "place"), Sign("=")), answer=Answer("answer")
)
def copy(paper: Paper, number: list[int]) -> None:
    """The same number, digit by digit."""
    for digit in number:
        paper.move(place=+1).write("answer", digit)
    paper.end()
