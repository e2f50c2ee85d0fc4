"""Which tasks of a job still wait or work, and how to end them.

Slurm is asked by `squeue`, which every cluster has. Submitit asks `sacct`, which needs a database
of accounts; what that would add, how a task ended, is known from the run folders.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from curta.config.errors import UserError
from curta.runs.cluster.job import Job, JobFolder

Living = dict[int, Literal["pending", "running"]]
"""The tasks that have not ended, by number."""

PATIENCE = 60.0
"""Seconds that a command of Slurm's may take."""


def living(folder: JobFolder, job: Job) -> Living:
    """The tasks that wait or work; UserError if Slurm cannot be asked."""
    if job.on == "local":
        numbers = range(len(job.tasks))
        return {n: "running" for n in numbers if folder.process_of(n) is not None}
    states = parse_states(_squeue(job))
    return {
        number: "running" if states[task.id] == "RUNNING" else "pending"
        for number, task in enumerate(job.tasks)
        if task.id in states
    }


def parse_states(text: str) -> dict[str, str]:
    """The states of tasks by their ids, of what squeue has printed.

    >>> parse_states("12_0|RUNNING" + chr(10) + "12_1|PENDING" + chr(10))
    {'12_0': 'RUNNING', '12_1': 'PENDING'}
    """
    rows = (line.partition("|") for line in text.splitlines())
    return {task: state for task, _, state in rows if task and state not in ENDED}


ENDED = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
     "TIMEOUT")
)  # fmt: skip
"""States of tasks that squeue may still list, and that do not go on."""


def cancel(folder: JobFolder) -> None:
    """Ends all tasks; runs that are at work keep what they have saved.

    That it was cancelled is written first: a task that is told to end would else be queued again.
    """
    job = folder.read()
    if job.on == "local" and job.host != socket.gethostname():
        raise UserError(f"job {folder.name!r} works on {job.host}: cancel it there")
    folder.save(replace(job, cancelled=True))
    if job.on == "slurm":
        _called(["scancel", *_arrays(job)])
        return
    for number in range(len(job.tasks)):
        process = folder.process_of(number)
        if process is not None:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)


def is_running(task: str) -> bool:
    """Whether Slurm means a task to go on: it is not being cancelled, or ended otherwise."""
    try:
        listed = _called(["squeue", "--noheader", f"--jobs={task}", "--format=%i|%T"])
    except UserError:
        return False
    return parse_states(listed).get(task) == "RUNNING"


def _squeue(job: Job) -> str:
    """What squeue says of all tasks; nothing of those that it has forgotten."""
    jobs = ",".join(_arrays(job))
    command = ["squeue", "--noheader", "--array", f"--jobs={jobs}", "--format=%i|%T"]
    return _called(command, "Invalid job id") if jobs else ""


def _arrays(job: Job) -> list[str]:
    return sorted({task.id.partition("_")[0] for task in job.tasks if task.id})


def _called(command: Sequence[str], harmless: str = "\0") -> str:
    """What a command of Slurm's prints; UserError in its own words, but for a harmless error."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except FileNotFoundError:
        raise UserError(f"{command[0]} is not here: ask where Slurm is") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"{command[0]} does not answer") from None
    if done.returncode and harmless not in done.stderr:
        raise UserError(f"{command[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout
