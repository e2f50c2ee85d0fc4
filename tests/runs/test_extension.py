"""Extension: a finished run goes on as if it had been meant to, and nothing of it is lost."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

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


@pytest.fixture
def run(shared_runs: Shared) -> Run:
    return shared_runs.finished("mine", 1, **SIZES)


def test_it_is_trained_as_by_a_recipe_that_says_so() -> None:
    """An end of 17 steps is no end of a chunk or a checkpoint; the programs differ in rounding."""
    cosine = {"optimizer__schedule": "cosine"}
    api.begin("addition", 2, "grown", tiny.overrides(training__steps=17, **cosine)).train()
    curta.extend("grown", 30).train()
    whole = tiny.overrides(training__steps=30, training__extended_at=[17], **cosine)
    api.begin("addition", 2, "whole", whole).train()
    runs = curta.load("grown"), curta.load("whole")
    assert runs[0].recipe.training == runs[1].recipe.training
    weights = [checkpoints.read(run.folder.checkpoints, run.step) for run in runs]
    tiny.assert_close(*map(safetensors.numpy.load, weights), 1e-3)
    curves = [[(row.step, row.member, row.loss) for row in r.folder.read_metrics()] for r in runs]
    np.testing.assert_allclose(*curves, rtol=1e-4)


def test_what_followed_follows_again_and_what_was_there_is_kept(run: Run) -> None:
    run.evaluate(count=4)
    before, weights = run.folder.read_evaluation(), run.load_models().stacked
    assert before is not None
    longer = curta.extend("mine", 60)
    assert life.missing(longer.folder, longer.recipe) == ["training", "evaluating", "reporting"]
    longer.complete()
    evaluation, info = longer.folder.read_evaluation(), longer.folder.read_info()
    assert evaluation is not None
    assert (before.step, evaluation.step) == (20, 60)
    assert (info.status, info.steps, info.checkpoint) == ("finished", 60, 60)
    assert longer.folder.evaluation_names() == ["count-4.step-20", "step-20"]
    assert longer.folder.read_evaluation("step-20") == replace(before, changes={"step": 20})
    assert checkpoints.steps(longer.folder.checkpoints) == [20, 50, 60]
    assert tiny.same(longer.load_models(20).stacked, weights)
    assert {part.state for part in curta.verify("mine")} == {"whole"}
    text = " ".join(" ".join(Page(longer.folder.report.read_text("utf-8")).text).split())
    assert "Extended at step 20" in text
    # The run as it was loaded before is of its old weights, and writes nothing.
    for stage in (run.train, run.evaluate, run.certify, run.write_report):
        with pytest.raises(UserError, match="was extended since it was loaded"):
            stage()
    assert run.folder.read_info() == info
    again = curta.load("mine")
    assert life.missing(again.folder, again.recipe) == []


@pytest.mark.parametrize("writes", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_broken_off_after_any_write_the_run_is_whole_and_is_resumed(
    writes: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evaluation's copy, run.json, recipe.toml, and run.json again are written."""
    left, write = iter(range(writes)), files.write

    def limited(path: Path, content: bytes | str) -> None:
        if next(left, None) is None:
            raise OSError("full")
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", limited)
        with pytest.raises(OSError, match="full"):
            life.extend(run.folder, 30)
    assert {part.state for part in curta.verify("mine")} == {"whole"}
    again = curta.load("mine")
    assert again.recipe.training.steps == (30 if writes == 3 else 20)
    again.complete()
    assert again.step == again.folder.read_info().steps == again.recipe.training.steps
    assert again.read_rows()


def end_early(run: Run) -> None:
    run.folder.update(ended=20)
    stop = replace(run.recipe.training, stop_at=0.5, validate_every=10)
    run.folder.recipe.write_text(dump(replace(run.recipe, training=stop)))


def lose(run: Run) -> None:
    for path in run.folder.checkpoints.glob("00000020.*"):
        path.unlink()


def compare(run: Run) -> None:
    (run.folder.path.parent / "comparison.json").write_text("{}")


def changed(**fields: Any) -> Callable[[Run], None]:
    return lambda run: run.folder.update(**fields)


@pytest.mark.filterwarnings("ignore:run 'mine' was trained to step 20, but:UserWarning")
@pytest.mark.parametrize(
    ("change", "steps", "line"),
    [
        (changed(), 20, "has 20 steps: give it more"),
        (changed(status="interrupted", done=()), 30, "is not finished: `curta train --resume mine"),
        (changed(status="stopped", done=()), 30, "has stopped: the loss of every member was no"),
        (changed(imported=Origin("huggingface", "there", "mine")), 30, "was imported, without"),
        (end_early, 30, "ended at step 20, as it was right on training.stop_at 0.5"),
        (lose, 30, "has lost its last checkpoint: `curta runs mine` says more"),
        (compare, 30, "is one of a comparison, which says how many steps it has"),
    ],
)
def test_what_cannot_be_trained_on_stays_as_it_is(
    change: Callable[[Run], None], steps: int, line: str, run: Run
) -> None:
    change(run)
    paths = [path for path in run.folder.path.iterdir() if path.is_file() and path.name != ".lock"]
    before = [path.read_bytes() for path in paths]
    with pytest.raises(UserError, match=line):
        curta.extend("mine", steps)
    assert [path.read_bytes() for path in paths] == before
