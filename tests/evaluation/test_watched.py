"""What is watched while a run is trained: which problems, and that nothing is compiled again."""

import logging
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from curta.config.recipe import Recipe
from curta.evaluation import gap, scoring
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from curta.training import trainer
from tests import tiny

SEEDS = (3, 5)
WATCHED = {"training__evaluate_every": 5, "training__evaluate_count": 12}
TABLE = {"task__values": (0, 19), "task__held_out": 100, "task__special": 0.0}


def models(recipe: Recipe, seeds: tuple[int, ...] = SEEDS) -> Models:
    layout = layout_of(recipe)
    stacked = trainer.init(recipe, layout, jnp.array(seeds)).model
    return Models(stacked, layout, len(SEEDS), seeds=SEEDS)


RECIPES = {
    "window": tiny.recipe(**WATCHED, training__evaluate_digits=[3, "5/2"]),
    "texts of a program": tiny.recipe(positions__name="rope", **WATCHED),
    "table": tiny.dense(**TABLE, **WATCHED, evaluation__digits=[2]),
}


@pytest.mark.parametrize(
    ("name", "sizes"), [("window", ["+ 3", "+ 5/2"]), ("texts of a program", ["+ 3"])]
)
def test_problems_of_training_held_out_ones_and_sizes_are_asked(name: str, sizes: Any) -> None:
    recipe = RECIPES[name]
    found = gap.watched_problems(recipe, layout_of(recipe), SEEDS)
    assert list(found) == ["+ trained", "+ held out", *sizes]
    assert [len(each) for each in found.values()] == [2, 1, *[1] * len(sizes)]
    assert {len(mine) for each in found.values() for mine in each} == {12}
    whole = gap.known_problems(recipe, layout_of(recipe), recipe.tasks[0], SEEDS)
    assert whole is not None
    assert found["+ held out"] == [whole.held_out[:12]]
    assert found["+ trained"] == [mine[:12] for mine in whole.trained]
    lengths = {tuple(len(str(o)) for o in one.operands) for one in found[sizes[-1]][0]}
    assert lengths == {(5, 2) if name == "window" else (3, 3)}


def test_where_problems_are_drawn_anew_only_sizes_are_asked() -> None:
    recipe = tiny.dense(**WATCHED)
    assert list(gap.watched_problems(recipe, layout_of(recipe), SEEDS)) == ["+ 3"]


def test_sizes_without_positions_are_left_out() -> None:
    recipe = tiny.dense(
        **WATCHED, positions__name="learned", positions__length=32, evaluation__digits=[3, 60]
    )
    assert list(gap.watched_problems(recipe, layout_of(recipe), SEEDS)) == ["+ 3"]


@pytest.mark.parametrize("name", ["window"])
def test_the_shares_are_of_each_member_and_nothing_is_compiled_again(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    recipe = RECIPES[name]
    of, asked = models(recipe), gap.watched_problems(recipe, layout_of(recipe), SEEDS)
    found = gap.watched_exact_match(of, asked)
    for member in range(2):
        for label, each in asked.items():
            mine = each[member % len(each)]
            own = scoring.exact_match(of.only(member), mine).mean()
            assert found[label][member] == pytest.approx(own, abs=1e-6)
    other = models(recipe, (8, 9)).stacked
    jax.block_until_ready(other)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        again = gap.watched_exact_match(of.with_weights(other), asked)
    assert [line for line in caplog.messages if line.startswith("Compiling")] == []
    fresh = gap.watched_exact_match(models(recipe, (8, 9)), asked)
    assert again == fresh
