"""Trained problems are those of training, held-out ones are not, and neither are their twins."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.recipe import Recipe
from curta.evaluation import gap, scoring, suite
from curta.evaluation.scoring import Models
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.problems import tasks
from curta.problems.problem import Problem
from curta.training import records, trainer
from tests import tiny

TABLE = {"task__values": (0, 19), "task__held_out": 100, "task__special": 0.0}
ROWS = {"task__rows": 300, "task__digits": (1, 2), "task__special": 0.0}
SEEDS = (3, 5)


def models(recipe: Recipe) -> Models:
    layout = layout_of(recipe)
    stacked = trainer.init(recipe, layout, jnp.array(SEEDS)).model
    return Models(stacked, layout, len(SEEDS), seeds=SEEDS)


def known_problems(recipe: Recipe) -> gap.TrainedAndHeldOut | None:
    return gap.known_problems(recipe, layout_of(recipe), recipe.tasks[0], SEEDS)


def keys(problems: list[Problem]) -> set[tuple[int, ...]]:
    return {tuple(sorted(problem.operands)) for problem in problems}


@pytest.mark.parametrize("digits", [(1, 1), (1, 4)])
def test_a_program_is_asked_what_each_member_recorded_and_what_none_did(digits: Any) -> None:
    recipe = tiny.recipe(task__digits=digits, evaluation__held_out=30)
    found, layout = known_problems(recipe), layout_of(recipe)
    assert found is not None
    each = [records.problems(recipe, layout, recipe.tasks[0], seed) for seed in SEEDS]
    for asked, mine in zip(found.trained, each, strict=True):
        assert [problem.operands for problem in asked] == mine[:30]
    met = {tuple(sorted(operands)) for mine in each for operands in mine}
    assert found.held_out
    assert not keys(found.held_out) & met
    assert len(keys(found.held_out)) == len(found.held_out)
    assert found.twins == []


def test_where_all_was_trained_on_there_is_no_gap() -> None:
    recipe = tiny.recipe(task__digits=(1, 1), training__problems=5000)
    assert known_problems(recipe) is None


@pytest.mark.parametrize("make", [tiny.dense, tiny.recipe], ids=["a fixed set", "a program"])
def test_problems_of_validation_are_not_asked_again(make: Any) -> None:
    fixed = {"task__rows": 300} if make is tiny.dense else {}
    watching = {"training__validate_every": 1, "training__validation": 60}
    small = {"task__digits": (1, 2), "task__special": 0.0, "evaluation__held_out": 500}
    recipe = make(**fixed, **watching, **small)
    found = known_problems(recipe)
    assert found is not None
    watched = records.validation(recipe, layout_of(recipe), recipe.tasks[0])
    assert found.held_out
    assert not keys(found.held_out) & keys(watched)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("kind", ["layout", "program"])
def test_a_table_is_asked_on_both_sides_of_its_split(kind: str, together: bool) -> None:
    make = tiny.dense if kind == "layout" else tiny.recipe
    recipe = make(**TABLE, task__twins_together=together, evaluation__held_out=60)
    found, (task,) = known_problems(recipe), recipe.tasks
    assert found is not None
    every = [tuple(row) for row in tasks.table(task).pairs(jnp.arange(400)).tolist()]
    assert {problem.operands for mine in found.trained for problem in mine} <= set(every[100:])
    assert [problem.operands for problem in found.held_out] == every[:60]
    met = trained_on(recipe) if kind == "program" else every[100:]
    twins = [(a, b) for a, b in every[:60] if a != b and (b, a) in met]
    assert [problem.operands for problem in found.twins] == twins
    assert bool(twins) != together


def trained_on(recipe: Recipe) -> set[tuple[int, ...]]:
    """Operands of all problems that a program recorded for one of the members."""
    layout, (task,) = layout_of(recipe), recipe.tasks
    assert isinstance(layout, ProgramLayout)
    return {one for seed in SEEDS for one in records.problems(recipe, layout, task, seed)}


@pytest.mark.parametrize(
    "changes",
    [{"task__digits": (1, 2)}, TABLE | {"task__held_out": 0}],
    ids=["drawn anew", "nothing held out"],
)
def test_nothing_is_said_where_it_cannot_be_told(changes: dict[str, Any]) -> None:
    assert known_problems(tiny.dense(**changes)) is None


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(tiny.recipe(evaluation__held_out=70), id="program"),
        pytest.param(tiny.dense(**ROWS, evaluation__held_out=40), id="fixed set"),
        *(
            pytest.param(recipe, id=name, marks=pytest.mark.slow)
            for name, recipe in {
                "program of a table": tiny.recipe(**TABLE, evaluation__held_out=40),
                "whole texts": tiny.recipe(positions__name="rope", evaluation__held_out=20),
                "table": tiny.dense(**TABLE, evaluation__held_out=40, task__twins_together=False),
            }.items()
        ),
    ],
)
def test_the_gap_is_the_difference_of_what_each_member_makes_of_its_problems(
    recipe: Recipe,
) -> None:
    of = models(recipe)
    (found,) = suite.evaluate(recipe, of, recipe.evaluation, lambda what: None).gaps
    asked = known_problems(recipe)
    assert asked is not None
    each = asked.trained * 2 if len(asked.trained) == 1 else asked.trained
    for member in range(2):
        alone = of.only(member)
        own = scoring.exact_match(alone, each[member]).mean()
        other = scoring.exact_match(alone, asked.held_out).mean()
        assert found.trained.exact_match[member] == pytest.approx(own, abs=1e-6)
        assert found.held_out.exact_match[member] == pytest.approx(other, abs=1e-6)
        assert found.gap[member] == pytest.approx(own - other, abs=2e-6)
    assert found.trained.count == len(each[0])
    assert (found.twins is None) == (not asked.twins)
    if asked.twins:
        assert found.twins is not None
        assert found.twins.count == len(asked.twins)


def test_each_member_is_asked_its_own_problems() -> None:
    """Untrained members answer nothing, so what is looked up is held against their own tables."""
    recipe = tiny.recipe(evaluation__held_out=20)
    of, asked = models(recipe), known_problems(recipe)
    assert asked is not None
    both = gap.own_exact_match(of, asked.trained, None)
    for member, mine in enumerate(asked.trained):
        alone = scoring.exact_match(of.only(member), mine)
        np.testing.assert_array_equal(both[member : member + 1], alone)
