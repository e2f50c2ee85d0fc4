"""A run that is watched as it is trained: the same lines however it is cut up, the same weights."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import curta
from curta.config.errors import UserError
from curta.evaluation import evaluation_set, scoring
from curta.frontends import api
from curta.runs import checkpoints
from curta.runs.loop import Progress
from curta.runs.run import Run
from tests import tiny
from tests.made_once import Shared

pytestmark = pytest.mark.usefixtures("brief")

WATCHED = {"training__evaluate_every": 5, "training__evaluate_count": 12}
BEST = {"training__validate_every": 10, "training__validation": 8, "training__keep": "best"}
"""What is kept of a training that is interrupted belongs to its state."""
TABLE = {
    "layout": "reversed", "positions__name": "rope", "task__values": [0, 19],
    "task__held_out": 100, "task__special": 0.0, "evaluation__digits": [2],
}  # fmt: skip
CASES = pytest.mark.parametrize(
    "changes", [{}, pytest.param(TABLE, marks=pytest.mark.slow)], ids=["window", "table"]
)


def begin(name: str = "run", **changes: Any) -> Run:
    return api.begin("addition", 2, name, tiny.overrides(**changes))


def lines(run: Run) -> list[tuple[Any, ...]]:
    rows = run.folder.read_metrics()
    return [(row.step, row.member, row.loss, row.exact_match, row.evaluated) for row in rows]


@CASES
def test_what_is_watched_is_in_the_lines_of_its_steps_and_changes_nothing(
    changes: dict[str, Any],
) -> None:
    """Also where the run was interrupted on the way."""
    changes |= BEST
    cut, blind = begin("cut", **WATCHED, **changes), begin("blind", **changes)
    blind.train()

    def stop(now: Progress) -> None:
        if now.step == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut.train(stop)
    assert max(line[0] for line in lines(cut)) == 15
    whole = curta.load("cut")
    whole.train()
    assert tiny.same(whole.load_models().stacked, blind.load_models().stacked)
    assert [line[:2] for line in lines(whole)] == list(product((5, 10, 15, 20), (0, 1)))
    losses = {line[:2]: line[2] for line in lines(whole)}  # each of the steps since the line before
    for step, member, loss, *_ in lines(blind):
        both = losses[step - 5, member] + losses[step, member]
        assert loss == pytest.approx(both / 2, abs=1e-5)
    watched = whole.folder.read_metrics()
    problems = evaluation_set.watched_problems(whole.recipe, whole.layout, whole.seeds)
    expected = scoring.watched_exact_match(whole.load_models(20), problems)
    for row in watched[-2:]:
        assert row.evaluated == {name: shares[row.member] for name, shares in expected.items()}


def test_an_earlier_checkpoint_is_evaluated_beside_the_newest_and_a_member_alone(
    shared_runs: Shared,
) -> None:
    run = shared_runs.trained()
    alone = run.evaluate(member=1, step=10)
    assert (run.folder.read_evaluation(), run.folder.evaluation_names()) == (None, [])
    newest, earlier = run.evaluate(report=False), run.evaluate(step=10, report=False)
    assert (newest.step, newest.changes) == (20, {})
    assert (earlier.step, earlier.changes) == (10, {"step": 10})
    assert run.folder.evaluation_names() == ["step-10"]
    assert run.folder.read_evaluation("step-10") == earlier
    assert run.folder.read_evaluation() == newest
    assert run.evaluate(step=20, report=False).changes == {}
    for single, both in zip(alone.lengths, earlier.lengths, strict=True):
        assert single.exact_match == both.exact_match[1:]
        assert single.perplexity == pytest.approx(both.perplexity[1:], rel=1e-5)


@pytest.mark.parametrize("spelled", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_vectors_of_all_characters_are_kept_at_their_steps_and_at_the_end(
    spelled: bool,
) -> None:
    run = begin(model__compositional_embeddings=spelled, training__history_every=8)
    run.train()
    folder = run.folder.history
    assert checkpoints.steps(folder, "safetensors") == [0, 8, 16, 20]
    composition = run.layout.composition() if spelled else np.eye(len(run.layout.characters))
    for step in (0, 20):
        expected = composition @ np.asarray(run.load_models(step).stacked.tokens)
        np.testing.assert_allclose(checkpoints.load_vectors(folder, step), expected, atol=1e-5)
    assert {8, 16} <= {row.step for row in run.folder.read_metrics()}
    path = folder / "00000020.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    for step in (20, 30):
        with pytest.raises(UserError, match=rf"000000{step}.*missing or damaged"):
            checkpoints.load_vectors(folder, step)
