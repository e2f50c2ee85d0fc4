"""A run's life: ended by anything it is resumed at its stage, and nothing is done twice."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import curta
from curta.config.errors import Notice, UserError
from curta.evaluation import suite
from curta.frontends.cli import main
from curta.runs import life
from curta.runs.folders import Folder
from curta.runs.info import RunInfo
from tests.made_once import Shared

pytestmark = pytest.mark.usefixtures("brief")

LIFE = ["created", "training", "evaluating", "certifying", "reporting", "finished"]

DIES = """
import os, sys
from curta.frontends import api
from curta.runs.folders import Folder
from tests import tiny

stage, update = sys.argv[1], Folder.update

def dying(folder, **fields):
    update(folder, **fields)
    if fields.get("status") == stage:
        os._exit(9)

Folder.update = dying
api.begin("addition", 1, "mine", tiny.overrides(), evaluate=True).complete()
"""

SIZES = {"evaluation__digits": [1, 2, 3], "evaluation__certificate": 0}
"""What is to follow the training that several tests begin with."""


def status() -> str:
    return curta.load("mine").folder.read_info().status


def missing() -> list[str]:
    run = curta.load("mine")
    return [*life.missing(run.folder, run.recipe)]


def interrupting(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, after: int
) -> Callable[[list[object]], None]:
    """The evaluation ends so after some sizes, until the returned function has a list for them."""
    lengths = suite.evaluate_size

    def patched(sizes: list[object], most: float) -> Any:
        def evaluate(*arguments: Any) -> Any:
            if len(sizes) == most:
                raise error
            sizes.append(arguments[2])
            return lengths(*arguments)

        monkeypatch.setattr(suite, "evaluate_size", evaluate)

    patched([], after)
    return lambda sizes: patched(sizes, float("inf"))


@pytest.mark.slow
@pytest.mark.parametrize("stage", LIFE[1:5])
def test_killed_in_any_stage_it_is_interrupted_and_resume_does_what_is_missing(
    stage: str, runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = subprocess.run([sys.executable, "-c", DIES, stage], capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    assert json.loads((runs_folder / "mine" / "run.json").read_text())["status"] == stage
    assert status() == "interrupted"
    statuses, save = dict[str, None](), Folder.save_info

    def note(folder: Folder, info: RunInfo) -> None:
        statuses.setdefault(info.status)
        save(folder, info)

    monkeypatch.setattr(Folder, "save_info", note)
    assert main(["train", "--resume", "mine"]) in (0, 1)
    assert [*statuses] == LIFE[LIFE.index(stage) :]
    assert list(curta.load("mine").folder.read_info().done) == LIFE[1:5]
    assert (runs_folder / "mine" / "report.html").exists()


def test_an_interrupted_evaluation_goes_on_size_by_size(
    monkeypatch: pytest.MonkeyPatch, shared_runs: Shared
) -> None:
    run, sizes = shared_runs.wanting("mine", 1, **SIZES), list[object]()
    resume = interrupting(monkeypatch, KeyboardInterrupt(), after=2)
    with pytest.raises(KeyboardInterrupt):
        run.complete()
    assert status() == "interrupted"
    resume(sizes)
    again = curta.load("mine")
    again.complete()
    assert sizes == [3]
    before = again.read_rows()
    again.evaluate(report=False)
    assert sizes == [3, 1, 2, 3]
    assert again.read_rows() == before
    assert not (again.folder.path / "evaluating.jsonl").exists()


def test_a_stage_that_fails_says_why_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, shared_runs: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shared_runs.wanting("mine", 1, **SIZES)
    mend = interrupting(monkeypatch, RuntimeError("no way\nat all"), after=0)
    with pytest.raises(RuntimeError):
        run.complete()
    info = run.folder.read_info()
    assert (info.status, info.failure) == ("failed", "RuntimeError: no way")
    mend([])
    run.complete()
    assert (status(), run.folder.read_info().failure) == ("finished", "")
    assert main(["train", "--resume", "mine"]) == 0
    assert capsys.readouterr().out == "mine is finished: 20 steps\n"
    run.folder.report.unlink()
    assert missing() == ["reporting"]


def test_a_finished_run_whose_weights_are_damaged_is_trained_again(shared_runs: Shared) -> None:
    run = shared_runs.finished("mine", 1, **SIZES)
    last = run.folder.checkpoints / "00000020.safetensors"
    whole = last.read_bytes()
    last.write_bytes(whole[:-1])
    with pytest.warns(Notice, match="the one of step 10 is taken"):
        assert missing() == ["training", "evaluating", "reporting"]
    with pytest.warns(Notice):
        curta.load("mine").complete()
    assert last.read_bytes() == whole
    assert missing() == []
    for path in run.folder.checkpoints.iterdir():
        path.unlink()
    before = run.folder.metrics.read_bytes()
    with pytest.raises(UserError, match="was trained to step 20, but its checkpoints are gone"):
        curta.load("mine").complete()
    assert run.folder.metrics.read_bytes() == before
