"""How a table is divided into problems that are trained on and held out, mirrored ones too."""

from pathlib import Path

import pytest

from curta.config.task import Task
from curta.model import recipes
from curta.problems import tasks
from curta.problems.problem import Problem

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


def operands(task: Task, places: range) -> set[tuple[int, ...]]:
    return {problem.operands for problem in tasks.held_out(task, places)}


@pytest.mark.parametrize("operator", ["+", "-", "*", "//"])
@pytest.mark.parametrize("rows", [0, 20])
def test_a_split_is_counted(operator: str, rows: int) -> None:
    task = Task(operator, special=0.0, values=(0, 9), held_out=30, rows=rows)
    found = tasks.split(task)
    every = Task(operator, special=0.0, values=(0, 9), held_out=89)
    end = 30 + rows if rows else tasks.table(task).rows
    out, known = operands(task, range(30)), operands(every, range(30, min(end, 89)))
    if end > 89:
        pairs = {(a, b) for a in range(10) for b in range(10) if b or operator != "//"}
        known = pairs - out
    same = {
        (a, b)
        for a, b in out
        if a != b and (b, a) in known
        and Problem(operator, (a, b)).truth == Problem(operator, (b, a)).truth
    }  # fmt: skip
    assert (found.held_out, found.training, found.overlap) == (len(out), len(known), 0)
    assert found.mirrored == len(same)
    assert (found.mirrored > 0) == (operator in "+*")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("five-operations-small", marks=pytest.mark.slow),
        "spaced-addition",
        "ladder-5-answers",
        "range",
    ],
)
def test_the_results_name_their_mirrored_problems(name: str) -> None:
    recipe = recipes.resolve(f"sources/{name}", {}, "a test")
    assert f"{tasks.split(recipe.tasks[0]).mirrored:,}" in RESULTS.read_text("utf-8")
