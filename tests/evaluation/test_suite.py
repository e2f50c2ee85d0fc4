"""Grids and tables cover every operator of a recipe that has two operands."""

from dataclasses import replace
from typing import Any

import jax
import pytest

from curta.config.errors import UserError
from curta.config.sections import Evaluation
from curta.evaluation import exact_match, results, suite
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from tests import tiny
from tests.evaluation.rows import row

TASKS = [{"operator": one, "digits": [1, 2]} for one in ("+", "copy", "-", "sort")]
SMALL = Evaluation(digits=(1,), count=1, generated=1)


def evaluate(settings: Evaluation, *tasks: dict[str, Any]) -> results.Evaluation:
    recipe = tiny.dense(layout="plain", task=list(tasks))
    layout = layout_of(recipe)
    stacked = jax.tree.map(lambda leaf: leaf[None], tiny.drawn(recipe, layout))
    return suite.evaluate(recipe, Models(stacked, layout, 1), settings, lambda what: None)


@pytest.mark.slow
def test_every_operator_of_two_operands_has_a_grid_and_a_table() -> None:
    found = evaluate(replace(SMALL, grid=2, grid_count=1, table=1), *TASKS)
    assert [one.operator for one in found.grids] == ["+", "-"]
    assert [one.operator for one in found.tables] == ["+", "-", "sort"]


HELD_OUT = {"values": [0, 9], "held_out": 10, "special": 0.0}


@pytest.mark.parametrize(
    ("tasks", "changes", "says"),
    [
        ([HELD_OUT], {"layouts": ["hints"]}, "'hints' has other characters than 'plain'"),
        ([HELD_OUT], {"layouts": ["filled"] * 11}, "evaluation.layouts makes it 12 sets"),
        ([{}], {"layouts": ["filled"]}, "evaluation.layouts .* it needs task.held_out"),
        ([{}], {"grid_count": 3}, "evaluation.grid_count 3 has no effect"),
    ],
)
def test_changes_that_mean_nothing_are_refused(
    tasks: list[dict[str, Any]], changes: dict[str, Any], says: str
) -> None:
    recipe = tiny.dense(layout="plain", task=tasks)
    with pytest.raises(UserError, match=says):
        suite.settings_of(recipe, layout_of(recipe), changes)


def test_another_program_that_is_none_is_refused() -> None:
    recipe = tiny.recipe(task__values=[0, 9], task__held_out=10, task__special=0.0)
    with pytest.raises(UserError, match="unknown other way to write these problems 'gcd'"):
        suite.settings_of(recipe, layout_of(recipe), {"layouts": ["gcd"]})


@pytest.mark.parametrize("what", ["grid", "table"])
def test_a_recipe_without_such_an_operator_has_neither(what: str) -> None:
    with pytest.raises(UserError, match=f"a {what} is of two operands"):
        evaluate(replace(SMALL, **{what: 2}), TASKS[1])


STOPS: dict[str, tuple[dict[str, Any], dict[str, Any], list[int | str]]] = {
    "after a size at which every seed is wrong": (
        {"digits": (1, 10)}, {"digits": (100, 20, 50, 10)}, [100],
    ),
    "unless all sizes are wanted": (
        {"digits": (1, 10)}, {"digits": (20, 50, 100), "all_sizes": True}, [],
    ),
    "never at sizes of training": ({"digits": (1, 100)}, {"digits": (50, 100)}, []),
    "not for a size that is shorter than any of training": (
        {"digits": (60, 70)}, {"digits": (50, 100)}, [],
    ),
    "not where one operand is shorter": (
        {"digits": (1, 10)}, {"digits": ("50/20", "20/50", "60/20")}, ["60/20"],
    ),
}  # fmt: skip
"""A task, settings of the evaluation, and the sizes that are left out."""


@pytest.mark.parametrize("name", STOPS)
def test_the_evaluation_stops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = {"10": (0.5, 1.0), "20": (0.0, 0.1)}
    monkeypatch.setattr(
        exact_match,
        "lengths",
        lambda models, operator, size, settings: [
            row(operator, str(size), "random", shares=(0.0, 0.0)),
            row(operator, str(size), "carry", shares=right.get(str(size), (0.0, 0.0))),
        ],
    )
    monkeypatch.setattr(exact_match, "examples", lambda *given: [])
    task, settings, left_out = STOPS[name]
    recipe = tiny.dense(layout="plain", task=[{"operator": "+", **task}])
    stacked = jax.tree.map(lambda leaf: leaf[None], tiny.drawn(recipe, layout_of(recipe)))
    models = Models(stacked, layout_of(recipe), 1)
    said = list[str]()
    found = suite.evaluate(recipe, models, Evaluation(**settings), said.append)
    assert [one.size for one in found.unevaluated] == [str(size) for size in left_out]
    assert said == list(dict.fromkeys(f"+ at {one.size} digits" for one in found.lengths))
    assert len(said) + len(left_out) == len(settings["digits"])
    for one in found.unevaluated:
        assert one.reason == "every seed is wrong on every problem at 50 digits" or "/" in one.size
