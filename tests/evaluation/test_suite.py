"""Grids and tables cover every operator of a recipe that has two operands."""

from dataclasses import replace
from typing import Any

import jax
import pytest

from curta.config.errors import UserError
from curta.config.sections import Evaluation
from curta.evaluation import results, suite
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from tests import tiny

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
        ([HELD_OUT], {"layouts": ["begun"] * 11}, "evaluation.layouts makes it 12 sets"),
        ([{}], {"layouts": ["begun"]}, "evaluation.layouts .* it needs task.held_out"),
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
