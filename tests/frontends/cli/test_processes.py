"""One run on two processes, as srun begins them: the weights of one process with two devices."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import curta
from curta.runs import checkpoints
from tests import tiny

pytestmark = pytest.mark.usefixtures("brief")

LONG = {"training__steps": 4_000, "training__checkpoint_every": 200}
"""Long enough to be broken off."""

SIZES = {
    "evaluation__digits": [2, 3, 5, 7], "evaluation__grid": 3, "evaluation__grid_count": 2,
    "training__validate_every": 10, "training__validation": 16, "training__keep": "best",
}  # fmt: skip

PATIENCE = 300

TRAINED = 1e-3
"""Tolerance for weights after twenty steps by other programs: Adam enlarges rounding."""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "curta", *words]


def slurm(index: int) -> dict[str, str]:
    """What srun says to one of two tasks on this machine, which has one device."""
    return {
        "SLURM_JOB_ID": str(os.getpid()), "SLURM_PROCID": str(index), "SLURM_LOCALID": str(index),
        "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2",
        "SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_STEP_NUM_NODES": "1", "CURTA_CORES": "1",
    }  # fmt: skip


def ended(*words: str, cores: str = "1") -> subprocess.CompletedProcess[str]:
    """A command of one process that has ended, with so many devices on any machine."""
    return subprocess.run(
        command(*words), env=os.environ | {"CURTA_CORES": cores}, capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip


def begin_two(*words: str) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            command(*words), env=os.environ | slurm(index), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for index in (0, 1)
    ]  # fmt: skip


def of_two(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on two processes to its end; return what process 0 printed.

    The other prints nothing, unless the command fails.
    """
    tasks = begin_two(*words)
    printed = [task.communicate(timeout=PATIENCE) for task in tasks]
    assert tasks[0].returncode or (tasks[1].returncode, *printed[1]) == (0, "", "")
    return subprocess.CompletedProcess(words, tasks[0].returncode, *printed[0])


TWO = ("--seeds=2", "--no-evaluation")


def words(changes: dict[str, Any]) -> list[str]:
    """The tiny recipe with these changes, as words of a command."""
    return ["addition", *(f"{k}={json.dumps(v)}" for k, v in tiny.overrides(**changes).items())]


def weights(runs: Path, name: str) -> dict[str, np.ndarray]:
    """The newest checkpoint, optimiser and all."""
    folder = runs / name / "checkpoints"
    step = checkpoints.newest_whole(folder)
    assert step is not None
    return safetensors.numpy.load(checkpoints.read(folder, step))


def status(runs: Path, name: str) -> str:
    return curta.load(str(runs / name)).folder.read_info().status


@pytest.mark.slow
def test_two_processes_have_the_weights_of_two_devices(runs_folder: Path) -> None:
    """They share each batch: every step sums what both have found."""
    changes = tiny.DENSE | {"positions__name": "rope"}
    done = of_two("train", *words(changes), "--run=two", "--no-evaluation")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("two: ")
    assert sum(line.startswith("step ") for line in done.stdout.splitlines()) == 2
    curta.train("addition", run="one", **tiny.overrides(**changes), evaluate=False)
    tiny.assert_close(weights(runs_folder, "two"), weights(runs_folder, "one"), TRAINED)


@pytest.mark.slow
def test_more_processes_than_there_is_work_for_are_refused() -> None:
    refused = of_two("train", "addition")
    assert refused.returncode == 2
    assert (
        "curta: 1 member cannot be shared by 2 processes: train --seeds 2, or a multiple of it,"
        " or take fewer processes\n"
    ) in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["window", "dense"])
def test_a_training_with_its_evaluation_finds_the_same(runs_folder: Path, kind: str) -> None:
    """Two members, validation included; and again by `evaluate`, with other sizes.

    The dense ones are wrong on all of a size, so that longer ones are left out.
    """
    dense = tiny.DENSE | {"positions__name": "rope"}
    settings = words(SIZES | (dense if kind == "dense" else {}))
    for name, call in (("one", partial(ended, cores="2")), ("two", of_two)):
        done = call("train", *settings, "--seeds=2", "--run", name)
        assert "Report: " in done.stdout, done.stderr
        assert done.returncode == (kind == "window")  # so short a training ends with wrong windows
        done = call("evaluate", name, "digits=2,4", "--json")
        assert done.returncode == 0, done.stderr
    tiny.assert_close(weights(runs_folder, "two"), weights(runs_folder, "one"), TRAINED)
    for file in ("evaluation.json", "evaluations/digits-2_4.json"):
        one, two = (json.loads((runs_folder / name / file).read_text()) for name in ("one", "two"))
        assert plain(two) == plain(one)
        assert kind == "window" or "unevaluated" in one or "_" in file
        for row, other in zip(two["lengths"], one["lengths"], strict=True):
            assert row["perplexity"] == pytest.approx(other["perplexity"], rel=1e-5)


def plain(content: Any) -> Any:
    """An evaluation without its speeds, and without what rounding may change."""
    if isinstance(content, dict):
        without = ("tokens_per_second", "perplexity")
        return {name: plain(item) for name, item in content.items() if name not in without}
    return [plain(item) for item in content] if isinstance(content, list) else content


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """What two processes make of a longer training that nothing breaks off."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        done = of_two("train", *words(LONG), *TWO, "--run=whole")
    assert done.returncode == 0, done.stderr
    return weights(folder, "whole")


def begun(runs: Path) -> list[subprocess.Popen[str]]:
    """A training by two processes that has made two checkpoints."""
    tasks = begin_two("train", *words(LONG), *TWO, "--run=two")
    end = time.monotonic() + PATIENCE
    while len(list((runs / "two" / "checkpoints").glob("*.json"))) < 2:
        assert [task.poll() for task in tasks] == [None, None]
        assert time.monotonic() < end
        time.sleep(0.01)
    return tasks


@pytest.mark.slow
@pytest.mark.parametrize("dies", [0, 1])
def test_a_process_that_dies_ends_the_other_and_any_division_goes_on(
    whole: dict[str, np.ndarray], runs_folder: Path, dies: int
) -> None:
    tasks = begun(runs_folder)
    tasks[dies].kill()
    said = [task.communicate(timeout=PATIENCE)[1] for task in tasks]
    assert tasks[1 - dies].returncode not in (0, None)
    if dies:
        line = "another process has ended: `curta train --resume` goes on from the last checkpoint"
        assert f"curta: {line}\n" in said[0]
    assert status(runs_folder, "two") == "interrupted"
    done = (of_two if dies else ended)("train", "--resume", "two")
    assert done.returncode == 0, done.stderr
    if dies:
        assert tiny.same(weights(runs_folder, "two"), whole)
    step = checkpoints.newest_whole(runs_folder / "two" / "checkpoints")
    assert step == LONG["training__steps"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to", "number"), [(0, signal.SIGINT), (0, signal.SIGTERM), (1, signal.SIGTERM)]
)
def test_a_signal_to_any_ends_all_with_a_checkpoint(
    whole: dict[str, np.ndarray], runs_folder: Path, to: int, number: int
) -> None:
    tasks = begun(runs_folder)
    tasks[to].send_signal(number)
    out, err = tasks[0].communicate(timeout=PATIENCE)
    tasks[1].communicate(timeout=PATIENCE)
    assert (tasks[0].returncode, err) == (128 + number, "")
    assert out.endswith("Interrupted; saved. Go on with: curta train --resume two\n")
    assert status(runs_folder, "two") == "interrupted"
    assert of_two("train", "--resume", "two").returncode == 0
    assert tiny.same(weights(runs_folder, "two"), whole)
