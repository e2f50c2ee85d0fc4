"""Runs as tasks of a real Slurm: an array, a signal, the time limit, failures, the table of all."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from curta.runs.cluster import ClusterTask, JobFolder
from tests.frontends.cluster import slurm
from tests.frontends.cluster.dozen import BROKEN, ENTRIES, LONG, SHAKY, Dozen, until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing())]

ASKED = ("--on", "slurm", "cluster.time=2", "cluster.notice=30")


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with slurm.running() as environment:
        yield environment


@pytest.fixture
def dozen(tmp_path: Path, environment: dict[str, str]) -> Dozen:
    return Dozen(tmp_path, environment)


def test_a_comparison_of_an_array_is_that_of_one_process(dozen: Dozen) -> None:
    """One task is sent SIGTERM, one meets its time limit, one run fails, one at first only."""
    printed = dozen.curta("compare", "dozen.toml", "--run", "array", *ASKED, "cluster.runs=3")
    assert printed == "array: 12 runs in 4 tasks; curta runs array\n"
    job = JobFolder(dozen.folder / "runs" / "array").read()
    array = job.tasks[0].id.partition("_")[0]
    assert [task.id for task in job.tasks] == [f"{array}_{number}" for number in range(4)]
    assert [task.runs for task in job.tasks] == [
        tuple(ENTRIES[first : first + 3]) for first in range(0, 12, 3)
    ]

    process = dozen.held("array", LONG[0])
    command = ["scancel", "--signal=TERM", task_of(job.tasks, LONG[0])]
    subprocess.run(command, env=dozen.environment, check=True)
    os.kill(process, signal.SIGCONT)
    dozen.held("array", LONG[1])  # Slurm itself lets it go on when it says that time is up

    until(lambda: dozen.states("array") if dozen.tries("array", LONG[1]).get("requeued") else None)
    table = dozen.curta("runs", "array", "--wait", code=1)
    assert "12 runs: 1 failed, 11 finished" in table
    assert "ValueError: there was no always" in table.replace("\n", " ")
    for run, signal_ in zip(LONG, ("SIGTERM", "SIGUSR2"), strict=True):
        log = dozen.job("array", "submitit", f"{task_of(job.tasks, run)}_0_log.out").read_text()
        assert dozen.tries("array", run)["requeued"] >= 1
        assert f"Caught signal {signal_}" in log
        assert "Requeued job" in log
    assert dozen.tries("array", SHAKY)["failure"] == "ValueError: there was no mended"
    assert dozen.tries("array", BROKEN)["failures"] == 2
    assert "Traceback" in dozen.curta("runs", f"array/{BROKEN}", "--logs")

    dozen.curta("compare", "dozen.toml", "--run", "here")
    dozen.check_against("here", "array")


def test_what_is_cancelled_is_not_queued_again_and_can_go_on(dozen: Dozen) -> None:
    steps = ("training.steps=20000", "training.checkpoint_every=100000")
    dozen.curta("train", "small.toml", "--run", "one", *steps, *ASKED)
    os.kill(dozen.held("one", "one"), signal.SIGCONT)
    dozen.curta("runs", "one", "--cancel")
    until(lambda: None if is_queued(dozen, "one") else True)
    (state,) = dozen.states("one").values()
    assert state["state"] == "cancelled"
    assert 0 < state["step"] < 20000
    assert dozen.weights(".")  # it has saved them
    table = dozen.curta("train", "--resume", "one", *ASKED, "--wait")
    assert "20,000/20,000" in table


def test_what_slurm_refuses_is_one_line(dozen: Dozen) -> None:
    options = (*ASKED, "cluster.partition=none")
    done = dozen.call("train", "small.toml", "--run", "refused", *options)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("curta: Slurm has not taken the job: ")
    assert "partition" in line


def task_of(tasks: tuple[ClusterTask, ...], run: str) -> str:
    """The id of the task that has a run."""
    return next(task.id for task in tasks if run in task.runs)


def is_queued(dozen: Dozen, name: str) -> bool:
    command = ["squeue", "--noheader", f"--name={name}"]
    queued = subprocess.run(command, env=dozen.environment, capture_output=True, check=True)
    return bool(queued.stdout.strip())
