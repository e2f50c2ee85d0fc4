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
SHORT = replace(SETTINGS, digits=(1,), held_out=30)


def compare(first: EvaluatedRun, second: EvaluatedRun, member: int | None = None) -> paired.Paired:
    return paired.paired(first, second, ("one", "two"), SETTINGS, member, lambda what: None)


@pytest.fixture(scope="module")
def run(shared_runs: Shared, brief: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One that is right on some problems and wrong on others."""
    return shared_runs.half_trained(tmp_path_factory.mktemp("half"))


def only(run: Run, member: int) -> EvaluatedRun:
    return EvaluatedRun(run.recipe, run.load_models().only(member), [run.seeds[member]])


def right(run: Run, member: int, size: int, slice_name: str) -> list[bool]:
    """Whether the text that a member writes, token by token, is what is to be written."""
    problems = drawn(run.layout, "+", slice_name, size, SETTINGS.count, SETTINGS.seed)
    texts = [run.layout.tokens_of(problem) for problem in problems]
    truth = [tokens[prompt:] for tokens, prompt in texts]
    return [a == b for a, b in zip(run.write(problems, member), truth, strict=True)]


def test_two_members_are_counted_problem_by_problem(run: Run) -> None:
    result = compare(only(run, 0), only(run, 1))
    assert [(row.size, row.slice_name) for row in result.slices[:2]] == [
        ("1", "random"),
        ("1", "unequal"),
    ]
    assert (result.member_seeds, result.paired, result.seed) == ((0, 1), False, SETTINGS.seed)
    discordant = 0
    for row in result.slices:
        mine, its = (right(run, member, int(row.size), row.slice_name) for member in (0, 1))
        pairs, counts = list(zip(mine, its, strict=True)), row.members
        assert counts is not None
        assert pairs.count((True, True)) == counts.both
        assert pairs.count((True, False)) == counts.only_first
        assert pairs.count((False, True)) == counts.only_second
        assert pairs.count((False, False)) == counts.neither
        assert row.seeds.difference == pytest.approx(np.mean(mine) - np.mean(its), abs=1e-6)
        assert counts.p <= counts.adjusted <= 1
        discordant += counts.only_first + counts.only_second
    assert discordant > 0


def test_a_run_beside_itself_differs_in_nothing(run: Run) -> None:
    """Also where its members are in another order: they are paired by their seeds."""
    result = run.paired(run, member=1, digits=(1,), count=20)
    assert result.member_seeds == (1, 1)
    assert {row.members.p for row in result.slices if row.members} == {1.0}
    models = run.load_models()
    turned = replace(models, stacked=jax.tree.map(lambda leaf: leaf[::-1], models.stacked))
    first, second = (
        EvaluatedRun(run.recipe, models, [0, 1]), EvaluatedRun(run.recipe, turned, [1, 0]),
    )  # fmt: skip
    for member in (None, 0):
        result = compare(first, second, member)
        assert result.paired
        assert all(row.seeds.difference == 0 for row in result.slices)
        assert all((row.members is None) == (member is None) for row in result.slices)


def untrained(recipe: Recipe, seeds: Sequence[int] = (0,)) -> EvaluatedRun:
    layout = layout_of(recipe)
    members = [tiny.drawn(recipe, layout, seed) for seed in seeds]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    return EvaluatedRun(recipe, Models(stacked, layout, len(seeds)), list(seeds))


def sizes(
    first: Recipe, second: Recipe, settings: EvaluationSettings = SHORT
) -> list[tuple[str, ...]]:
    sets = paired.common(untrained(first), untrained(second), settings)
    return list(dict.fromkeys((of[key][0].operator, key[0]) for of in sets for key in of))


def test_runs_of_other_operators_have_nothing_in_common() -> None:
    sums = tiny.dense(layout="plain")
    others = tiny.dense(layout="plain", task__operator="-")
    both = [{"operator": operator, "digits": [1, 2]} for operator in "-+"]
    assert sizes(sums, tiny.dense(layout="plain", task=both), SETTINGS) == [("+", "1"), ("+", "2")]
    with pytest.raises(UserError, match="'one' and 'two' have no problems in common"):
        compare(untrained(sums), untrained(others))


def table(**changes: Any) -> Recipe:
    """Half of the pairs up to 9 are held out; 10 of them watch the training."""
    task = {"values": [0, 9], "held_out": 50, "special": 0.0} | changes
    return tiny.dense(
        layout="plain", task=task, training__validate_every=10, training__validation=10
    )


def test_held_out_problems_are_in_common_where_both_hold_them_out() -> None:
    """With twins together or apart the counts are the same, and the problems are not."""
    *_, held_out = paired.common(untrained(table()), untrained(table()), SHORT)
    assert {key: len(problems) for key, problems in held_out.items()} == {("0..9", "held out"): 30}
    together, apart = (table(twins_together=value) for value in (True, False))
    (task,) = apart.tasks
    trained = {p.operands for p in tasks.trained_problems(task, tasks.trained_count(task))}
    assert trained & {p.operands for p in tasks.held_out(together.tasks[0], range(50))}
    for pair in ((table(), table(split=7)), (together, apart), (apart, together)):
        assert sizes(*pair) == [("+", "1")]


def test_problems_are_the_same_for_all_layouts() -> None:
    plain, reversed_ = (tiny.dense(layout=name) for name in ("plain", "reversed"))
    first, second = untrained(plain, (0, 1)), untrained(reversed_, (1, 0))
    mine, its = (paired.common(*pair, SETTINGS) for pair in ((first, second), (second, first)))
    assert list(mine) == list(its)
