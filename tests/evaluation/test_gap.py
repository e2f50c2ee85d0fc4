"""Trained problems are those of training, held-out ones are not, and neither are their twins."""

import logging
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from curta.config.recipe import Recipe
from curta.evaluation import evaluation_set, scoring, suite
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from curta.problems import tasks
from curta.problems.problem import Problem
from curta.training import records, trainer
from tests import tiny

TABLE = {"task__values": (0, 19), "task__held_out": 100, "task__special": 0.0}
ROWS = {"task__rows": 300, "task__digits": (1, 2), "task__special": 0.0}
WATCHED = {"training__evaluate_every": 5, "training__evaluate_count": 12}
SEEDS = (3, 5)


def models(recipe: Recipe, drawn: tuple[int, ...] = SEEDS) -> Models:
    layout = layout_of(recipe)
    stacked = trainer.init(recipe, layout, jnp.array(drawn)).model
    return Models(stacked, layout, len(SEEDS), seeds=SEEDS)


def known_problems(recipe: Recipe) -> evaluation_set.TrainedAndHeldOut | None:
    return evaluation_set.known_problems(recipe, layout_of(recipe), recipe.tasks[0], SEEDS)


def keys(problems: list[Problem]) -> set[tuple[int, ...]]:
    return {tuple(sorted(problem.operands)) for problem in problems}


@pytest.mark.parametrize("digits", [(1, 1), (1, 4)])
def test_a_program_has_what_each_member_recorded_and_what_none_did(digits: Any) -> None:
    recipe = tiny.recipe(task__digits=digits, evaluation__held_out=30)
    known, layout = known_problems(recipe), layout_of(recipe)
    assert known is not None
    each = [records.problems(recipe, layout, recipe.tasks[0], seed) for seed in SEEDS]
    for trained, mine in zip(known.trained, each, strict=True):
        assert [problem.operands for problem in trained] == mine[:30]
    met = {tuple(sorted(operands)) for mine in each for operands in mine}
    assert known.held_out
    assert not keys(known.held_out) & met
    assert len(keys(known.held_out)) == len(known.held_out)
    assert known.twins == []


@pytest.mark.parametrize(
    "recipe",
    [
        tiny.recipe(task__digits=(1, 1), training__problems=5000),
        tiny.dense(task__digits=(1, 2)),
        tiny.dense(**TABLE | {"task__held_out": 0}),
    ],
    ids=["all was trained on", "drawn anew", "nothing held out"],
)
def test_where_nothing_can_be_told_apart_there_is_no_gap(recipe: Recipe) -> None:
    assert known_problems(recipe) is None


@pytest.mark.parametrize("make", [tiny.dense, tiny.recipe], ids=["a fixed set", "a program"])
def test_problems_of_validation_are_not_held_out_again(make: Any) -> None:
    fixed = {"task__rows": 300} if make is tiny.dense else {}
    watching = {"training__validate_every": 1, "training__validation": 60}
    small = {"task__digits": (1, 2), "task__special": 0.0, "evaluation__held_out": 500}
    recipe = make(**fixed, **watching, **small)
    known = known_problems(recipe)
    assert known is not None
    assert known.held_out
    watched = records.validation(recipe, layout_of(recipe), recipe.tasks[0])
    assert not keys(known.held_out) & keys(watched)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("kind", ["layout", "program"])
def test_a_table_has_problems_on_both_sides_of_its_split(kind: str, together: bool) -> None:
    make = tiny.dense if kind == "layout" else tiny.recipe
    recipe = make(**TABLE, task__twins_together=together, evaluation__held_out=60)
    known, (task,) = known_problems(recipe), recipe.tasks
    assert known is not None
    every = [tuple(row) for row in tasks.table(task).pairs(jnp.arange(400)).tolist()]
    assert {problem.operands for mine in known.trained for problem in mine} <= set(every[100:])
    assert [problem.operands for problem in known.held_out] == every[:60]
    met = set(every[100:])
    if kind == "program":
        layout = layout_of(recipe)
        met = {pair for seed in SEEDS for pair in records.problems(recipe, layout, task, seed)}
    twins = [(a, b) for a, b in every[:60] if a != b and (b, a) in met]
    assert [problem.operands for problem in known.twins] == twins
    assert bool(twins) != together


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(tiny.recipe(evaluation__held_out=70), id="program"),
        pytest.param(tiny.dense(**ROWS, evaluation__held_out=40), id="fixed set"),
        pytest.param(
            tiny.dense(**TABLE, evaluation__held_out=40, task__twins_together=False),
            id="table", marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_the_gap_is_the_difference_of_what_each_member_makes_of_its_problems(
    recipe: Recipe,
) -> None:
    of, known = models(recipe), known_problems(recipe)
    (result,) = suite.evaluate(recipe, of, recipe.evaluation, lambda what: None).gaps
    assert known is not None
    each = known.trained * 2 if len(known.trained) == 1 else known.trained
    for member in range(2):
        alone = of.only(member)
        trained = scoring.exact_match(alone, each[member]).mean()
        other = scoring.exact_match(alone, known.held_out).mean()
        assert result.trained.exact_match[member] == pytest.approx(trained, abs=1e-6)
        assert result.held_out.exact_match[member] == pytest.approx(other, abs=1e-6)
        assert result.gap[member] == pytest.approx(trained - other, abs=2e-6)
    assert result.trained.count == len(each[0])
    assert (result.twins.count if result.twins else 0) == len(known.twins)


# What is watched while a run is trained


WINDOW = tiny.recipe(**WATCHED, training__evaluate_digits=[3, "5/2"])
WHOLE = tiny.recipe(positions__name="rope", **WATCHED)


@pytest.mark.parametrize(("recipe", "sizes"), [(WINDOW, ["+ 3", "+ 5/2"]), (WHOLE, ["+ 3"])])
def test_problems_of_training_held_out_ones_and_sizes_are_watched(recipe: Any, sizes: Any) -> None:
    curves = evaluation_set.watched_problems(recipe, layout_of(recipe), SEEDS)
    assert list(curves) == ["+ trained", "+ held out", *sizes]
    assert [len(each) for each in curves.values()] == [2, 1, *[1] * len(sizes)]
    assert {len(mine) for each in curves.values() for mine in each} == {12}
    known = known_problems(recipe)
    assert known is not None
    assert curves["+ held out"] == [known.held_out[:12]]
    assert curves["+ trained"] == [mine[:12] for mine in known.trained]
    lengths = {tuple(len(str(o)) for o in p.operands) for p in curves[sizes[-1]][0]}
    assert lengths == {(5, 2) if recipe is WINDOW else (3, 3)}


@pytest.mark.parametrize(
    "changes",
    [{}, {"positions__name": "learned", "positions__length": 32, "evaluation__digits": [3, 60]}],
    ids=["drawn anew", "too long for its positions"],
)
def test_only_sizes_are_watched_that_can_be(changes: dict[str, Any]) -> None:
    recipe = tiny.dense(**WATCHED, **changes)
    assert list(evaluation_set.watched_problems(recipe, layout_of(recipe), SEEDS)) == ["+ 3"]


def test_watched_shares_are_of_each_member_and_nothing_is_compiled_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    of, curves = models(WINDOW), evaluation_set.watched_problems(WINDOW, layout_of(WINDOW), SEEDS)
    shares = scoring.watched_exact_match(of, curves)
    for member in range(2):
        for label, each in curves.items():
            share = scoring.exact_match(of.only(member), each[member % len(each)]).mean()
            assert shares[label][member] == pytest.approx(share, abs=1e-6)
    other = models(WINDOW, (8, 9)).stacked
    jax.block_until_ready(other)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        again = scoring.watched_exact_match(replace(of, stacked=other), curves)
    assert [line for line in caplog.messages if line.startswith("Compiling")] == []
    assert again == scoring.watched_exact_match(models(WINDOW, (8, 9)), curves)
