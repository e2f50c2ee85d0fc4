"""Runs: what they record, and that a kill at any moment changes no bit of the outcome."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import curta
from curta.evaluation import scoring
from curta.evaluation.generation import completions
from curta.frontends import api
from curta.model.transformer import logits_of_windows
from curta.problems import tasks
from curta.problems.problem import parse
from curta.runs.info import Metric
from curta.runs.run import Run
from curta.training import trainer
from tests import tiny
from tests.made_once import Shared

pytestmark = pytest.mark.usefixtures("brief")


def trained(seeds: int = 2, **changes: Any) -> Run:
    run = api.begin("addition", seeds, "run", tiny.overrides(**changes))
    run.train()
    return run


def saved(run: Run) -> dict[str, bytes]:
    """The files of the checkpoints, by name."""
    return {path.name: path.read_bytes() for path in run.folder.checkpoints.iterdir()}


@pytest.mark.slow
def test_what_is_trained_in_bfloat16_is_kept_and_asked_in_float32() -> None:
    """Its checkpoint, and the margins of its certificate: those of a pass in single precision."""
    run = trained(training__precision="bfloat16")
    stored = safetensors.numpy.load(saved(run)["00000020.safetensors"])
    assert {array.dtype.name for array in stored.values()} == {"bool", "float32", "int32"}
    run.certify(report=False)
    listed = safetensors.numpy.load((run.folder.path / "windows.safetensors").read_bytes())
    exact = jax.vmap(lambda model: logits_of_windows(model, jnp.asarray(listed["rows"])))
    logits = np.array(exact(run.load_models().stacked))
    assert logits.dtype == np.float32
    right = np.take_along_axis(logits, listed["targets"][None, :, None], axis=2)[..., 0]
    np.put_along_axis(logits, listed["targets"][None, :, None], -np.inf, axis=2)
    np.testing.assert_allclose(listed["margin"], right - logits.max(axis=2), atol=1e-4)


def test_a_member_that_diverges_is_recorded_and_the_run_goes_on_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    init = trainer.init

    def hot(*arguments: Any) -> trainer.Member:
        members = init(*arguments)
        hyperparams = members.hyperparams._replace(learning_rate=jnp.array([0.01, 1e30]))
        return members._replace(hyperparams=hyperparams)

    monkeypatch.setattr(trainer, "init", hot)
    run = trained()
    info, last = run.folder.read_info(), run.folder.read_metrics()[-2:]
    assert (info.status, [*info.stopped]) == ("finished", [1])
    assert 0 <= info.stopped[1] < 10
    assert [(row.step, row.member, row.loss is None) for row in last] == [
        (20, 0, False), (20, 1, True)
    ]  # fmt: skip


def test_a_run_of_which_no_member_is_left_ends_stopped_at_once() -> None:
    run = trained(seeds=1, optimizer__learning_rate=1e20)
    for _ in range(2):
        info = run.folder.read_info()
        assert (info.status, [*info.stopped], info.checkpoint) == ("stopped", [0], 10)
        curta.load("run").train()


def test_a_process_that_ends_after_its_last_checkpoint_has_trained() -> None:
    """Whatever of it stands in run.json by then: steps, and who stopped."""
    run = trained()
    before = run.folder.read_info()
    run.folder.update(checkpoint=10, stopped={}, status="interrupted", done=(), training_seconds=0)
    curta.load("run").train()
    info = run.folder.read_info()
    assert (info.status, info.checkpoint, info.stopped) == ("finished", 20, {})
    assert info.training_seconds == pytest.approx(before.training_seconds, abs=0.01)


# Validation.


def validations(run: Run) -> list[Metric]:
    return [row for row in run.folder.read_metrics() if row.validation_loss is not None]


def table(**changes: Any) -> dict[str, Any]:
    """Sums up to 9 + 9, of which 40 are held out."""
    split = {"task__values": [0, 9], "task__held_out": 40, "task__special": 0.0}
    watched = {"training__validate_every": 10, "training__validation": 24}
    evaluated = {"evaluation__named": ["1+2", "9+9"], "evaluation__grid": 2}
    return split | watched | evaluated | {"evaluation__grid_count": 3} | changes


@pytest.mark.parametrize("fresh", [False, True])
def test_validation_is_recorded_at_its_steps_for_every_member(
    fresh: bool, shared_runs: Shared
) -> None:
    run = shared_runs.trained(**table(training__fresh_validation=fresh))
    rows, (task,) = validations(run), run.recipe.tasks
    assert [(row.step, row.member) for row in rows] == [(s, m) for s in (10, 20) for m in (0, 1)]
    problems = tasks.held_out_drawn(task, 24, 20) if fresh else tasks.validation(task, 24)
    scores = scoring.scores(run.load_models(), problems)
    for name, values, tolerance in (
        ("loss", scores.loss, 1e-4), ("exact_match", scores.exact_match.mean(axis=1), 1e-6),
        ("token_accuracy", scores.token_accuracy, 1e-6),
    ):  # fmt: skip
        recorded = [getattr(row, f"validation_{name}") for row in rows[-2:]]
        assert recorded == pytest.approx(values.tolist(), abs=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["best", "best-tokens"])
def test_the_best_models_are_kept_and_not_the_last(keep: str) -> None:
    run = trained(**table(training__steps=60, training__keep=keep, optimizer__learning_rate=0.05))
    scores = scoring.scores(run.load_models(), tasks.validation(run.recipe.tasks[0], 24))
    shares, name = scores.exact_match.mean(axis=1), "validation_exact_match"
    if keep == "best-tokens":
        shares, name = scores.token_accuracy, "validation_token_accuracy"
    for member in (0, 1):
        rows = [row for row in validations(run) if row.member == member]
        validated = [(getattr(row, name), -(row.validation_loss or 0)) for row in rows]
        assert len(validated) == 6
        best = shares[member], -scores.loss[member]
        assert best == pytest.approx(max(validated), abs=1e-4)


def test_training_ends_once_it_is_good_enough_but_not_before_it_may() -> None:
    plan = {"training__stop_at": 0.04, "training__steps": 400, "training__stop_after": 20}
    run = trained(**table(**plan, task__twins_together=False))
    shares: dict[int, list[float]] = {}
    for row in validations(run):
        shares.setdefault(row.step, []).append(row.validation_exact_match or 0)
    enough = [step for step, members in shares.items() if step >= 20 and min(members) >= 0.04]
    assert run.folder.read_info().ended == enough[0] == max(shares) < 400
    assert run.folder.read_info().status == "finished"
    before = saved(run)
    curta.load("run").train()
    assert saved(run) == before


def test_what_is_held_out_is_evaluated_and_the_split_is_counted(shared_runs: Shared) -> None:
    run = shared_runs.trained(**table())
    evaluation = run.evaluate(held_out=10, report=False)
    (row,) = [row for row in evaluation.lengths if row.slice_name == "held out"]
    assert (row.size, row.count, row.digits) == ("0..9", 10, 1)
    (split,) = evaluation.splits
    assert replace(split, answers=()) == tasks.Split("+", training=60, held_out=40, overlap=0)
    held_out = [p.truth for p in tasks.held_out(run.recipe.tasks[0], range(40))]
    by_part = {part.part: part for part in split.answers}
    assert list(by_part) == ["training", "validation", "held out"]
    assert by_part["training"].mean == pytest.approx((900 - sum(held_out)) / 60, abs=0.05)
    part = by_part["held out"]
    assert (part.problems, sum(part.counts)) == (row.count, row.count)
    assert {part.least, part.most} <= set(held_out)


@pytest.mark.slow
def test_a_looped_run_can_be_asked_and_evaluated_with_another_number_of_recurrences() -> None:
    with_recurrences = tiny.DENSE | {
        "model__num_recurrences": 2, "model__input_injection": "block", "positions__name": "rope",
        "model__num_layers": 2, "optimizer__learning_rate": 0.01,
    }  # fmt: skip
    # so little that it writes nonsense
    run = trained(seeds=1, training__steps=1, **with_recurrences)
    other, texts = curta.load("run", num_recurrences=3), ["1+2", "12+34", "999+1", "5+70", "0+0"]
    assert tiny.same(run.load_models().stacked, other.load_models().stacked)
    model = jax.device_put(run.load_models().member(0)).with_recurrences(3)
    layout = run.load_models().layout
    problems = [parse(text) for text in texts]
    assert other.write(texts) == completions(model, layout, problems, layout.bounds("+", (16, 16)))
    assert other.write(texts) != run.write(texts)
    assert other.evaluate(digits=(3,), count=2, report=False).num_recurrences == 3
    (name,) = other.folder.evaluation_names()
    assert name.endswith("num_recurrences-3")
    assert run.evaluate(report=False).num_recurrences is None
    assert curta.load("run").recipe.model.num_recurrences == 2
