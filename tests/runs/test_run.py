"""Runs: what they record, and that a kill at any moment changes no bit of the outcome."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import curta
from curta.config.errors import UserError
from curta.evaluation import scoring
from curta.evaluation.generation import completions
from curta.frontends import api
from curta.model.decoding import logits_of_windows
from curta.problems import tasks
from curta.problems.problem import parse
from curta.runs import checkpoints, life
from curta.runs.run import Run
from curta.training import trainer
from tests import tiny
from tests.made_once import Shared

pytestmark = pytest.mark.usefixtures("brief")

ROWS = ("step", "member", "loss", "exact_match")


def begin(name: str = "run", seeds: int = 2, **changes: Any) -> Run:
    return api.begin("addition", seeds, name, tiny.overrides(**changes))


def trained(name: str = "run", seeds: int = 2, **changes: Any) -> Run:
    run = begin(name, seeds, **changes)
    run.train()
    return run


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """The columns of metrics.jsonl that do not depend on the clock."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [tuple(json.loads(line)[column] for column in ROWS) for line in lines]


def newest(folder: Path) -> dict[str, bytes]:
    """Files of the checkpoints that count, by name."""
    records = sorted((folder / "checkpoints").glob("*.json"))
    paths = [path for record in records for path in (record, record.with_suffix(".safetensors"))]
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.slow
def test_what_is_trained_in_bfloat16_is_kept_and_asked_in_float32() -> None:
    """Its checkpoint, and the margins of its certificate: those of a pass in single precision."""
    run = trained(training__precision="bfloat16")
    stored = safetensors.numpy.load(newest(run.folder.path)["00000020.safetensors"])
    assert {array.dtype.name for array in stored.values()} == {"bool", "float32", "int32"}
    run.certify(report=False)
    found = safetensors.numpy.load((run.folder.path / "windows.safetensors").read_bytes())
    exact = jax.vmap(lambda model: logits_of_windows(model, jnp.asarray(found["rows"])))
    logits = np.array(exact(run.load_models().stacked))
    assert logits.dtype == np.float32
    right = np.take_along_axis(logits, found["targets"][None, :, None], axis=2)[..., 0]
    np.put_along_axis(logits, found["targets"][None, :, None], -np.inf, axis=2)
    np.testing.assert_allclose(found["margin"], right - logits.max(axis=2), atol=1e-4)


def test_a_finished_run_has_a_row_per_ten_steps_and_member_and_its_checkpoints() -> None:
    run = trained(training__steps=25, training__checkpoint_every=15)
    steps = (10, 15, 25)  # a chunk ends at 15, and with it an average
    assert [row[:2] for row in rows(run.folder.path)] == [(s, m) for s in steps for m in (0, 1)]
    assert all(0 < row[2] < 5 and 0 <= row[3] <= 1 for row in rows(run.folder.path))
    assert sorted(newest(run.folder.path)) == [
        f"000000{step}.{kind}" for step in (15, 25) for kind in ("json", "safetensors")
    ]
    info = run.folder.read_info()
    assert info.status == "finished"
    assert info.stopped == {}
    assert info.training_seconds > 0
    assert info.parameters == sum(
        leaf[0].size for leaf in jax.tree.leaves(run.load_models().stacked)
    )


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
    assert run.folder.read_info().status == "finished"
    assert list(run.folder.read_info().stopped) == [1]
    assert 0 <= run.folder.read_info().stopped[1] < 10
    values = {(step, member): loss for step, member, loss, _ in rows(run.folder.path)}
    assert values[20, 1] is None
    assert values[20, 0] is not None
    json.loads((run.folder.path / "metrics.jsonl").read_text().splitlines()[-1])


def test_a_run_of_which_no_member_is_left_ends_stopped_at_once() -> None:
    run = trained(seeds=1, optimizer__learning_rate=1e20)
    assert run.folder.read_info().status == "stopped"
    assert list(run.folder.read_info().stopped) == [0]
    assert checkpoints.steps(run.folder.checkpoints)[-1] == 10
    curta.load("run").train()
    assert run.folder.read_info().status == "stopped"


def test_a_process_that_ends_after_its_last_checkpoint_has_trained() -> None:
    """Whatever of it stands in run.json by then: steps, and who stopped."""
    run = trained()
    told = run.folder.read_info()
    run.folder.update(checkpoint=10, stopped={}, status="interrupted", done=(), training_seconds=0)
    curta.load("run").train()
    info = run.folder.read_info()
    assert (info.status, info.checkpoint, info.stopped) == (told.status, 20, {})
    assert info.training_seconds == pytest.approx(told.training_seconds, abs=0.01)
    assert "training" not in life.missing(run.folder, run.recipe)


# Validation.


def validations(run: Run) -> list[tuple[int, int, float, float]]:
    found = [row for row in run.folder.read_metrics() if row.validation_loss is not None]
    return [
        (row.step, row.member, row.validation_loss, row.validation_exact_match) for row in found
    ]


def table(**changes: Any) -> dict[str, Any]:
    """Sums up to 9 + 9, of which 40 are held out."""
    split = {"task__values": [0, 9], "task__held_out": 40, "task__special": 0.0}
    watched = {"training__validate_every": 10, "training__validation": 24}
    asked = {"evaluation__named": ["1+2", "9+9"], "evaluation__grid": 2}
    return split | watched | asked | {"evaluation__grid_count": 3} | changes


def test_validation_is_recorded_at_its_steps_for_every_member(shared_runs: Shared) -> None:
    run = shared_runs.trained(**table())
    assert [row[:2] for row in validations(run)] == [(s, m) for s in (10, 20) for m in (0, 1)]
    scores = scoring.scores(run.load_models(), tasks.validation(run.recipe.tasks[0], 24))
    last = validations(run)[-2:]
    assert [row[2] for row in last] == pytest.approx(scores.loss.tolist(), abs=1e-4)
    assert [row[3] for row in last] == pytest.approx(
        scores.exact_match.mean(axis=1).tolist(), abs=1e-6
    )
    tokens = [row.validation_token_accuracy for row in run.folder.read_metrics() if row.step == 20]
    assert tokens == pytest.approx(scores.token_accuracy.tolist(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["best", "best-tokens"])
def test_the_best_models_are_kept_and_not_the_last(keep: str) -> None:
    run = trained(**table(training__steps=60, training__keep=keep, optimizer__learning_rate=0.05))
    scores = scoring.scores(run.load_models(), tasks.validation(run.recipe.tasks[0], 24))
    shares, name = scores.exact_match.mean(axis=1), "validation_exact_match"
    if keep == "best-tokens":
        shares, name = scores.token_accuracy, "validation_token_accuracy"
    for member in (0, 1):
        validated = [
            (getattr(row, name), -row.validation_loss)
            for row in run.folder.read_metrics()
            if row.member == member and row.validation_loss is not None
        ]
        assert len(validated) == 6
        best = shares[member], -scores.loss[member]
        assert best == pytest.approx(max(validated), abs=1e-4)


def test_training_ends_once_it_is_good_enough_but_not_before_it_may() -> None:
    plan = {"training__stop_at": 0.04, "training__steps": 400, "training__stop_after": 20}
    run = trained(**table(**plan, task__twins_together=False))
    found, last = validations(run), run.folder.read_info().ended
    enough = [
        s for s in range(20, 401, 10) if all(e >= 0.04 for step, _, _, e in found if step == s)
    ]
    assert last == enough[0] == found[-1][0] < 400
    assert run.folder.read_info().status == "finished"
    before = newest(run.folder.path)
    curta.load("run").train()
    assert newest(run.folder.path) == before


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


def test_one_member_is_evaluated_alone_and_nothing_is_saved(shared_runs: Shared) -> None:
    run = shared_runs.trained()
    alone = run.evaluate(member=1)
    assert run.folder.read_evaluation() is None
    every = run.evaluate(report=False)
    for one, both in zip(alone.lengths, every.lengths, strict=True):
        assert one.exact_match == both.exact_match[1:]
        assert one.perplexity == pytest.approx(both.perplexity[1:], rel=1e-5)
    with pytest.raises(UserError, match="no member 2"):
        run.evaluate(member=2)


@pytest.mark.slow
def test_a_looped_run_can_be_asked_and_evaluated_with_another_number_of_recurrences() -> None:
    with_recurrences = tiny.DENSE | {
        "model__num_recurrences": 2, "model__input_injection": "block", "positions__name": "rope",
        "model__num_layers": 2, "optimizer__learning_rate": 0.01,
    }  # fmt: skip
    run = trained(
        seeds=1, training__steps=1, **with_recurrences
    )  # so little that it writes nonsense
    other, asked = curta.load("run", num_recurrences=3), ["1+2", "12+34", "999+1", "5+70", "0+0"]
    assert tiny.same(run.load_models().stacked, other.load_models().stacked)
    model = jax.device_put(run.load_models().member(0)).with_recurrences(3)
    layout = run.load_models().layout
    problems = [parse(text) for text in asked]
    assert other.write(asked) == completions(model, layout, problems, layout.bounds("+", (16, 16)))
    assert other.write(asked) != run.write(asked)
    assert other.evaluate(digits=(3,), count=2, report=False).num_recurrences == 3
    (name,) = other.folder.evaluation_names()
    assert name.endswith("num_recurrences-3")
    assert run.evaluate(report=False).num_recurrences is None
    assert curta.load("run").recipe.model.num_recurrences == 2
