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


@pytest.mark.parametrize("what", ["grid", "table"])
def test_a_recipe_without_such_an_operator_has_neither(what: str) -> None:
    with pytest.raises(UserError, match=f"a {what} is of two operands"):
        evaluate(replace(SMALL, **{what: 2}), TASKS[1])
