"""Runs as local tasks: what is told to end, killed, cancelled or fails, and the table of it all."""

import os
import signal
from pathlib import Path

import pytest

from curta.runs.cluster import JobFolder, living
from tests.frontends.cluster.dozen import BROKEN, ENTRIES, LONG, SHAKY, Dozen, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are found in /proc"),
]


@pytest.fixture
def dozen(tmp_path: Path) -> Dozen:
    return Dozen(tmp_path, {})


def test_a_comparison_of_local_tasks_is_that_of_one_process(dozen: Dozen) -> None:
    """Cancelled and gone on with, and one process killed."""
    options = ("--on", "local", "cluster.parallel=2", "cluster.cores=1")
    printed = dozen.curta("compare", "dozen.toml", "--run", "tasks", *options)
    assert printed == "tasks: 12 runs in 2 tasks; curta runs tasks\n"
    assert "are at work" in dozen.call("compare", "dozen.toml", "--run", "tasks", *options).stderr
    dozen.curta("runs", "tasks", "--cancel")
    folder = JobFolder(dozen.folder / "runs" / "tasks")
    until(lambda: None if living(folder, folder.read()) else True)
    states = {name: row["state"] for name, row in dozen.states("tasks").items() if name != BROKEN}
    assert set(states.values()) <= {"cancelled", "finished"}
    assert "cancelled" in states.values()

    dozen.curta("train", "--resume", "tasks", *options)
    os.kill(dozen.held("tasks", LONG[1]), signal.SIGKILL)
    table = dozen.curta("runs", "tasks", "--wait", code=1)
    assert "12 runs: 1 failed, 11 finished" in table
    assert "ValueError: there was no always" in table.replace("\n", " ")
    assert dozen.tries("tasks", LONG[1])["failure"] == "its process was killed by SIGKILL"
    assert dozen.tries("tasks", SHAKY)["failure"] == "ValueError: there was no mended"
    assert dozen.tries("tasks", BROKEN)["failures"] == 2
    assert "Traceback" in dozen.curta("runs", f"tasks/{BROKEN}", "--logs")

    dozen.curta("compare", "dozen.toml", "--run", "here")
    dozen.check_against("here", "tasks")
    assert (
        dozen.call("train", "--resume", "tasks", *options).returncode == 0
    )  # the broken one once more
    assert list(dozen.results("tasks")) == ENTRIES


def test_a_run_of_its_own_is_reported_on(dozen: Dozen) -> None:
    options = ("training.steps=20", "--run", "one", "--on", "local", "--wait")
    printed = dozen.curta("train", "small.toml", *options)
    assert "one: 1 run: 1 finished" in printed
    assert (dozen.folder / "runs" / "one" / "report.html").exists()
    assert "one" in dozen.curta("runs")
    assert "one is finished" in dozen.curta("train", "--resume", "one", "--on", "local")
