"""Extension: a finished run goes on as if it had been meant to, and nothing of it is lost."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import safetensors.numpy

import curta
from curta.config import files
from curta.config.errors import UserError
from curta.config.recipe import dump
from curta.frontends import api
from curta.runs import checkpoints, life
from curta.runs.info import Origin
from curta.runs.run import Run
from tests import tiny
from tests.made_once import Shared
from tests.report.parsed import Page

SIZES: dict[str, Any] = {"evaluation__digits": [1], "evaluation__certificate": 0}


def assert_trained_alike(one: Run, other: Run) -> None:
    """Require the same weights, states of the optimiser and curves, up to rounding.

    The ends of a training stand in its program, so the two were trained by different ones.
    """
    kept = [
        safetensors.numpy.load(checkpoints.read(run.folder.checkpoints, run.step))
        for run in (one, other)
    ]
    tiny.assert_close(*kept, 1e-3)
    curves = [
        [(row.step, row.member, row.loss) for row in run.folder.read_metrics()]
        for run in (one, other)
    ]
    np.testing.assert_allclose(*curves, rtol=1e-4)


def test_it_is_trained_as_by_a_recipe_that_says_so() -> None:
    """An end of 17 steps is no end of a chunk or a checkpoint."""
    cosine = {"optimizer__schedule": "cosine"}
    api.begin("addition", 2, "grown", tiny.overrides(training__steps=17, **cosine)).train()
    curta.extend("grown", 30).train()
    whole = tiny.overrides(training__steps=30, training__extended_at=[17], **cosine)
    api.begin("addition", 2, "whole", whole).train()
    grown, other = curta.load("grown"), curta.load("whole")
    assert grown.recipe.training == other.recipe.training
    assert_trained_alike(grown, other)


def test_what_followed_follows_again_and_the_former_evaluation_is_kept(
    shared_runs: Shared,
) -> None:
    run = shared_runs.finished("mine", 1, **SIZES)
    run.evaluate(count=4)
    before = run.folder.read_evaluation()
    assert before is not None
    assert before.step == 20
    longer = curta.extend("mine", 30)
    assert longer.missing() == ["training", "evaluating", "reporting"]
    longer.complete()
    found, info = longer.folder.read_evaluation(), longer.folder.read_info()
    assert found is not None
    assert found.step == 30
    assert (info.status, info.steps, info.checkpoint) == ("finished", 30, 30)
    assert longer.folder.evaluation_names() == ["count-4.step-20", "step-20"]
    kept = longer.folder.read_evaluation("step-20")
    assert kept == replace(before, changes={"step": 20})
    assert {part.state for part in curta.verify("mine")} == {"whole"}
    text = " ".join(" ".join(Page(longer.folder.report.read_text("utf-8")).text).split())
    assert "Extended at step 20" in text


@pytest.mark.parametrize("writes", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_broken_off_after_any_write_the_run_is_whole_and_is_resumed(
    writes: int, shared_runs: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evaluation's copy, run.json, recipe.toml, and run.json again are written."""
    run = shared_runs.finished("mine", 1, **SIZES)
    with monkeypatch.context() as patch:
        patch.setattr(files, "write", full_after(writes))
        with pytest.raises(OSError, match="full"):
            life.extend(run.folder, 30)
    assert {part.state for part in curta.verify("mine")} == {"whole"}
    again = curta.load("mine")
    assert again.recipe.training.steps == (30 if writes == 3 else 20)
    again.complete()
    assert again.step == again.folder.read_info().steps == again.recipe.training.steps
    assert again.read_rows()


def full_after(writes: int) -> Callable[[Path, bytes | str], None]:
    """The disk is full after so many files."""
    left, write = iter(range(writes)), files.write

    def limited(path: Path, content: bytes | str) -> None:
        if next(left, None) is None:
            raise OSError("full")
        write(path, content)

    return limited


def test_the_checkpoint_of_the_former_end_stays(shared_runs: Shared) -> None:
    run = shared_runs.trained("mine", 1)
    before = run.load_models()
    longer = curta.extend("mine", 60)
    longer.train()
    assert checkpoints.steps(longer.folder.checkpoints) == [20, 50, 60]
    after = longer.at(20)
    jax.tree.map(np.testing.assert_array_equal, *map(weights, (before, after)))


def weights(models: Any) -> list[Any]:
    return jax.tree.leaves(models.stacked)


def test_a_run_that_was_loaded_before_is_of_its_old_weights_and_writes_nothing(
    shared_runs: Shared,
) -> None:
    run = shared_runs.finished("mine", 1, **SIZES)
    run.load_models()
    curta.extend("mine", 30).complete()
    before = run.folder.read_info()
    for stage in (run.train, run.evaluate, run.certify, run.write_report):
        with pytest.raises(UserError, match="was extended since it was loaded"):
            stage()
    assert run.folder.read_info() == before
    assert curta.load("mine").missing() == []


def ended(run: Run) -> None:
    run.folder.update(ended=20)
    stop = replace(run.recipe.training, stop_at=0.5, validate_every=10)
    run.folder.recipe.write_text(dump(replace(run.recipe, training=stop)))


def lost(run: Run) -> None:
    for path in run.folder.checkpoints.glob("00000020.*"):
        path.unlink()


def compared(run: Run) -> None:
    (run.folder.path.parent / "comparison.json").write_text("{}")


@pytest.mark.filterwarnings("ignore:run 'mine' was trained to step 20, but:UserWarning")
@pytest.mark.parametrize(
    ("change", "steps", "says"),
    [
        ({}, 20, "has 20 steps: give it more"),
        ({}, 1, "has 20 steps: give it more"),
        ({"status": "interrupted", "done": ()}, 30, "is not finished: `curta train --resume mine`"),
        ({"status": "stopped", "done": ()}, 30, "has stopped: the loss of every member was no"),
        ({"imported": Origin("huggingface", "there", "mine")}, 30, "was imported, without"),
        (ended, 30, "ended at step 20, as it was right on training.stop_at 0.5"),
        (lost, 30, "has lost its last checkpoint: `curta runs mine` says more"),
        (compared, 30, "is one of a comparison, which says how many steps it has"),
    ],
)
def test_what_cannot_be_trained_on_stays_as_it_is(
    change: dict[str, Any] | Callable[[Run], None], steps: int, says: str, shared_runs: Shared
) -> None:
    run = shared_runs.finished("mine", 1, **SIZES)
    if isinstance(change, dict):
        run.folder.update(**change)
    else:
        change(run)
    before = contents(run.folder.path)
    with pytest.raises(UserError, match=says):
        curta.extend("mine", steps)
    assert contents(run.folder.path) == before


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.iterdir() if path.is_file() and path.name != ".lock")
    return {path.name: path.read_bytes() for path in files}
