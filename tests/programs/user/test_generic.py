"""The recipe of a program without one: evaluated at sizes like those that it is trained on."""

from typing import Any

import pytest

from curta.programs.machine import Answer, Given, Paper, Program, Sign, program
from curta.programs.user import generic


def of_sizes(sizes: dict[str, tuple[int, int]], many: bool = False) -> Program:
    last = Given("b", "place", many="row") if many else Given("b", "place")

    @program(
        "own",
        "own",
        axes=("place", "row"),
        prompt=(Given("a", "place"), Sign(","), last, Sign("=")),
        answer=Answer("best"),
        sizes=sizes,
    )
    def made(paper: Paper, *numbers: list[int]) -> None:
        paper.move(place=+1).write("best", numbers[0][0])
        paper.end()

    return made


@pytest.mark.parametrize(
    ("sizes", "many", "asked"),
    [
        ({"digits": (1, 5)}, False, [5, 10, 20]),
        ({"digits": (1, 5), "second": (1, 1)}, False, ["5/1", "10/1", "20/1"]),
        ({"digits": (1, 5), "second": (1, 3)}, False, ["5/3", "10/6", "20/12"]),
        ({"digits": (1, 3), "operands": (2, 4)}, True, ["4x3", "4x6", "4x12"]),
    ],
)
def test_sizes_of_the_evaluation_are_those_of_training_and_longer(
    sizes: dict[str, Any], many: bool, asked: list[Any]
) -> None:
    found = generic.fields([of_sizes(sizes, many)], ["own.py"])
    assert found["evaluation"]["digits"] == asked
