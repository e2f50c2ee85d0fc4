"""`--on` and jobs in `curta runs`: what is refused, what is listed, what is printed."""

import json
import socket
from pathlib import Path

import pytest

from curta.frontends.cli.arguments import Destination, destination
from curta.runs import folders
from curta.runs.cluster import Cluster, ClusterTask, Job, JobFolder

from .conftest import Curta


@pytest.fixture
def job(runs_folder: Path) -> JobFolder:
    """A job of local tasks that have ended: one run has failed, the other had no turn."""
    path = runs_folder / "mine"
    path.mkdir(parents=True)
    (path / folders.COMPARISON).write_text("{}")
    folder = JobFolder(path)
    runs = ("width-16", "width-32")
    tasks = (ClusterTask(runs, "12"),) * 2
    folder.save(Job("local", Cluster(), runs, tasks, ("curta",), "now", socket.gethostname()))
    folder.update_tries("width-16", failures=2, failure="ValueError: no \x1b[2J")
    folder.of_run("width-16", "log").write_text("step 100/200\nValueError: no \x1b[2J\n")
    return folder


def test_a_job_or_run_of_it_that_is_not_there_is_one_line(job: JobFolder, curta: Curta) -> None:
    assert "did you mean 'mine'?" in curta("runs", "mnie", "--wait", code=2).err
    assert "did you mean 'width-16'?" in curta("runs", "mine/width-61", "--logs", code=2).err


@pytest.mark.parametrize("command", ["train", "compare"])
def test_without_slurm_no_run_is_created(
    command: str, runs_folder: Path, curta: Curta, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    error = curta(command, "addition", "training.steps=1", "--on", "slurm", code=2).err
    assert error == "curta: --on slurm needs Slurm: sbatch is not here\n"
    assert not any(runs_folder.glob("*"))


def test_the_command_line_is_laid_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mill.toml"
    path.write_text('[cluster]\npartition = "gpu"\ntime = 30\nsetup = ["module load cuda"]\n')
    settings = {
        "cluster.time": "90",
        "cluster.options.qos": "low",
        "cluster.options.exclusive": "true",
    }
    options = {"qos": "low", "exclusive": True}
    cluster = Cluster("gpu", time=90, setup=("module load cuda",), options=options)
    assert destination("slurm", path, True, settings) == Destination("slurm", cluster, wait=True)
    assert destination(None, None, False, {}) is None


def test_a_job_is_shown_and_cancelled(job: JobFolder, curta: Curta) -> None:
    """As a table, as JSON, and by the logs of the runs that are named."""

    def shown(*words: str, code: int = 0) -> str:
        text: str = curta("runs", *words, code=code).out
        assert "\x1b" not in text
        return text

    assert "mine: 2 runs: 2 failed" in shown("mine", code=1)
    first, second = json.loads(shown("mine", "--json", code=1))["job"]
    assert (first["run"], first["state"], first["failures"]) == ("width-16", "failed", 2)
    assert second["line"] == "its task has ended without it"
    assert shown("mine/width-16", "--logs").startswith("width-16.log:\nstep 100/200\n")
    assert shown("mine/width-32", "--logs") == ""
    assert "mine is cancelled" in shown("mine", "--cancel")
    states = [row["state"] for row in json.loads(shown("mine", "--json", code=1))["job"]]
    assert states == ["failed", "cancelled"]
