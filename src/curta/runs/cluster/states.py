"""The state of each run of a job: from its folder, its tries, and the queue."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from curta.runs import metrics
from curta.runs.cluster import queue
from curta.runs.cluster.job import Job, JobFolder, Tries
from curta.runs.cluster.queue import Living
from curta.runs.folders import Folder
from curta.runs.info import STAGES

State = Literal["failed", "running", "requeued", "pending", "cancelled", "finished"]
"""States of a run of a job, those that need attention first.

`requeued` was ended by a signal, and goes on from its checkpoint.
"""

OVER = ("failed", "cancelled", "finished")
"""States that do not change any more."""


@dataclass(frozen=True)
class RunState:
    """One run: its state, the stage that it is in, its step, and what is left of its training.

    `failures` are the tries that have failed, `line` what the last one of them said.
    """

    run: str
    state: State
    stage: str = ""
    step: int = 0
    steps: int = 0
    seconds_left: float | None = None
    failures: int = 0
    line: str = ""


def read(folder: JobFolder) -> list[RunState]:
    """Return the state of every run, in the order of the job; UserError if Slurm is silent."""
    job = folder.read()
    living = queue.living(folder, job)  # first: what ends from here on counts as finished
    tasks_of: dict[str, list[int]] = {name: [] for name in job.finished}
    for number, task in enumerate(job.tasks):
        for name in task.runs:
            tasks_of.setdefault(name, []).append(number)
    return [_state(folder, job, name, numbers, living) for name, numbers in tasks_of.items()]


def is_over(states: list[RunState]) -> bool:
    """Whether no run of the job goes on."""
    return all(row.state in OVER for row in states)


def decide(
    job: Job, finished: bool, at_work: bool, tries: Tries, numbers: list[int], living: Living
) -> State:
    """Return the state of a run whose tasks, by `numbers`, may still be `living`."""
    if finished:
        return "finished"
    if at_work:
        return "running"
    if tries.failures > job.cluster.retries:
        return "failed"
    if not any(number in living for number in numbers):
        return "cancelled" if job.cancelled else "failed"
    return "requeued" if tries.requeued or tries.task is not None else "pending"


def _state(folder: JobFolder, job: Job, name: str, numbers: list[int], living: Living) -> RunState:
    tries = folder.read_tries(name)
    at_work = tries.task is not None and (
        living.get(tries.task) == "running" or folder.is_claimed(name)
    )
    state = decide(job, folder.is_finished(name), at_work, tries, numbers, living)
    line = "" if state == "finished" else tries.failure
    if state == "failed" and not line and numbers:
        # The last line of a task that is gone says why, such as that memory did not suffice.
        lines = folder.read_log(task_logs(folder, job, numbers[-1])[-1]).splitlines()
        line = next(filter(None, map(str.strip, reversed(lines))), "its task has ended without it")
    row = RunState(name, state, failures=tries.failures, line=line)
    path = folder.run_folder(name)
    if not (path / "run.json").exists():
        return row
    run = Folder(path)
    info = run.read_info()
    rows = metrics.read_last(run.metrics, len(info.seeds))
    last = max(rows, key=lambda row: row.step, default=None)
    step, left = (0, None) if last is None else (last.step, None)
    if state == "running" and info.status == "training" and last is not None and step:
        left = (info.steps - step) * last.seconds / step
    stage = info.status if state == "running" and info.status in STAGES else ""
    return replace(row, stage=stage, step=step, steps=info.steps, seconds_left=left)


def task_logs(folder: JobFolder, job: Job, number: int) -> list[Path]:
    """Return the files with the output of a task that belongs to no run; its errors last."""
    if job.on == "local":
        return [folder.of_task(number, "log")]
    task = job.tasks[number].id
    return [folder.submitit / f"{task}_0_log.{kind}" for kind in ("out", "err")]
