"""One run on two real processes of this machine: the weights of one process with two devices."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import curta
from curta.frontends.cli import main
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


def ended(*words: str, cores: str = "1") -> subprocess.CompletedProcess[str]:
    """A command that has ended. Each of its processes has so many devices, on any machine."""
    return subprocess.run(
        command(*words), env=os.environ | {"CURTA_CORES": cores}, capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip


TWO = ("--seeds=2", "--processes=2", "--no-evaluation")


def words(changes: dict[str, Any]) -> list[str]:
    """The tiny recipe with these changes, as words of a command."""
    return ["addition", *(f"--{k}={json.dumps(v)}" for k, v in tiny.overrides(**changes).items())]


def weights(runs: Path, name: str) -> dict[str, np.ndarray]:
    """The newest checkpoint, optimiser and all."""
    folder = runs / name / "checkpoints"
    step = checkpoints.newest_whole(folder)
    assert step is not None
    return safetensors.numpy.load(checkpoints.read(folder, step))


def status(runs: Path, name: str) -> str:
    return curta.load(str(runs / name)).folder.read_info().status


def test_two_processes_have_the_weights_of_two_devices(runs_folder: Path) -> None:
    """They share each batch: every step sums what both have found."""
    changes = tiny.DENSE | {"positions__name": "rope"}
    found = ended("train", *words(changes), "--run=two", "--processes=2", "--no-evaluation")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("two: ")
    assert (
        len(found.stdout.splitlines()) == 5
    )  # two lines of what it is, one of compiling, two of progress
    curta.train("addition", run="one", **tiny.overrides(**changes), evaluate=False)
    tiny.assert_close(weights(runs_folder, "two"), weights(runs_folder, "one"), TRAINED)


@pytest.mark.slow
def test_more_processes_than_there_is_work_for_are_refused() -> None:
    assert ended("train", "addition", "--processes", "2").stderr == (
        "curta: 1 member cannot be shared by 2 processes: train --seeds 2, or a multiple of it,"
        " or take fewer processes\n"
    )


def test_those_that_were_begun_by_a_launcher_are_as_many_as_it_began(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in slurm(0).items():
        monkeypatch.setenv(name, value)
    assert main(["train", "--processes", "3"]) == 2
    assert "--processes 3: 2 were begun already" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["window", "dense"])
def test_a_shared_evaluation_finds_the_same(runs_folder: Path, kind: str) -> None:
    """Two members, validation included; and again by `evaluate`, with other sizes.

    The dense ones are wrong on all of a size, so that longer ones are left out.
    """
    dense = tiny.DENSE | {"positions__name": "rope"}
    asked = words(SIZES | (dense if kind == "dense" else {}))
    for name, processes, cores in (("one", "--processes=1", "2"), ("two", "--processes=2", "1")):
        told = ended("train", *asked, "--seeds=2", "--run", name, processes, cores=cores)
        assert (told.returncode, "Report: " in told.stdout) == (0, True), told.stderr
        told = ended("evaluate", name, "--digits", "2,4", processes, "--json", cores=cores)
        assert told.returncode == 0, told.stderr
    tiny.assert_close(weights(runs_folder, "two"), weights(runs_folder, "one"), TRAINED)
    for file in ("evaluation.json", "evaluations/digits-2_4.json"):
        one, two = (json.loads((runs_folder / name / file).read_text()) for name in ("one", "two"))
        assert plain(two) == plain(one)
        assert kind == "window" or "unevaluated" in one or "_" in file
        for row, other in zip(two["lengths"], one["lengths"], strict=True):
            assert row["perplexity"] == pytest.approx(other["perplexity"], rel=1e-5)


def plain(found: Any) -> Any:
    """An evaluation without its speeds, and without what rounding may change."""
    if isinstance(found, dict):
        without = ("tokens_per_second", "perplexity")
        return {name: plain(item) for name, item in found.items() if name not in without}
    return [plain(item) for item in found] if isinstance(found, list) else found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """What two processes make of a longer training that nothing breaks off."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        told = ended("train", *words(LONG), *TWO, "--run=whole")
    assert told.returncode == 0, told.stderr
    return weights(folder, "whole")


def begun(runs: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A training by two processes that has made two checkpoints, and their ids."""
    launcher = subprocess.Popen(
        command("train", *words(LONG), *TWO, "--run=two"),
        env=os.environ | {"CURTA_CORES": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    end = time.monotonic() + PATIENCE
    while len(list((runs / "two" / "checkpoints").glob("*.json"))) < 2:
        assert launcher.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    listed = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text()
    return launcher, [int(word) for word in listed.split()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
@pytest.mark.parametrize("dies", [0, 1, "launcher"])
def test_a_process_that_dies_ends_all_and_any_division_goes_on(
    whole: dict[str, np.ndarray], runs_folder: Path, dies: int | str
) -> None:
    launcher, ids = begun(runs_folder)
    os.kill(launcher.pid if isinstance(dies, str) else ids[dies], signal.SIGKILL)
    begin = time.monotonic()
    _, err = launcher.communicate(timeout=PATIENCE)
    if dies == "launcher":
        assert err == ""
    else:
        assert launcher.returncode == 1
        (line,) = err.split("\n")[-2:-1]
        assert line.startswith(f"curta: process {dies} of 2 has ended")
        assert line.endswith("`curta resume` goes on from the last checkpoint")
        assert len(err.split()) == len(line.split())
    while any(alive(one) for one in ids):
        assert time.monotonic() < begin + PATIENCE
        time.sleep(0.01)
    assert status(runs_folder, "two") == "interrupted"
    count = "1" if dies == "launcher" else "2"
    told = ended("resume", "two", "--processes", count)
    assert told.returncode == 0, told.stderr
    if count == "2":
        assert tiny.same(weights(runs_folder, "two"), whole)
    step = checkpoints.newest_whole(runs_folder / "two" / "checkpoints")
    assert step == LONG["training__steps"]


def alive(process: int) -> bool:
    """Whether it is there, and not only waiting for somebody to ask how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
@pytest.mark.parametrize(
    ("to", "number"),
    [("launcher", signal.SIGINT), ("launcher", signal.SIGTERM), (1, signal.SIGTERM)],
)
def test_a_signal_to_any_ends_all_with_a_checkpoint(
    whole: dict[str, np.ndarray], runs_folder: Path, to: int | str, number: int
) -> None:
    launcher, ids = begun(runs_folder)
    os.kill(launcher.pid if isinstance(to, str) else ids[to], number)
    out, err = launcher.communicate(timeout=PATIENCE)
    assert (launcher.returncode, err) == (128 + number, "")
    assert out.endswith("Interrupted; saved. Go on with: curta resume two\n")
    assert status(runs_folder, "two") == "interrupted"
    assert ended("resume", "two", "--processes=2").returncode == 0
    assert tiny.same(weights(runs_folder, "two"), whole)


def slurm(index: int) -> dict[str, str]:
    """What srun says to one of two tasks on this machine."""
    return {
        "SLURM_JOB_ID": str(os.getpid()), "SLURM_PROCID": str(index), "SLURM_LOCALID": str(index),
        "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2",
        "SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_STEP_NUM_NODES": "1",
    }  # fmt: skip


@pytest.mark.slow
def test_tasks_of_srun_find_each_other(runs_folder: Path) -> None:
    curta.train("addition", seeds=2, run="one", **tiny.overrides(), evaluate=False)
    asked = command("train", *words({}), "--seeds=2", "--run=srun", "--no-evaluation")
    tasks = [
        subprocess.Popen(
            asked, env=os.environ | slurm(index) | {"CURTA_CORES": "1"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for index in (0, 1)
    ]  # fmt: skip
    told = [task.communicate(timeout=PATIENCE) for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], told
    assert told[0][0].startswith("srun: ")
    assert told[1] == ("", "")
    tiny.assert_close(weights(runs_folder, "srun"), weights(runs_folder, "one"), TRAINED)
