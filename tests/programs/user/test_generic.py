"""The recipe of a program without one: evaluated at sizes like those that it is trained on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curta.frontends import api
from curta.model import model_cost
from curta.programs.machine import Answer, Given, Program, Sign, survey, written
from curta.programs.user import registry


def of_sizes(sizes: dict[str, tuple[int, int]], many: bool = False) -> Program:
    last = Given("b", "place", many="row" if many else None)
    prompt = (Given("a", "place"), Sign(","), last, Sign("="))
    blank = written("own", axes=("place", "row"), prompt=prompt, answer=Answer("best"), sizes=sizes)
    return replace(blank, run=lambda paper, *numbers: paper.end())


@pytest.mark.parametrize(
    ("sizes", "many", "asked"),
    [
        ({"digits": (1, 5)}, False, [5, 10, 20]),
        ({"digits": (1, 5), "second": (1, 1)}, False, ["5/1", "10/1", "20/1"]),
        ({"digits": (1, 5), "second": (1, 3)}, False, ["5/3", "10/6", "20/12"]),
        ({"digits": (1, 3), "operands": (2, 4)}, True, ["4x3", "4x6", "4x12"]),
        ({"digits": (1, 3)}, True, ["5x3", "5x6", "5x12"]),
    ],
)
def test_sizes_of_the_evaluation_are_those_of_training_and_longer(
    sizes: dict[str, Any], many: bool, asked: list[Any]
) -> None:
    found = registry.recipe_fields([of_sizes(sizes, many)], ["own.py"])
    assert found["evaluation"]["digits"] == asked
    assert found["task"].get("operands") == (list(sizes.get("operands", (2, 5))) if many else None)


@pytest.mark.parametrize(("most", "asked"), [(2, [2]), (4, [2])])
def test_sizes_that_the_program_refuses_are_not_evaluated(most: int, asked: list[int]) -> None:
    made = replace(of_sizes({"digits": (1, most)}), refuse=lambda a, b: "no" if a > 12 else None)
    assert registry.recipe_fields([made], ["own.py"])["evaluation"]["digits"] == asked


def test_the_largest_problem_may_be_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a training it stands for the longest text: another one has to do."""
    monkeypatch.setattr(survey, "TOKENS", 2_000)
    path = tmp_path / "month.py"
    path.write_text(
        "from curta import Answer, Given, Sign, program\n\n"
        '@program("month", axes=("place",), prompt=(Given("n", "place"), Sign("=")),\n'
        '         answer=Answer("out"), truth=lambda n: n, sizes=(1, 2),\n'
        '         refuse=lambda n: None if 1 <= n <= 12 else "no such month")\n'
        "def month(paper, n):\n"
        "    paper.home()\n"
        "    for digit in n:\n"
        '        paper.write("out", digit).move(place=+1)\n'
        "    paper.end()\n"
    )
    assert model_cost.estimate(api.resolve(str(path), {}), 1).operations > 0
