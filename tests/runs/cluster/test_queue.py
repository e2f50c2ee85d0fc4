"""Which tasks live: of Slurm's by squeue, of local ones by their locks."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from curta.config.cluster import Cluster
from curta.config.errors import UserError
from curta.runs.cluster import queue
from curta.runs.cluster.job import Job, JobFolder, System, Task

LIVES = """
import sys, time
from collections.abc import Iterator
from pathlib import Path
from curta.runs.cluster.job import JobFolder
with JobFolder(Path(sys.argv[1])).alive(1):
    print("lives", flush=True)
    time.sleep(60)
"""


def made(folder: JobFolder, on: System) -> Job:
    tasks = tuple(Task((name,), f"7_{number}") for number, name in enumerate("abc"))
    job = Job(on, Cluster(), tasks, ("curta",), "now", socket.gethostname())
    folder.save(job)
    return job


def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A command of that name, which does this."""
    path = tmp_path / "bin" / "squeue"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")


def test_slurms_tasks_live_as_squeue_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squeue(tmp_path, monkeypatch, "printf '7_0|COMPLETING\\n7_1|RUNNING\\n8_2|PENDING\\n'")
    folder = JobFolder(tmp_path)
    assert queue.living(folder, made(folder, "slurm")) == {0: "pending", 1: "running"}
    assert queue.is_running("7_1")
    assert not queue.is_running("7_0")


def test_tasks_that_slurm_has_forgotten_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "slurm_load_jobs error: Invalid job id specified"
    squeue(tmp_path, monkeypatch, f"echo {line!r} >&2; exit 1")
    folder = JobFolder(tmp_path)
    assert queue.living(folder, made(folder, "slurm")) == {}


def test_a_slurm_that_cannot_be_asked_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = JobFolder(tmp_path)
    job = made(folder, "slurm")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        with pytest.raises(UserError, match="squeue is not here"):
            queue.living(folder, job)
    squeue(tmp_path, monkeypatch, "echo 'slurm_load_jobs error: Unable to contact' >&2; exit 1")
    with pytest.raises(UserError, match="squeue: slurm_load_jobs error: Unable to contact"):
        queue.living(folder, job)


def test_a_cancelled_local_job_is_marked_and_its_processes_are_told(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    job = made(folder, "local")
    command = [sys.executable, "-c", LIVES, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "lives\n"
        assert queue.living(folder, job) == {1: "running"}
        queue.cancel(folder)
        assert process.wait(10) == -signal.SIGTERM
    assert folder.read().cancelled
    assert queue.living(folder, job) == {}
