"""Two runs on the same problems, counted against what their members write."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.sections import EvaluationSettings
from curta.evaluation import paired
from curta.evaluation.evaluation_set import drawn
from curta.evaluation.paired import EvaluatedRun
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from curta.problems import tasks
from curta.runs.run import Run
from tests import tiny
from tests.made_once import Shared

SETTINGS = EvaluationSettings(digits=(1, 2), count=40)

HALF = {"training__steps": 260, "training__batch": 64, "task__digits": [1, 2], "model__width": 32}
"""A run that is right on some problems and wrong on others."""


def ask(
    first: EvaluatedRun, second: EvaluatedRun, member: int | None = None, **changes: Any
) -> paired.Paired:
    settings = replace(SETTINGS, **changes)
    return paired.paired(first, second, ("one", "two"), settings, member, lambda what: None)


@pytest.fixture
def run(shared_runs: Shared, brief: None) -> Run:
    return shared_runs.trained(**HALF)


def only(run: Run, member: int) -> EvaluatedRun:
    return EvaluatedRun(run.recipe, run.load_models().only(member), [run.seeds[member]])


def right(run: Run, member: int, size: int, slice_name: str) -> list[bool]:
    """Whether the text that a member writes, token by token, is what is to be written."""
    problems = drawn(run.layout, "+", slice_name, size, SETTINGS.count, SETTINGS.seed)
    texts = [run.layout.tokens_of(problem) for problem in problems]
    truth = [tokens[prompt:] for tokens, prompt in texts]
    return [a == b for a, b in zip(run.write(problems, member), truth, strict=True)]


def test_two_members_are_counted_problem_by_problem(run: Run) -> None:
    found = ask(only(run, 0), only(run, 1))
    assert [(one.size, one.slice_name) for one in found.slices[:2]] == [
        ("1", "random"),
        ("1", "unequal"),
    ]
    assert (found.member_seeds, found.paired, found.seed) == ((0, 1), False, SETTINGS.seed)
    seen = 0
    for one in found.slices:
        mine, its = (right(run, member, int(one.size), one.slice_name) for member in (0, 1))
        pairs = list(zip(mine, its, strict=True))
        assert one.members is not None
        told = one.members
        assert pairs.count((True, True)) == told.both
        assert pairs.count((True, False)) == told.only_first
        assert pairs.count((False, True)) == told.only_second
        assert pairs.count((False, False)) == told.neither
        assert one.seeds.difference == pytest.approx(np.mean(mine) - np.mean(its), abs=1e-6)
        assert told.p <= told.adjusted <= 1
        seen += told.only_first + told.only_second
    assert seen > 0


def test_a_run_beside_itself_differs_in_nothing(run: Run) -> None:
    found = run.paired(run, digits=(1,), count=20)
    assert found.paired
    assert all(one.seeds.difference == 0 and one.members is None for one in found.slices)
    again = run.paired(run, member=1, digits=(1,), count=20)
    assert again.member_seeds == (1, 1)
    assert {one.members.p for one in again.slices if one.members} == {1.0}


def test_members_are_paired_by_their_seeds(run: Run) -> None:
    models = run.load_models()
    turned = replace(models, stacked=jax.tree.map(lambda leaf: leaf[::-1], models.stacked))
    found = ask(
        EvaluatedRun(run.recipe, models, [0, 1]), EvaluatedRun(run.recipe, turned, [1, 0]), member=0
    )
    assert found.paired
    assert all(one.seeds.difference == 0 for one in found.slices)
    assert found.member_seeds == (0, 1)


def untrained(recipe: Recipe, seeds: Sequence[int] = (0,)) -> EvaluatedRun:
    layout = layout_of(recipe)
    members = [tiny.drawn(recipe, layout, seed) for seed in seeds]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    return EvaluatedRun(recipe, Models(stacked, layout, len(seeds)), list(seeds))


def sizes(
    first: EvaluatedRun, second: EvaluatedRun, settings: EvaluationSettings = SETTINGS
) -> list[tuple[str, ...]]:
    sets = paired.common(first, second, settings)
    return list(dict.fromkeys((of[key][0].operator, key[0]) for of in sets for key in of))


def test_runs_of_other_operators_have_nothing_in_common() -> None:
    sums = tiny.dense(layout="plain")
    others = tiny.dense(layout="plain", task__operator="-")
    both = tiny.dense(
        layout="plain",
        task=[{"operator": "-", "digits": [1, 2]}, {"operator": "+", "digits": [1, 2]}],
    )
    assert sizes(untrained(sums), untrained(both)) == [("+", "1"), ("+", "2")]
    with pytest.raises(UserError, match="'one' and 'two' have no problems in common"):
        ask(untrained(sums), untrained(others))


def table(**changes: Any) -> Recipe:
    """Half of the pairs up to 9 are held out; 10 of them watch the training."""
    task = {"values": [0, 9], "held_out": 50, "special": 0.0} | changes
    return tiny.dense(
        layout="plain", task=task, training__validate_every=10, training__validation=10
    )


def test_held_out_problems_are_asked_where_both_hold_them_out() -> None:
    first, second = untrained(table()), untrained(table())
    *_, held_out = paired.common(first, second, replace(SETTINGS, digits=(1,), held_out=30))
    assert {key: len(problems) for key, problems in held_out.items()} == {("0..9", "held out"): 30}
    other = untrained(table(split=7))
    assert sizes(first, other, replace(SETTINGS, digits=(1,))) == [("+", "1")]


def trained_on(recipe: Recipe) -> set[tuple[int, ...]]:
    task = recipe.tasks[0]
    return {one.operands for one in tasks.trained_problems(task, tasks.trained_count(task))}


def test_no_problem_is_called_held_out_that_either_was_trained_on() -> None:
    """Twins together or apart: the counts are the same, and the problems are not."""
    together, apart = (table(twins_together=value) for value in (True, False))
    held_out = {one.operands for one in tasks.held_out(together.tasks[0], range(50))}
    assert held_out & trained_on(apart)
    for pair in ((together, apart), (apart, together)):
        assert sizes(*map(untrained, pair), replace(SETTINGS, digits=(1,))) == [("+", "1")]


def test_problems_are_the_same_for_all_layouts() -> None:
    plain, reversed_ = (tiny.dense(layout=name) for name in ("plain", "reversed"))
    first, second = untrained(plain, (0, 1)), untrained(reversed_, (1, 0))
    mine, its = (paired.common(*pair, SETTINGS) for pair in ((first, second), (second, first)))
    assert list(mine) == list(its)
