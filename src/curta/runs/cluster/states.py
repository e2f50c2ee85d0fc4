"""What is known of each run of a job: of its own folder, of its tries, and of the queue."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from curta.runs import metrics
from curta.runs.cluster import queue
from curta.runs.cluster.job import Job, JobFolder, Tries
from curta.runs.cluster.queue import Living
from curta.runs.folders import Folder
from curta.runs.info import STAGES

State = Literal["failed", "running", "requeued", "pending", "cancelled", "finished"]
"""How a run of a job stands; those that want to be looked at first.

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
    """The state of every run, in the order of the job; UserError if Slurm cannot be asked."""
    job = folder.read()
    living = queue.living(folder, job)  # first: what ends from here on is met as finished
    having: dict[str, list[int]] = {name: [] for name in job.finished}
    for number, task in enumerate(job.tasks):
        for name in task.runs:
            having.setdefault(name, []).append(number)
    return [_state(folder, job, name, numbers, living) for name, numbers in having.items()]


def is_over(states: list[RunState]) -> bool:
    """Whether nothing of the job goes on."""
    return all(one.state in OVER for one in states)


def decide(
    job: Job, finished: bool, at_work: bool, tries: Tries, numbers: list[int], living: Living
) -> State:
    """The state of a run whose tasks, by `numbers`, may still be `living`."""
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
    stage, step, steps, left = _progress(folder, name)
    line = tries.failure
    if state == "failed" and not line and numbers:
        line = _last_words(folder, job, numbers[-1]) or "its task has ended without it"
    running = state == "running"
    return RunState(
        name, state, stage if running else "", step, steps, left if running else None,
        tries.failures, "" if state == "finished" else line,
    )  # fmt: skip


def _progress(folder: JobFolder, name: str) -> tuple[str, int, int, float | None]:
    """The stage of a run, its step and all steps, and the seconds that its training has left."""
    path = folder.run_folder(name)
    if not (path / "run.json").exists():
        return "", 0, 0, None
    run = Folder(path)
    info = run.read_info()
    rows = metrics.read_last(run.metrics, len(info.seeds))
    last = max(rows, key=lambda row: row.step, default=None)
    stage = info.status if info.status in STAGES else ""
    if last is None or not last.step:
        return stage, 0, info.steps, None
    left = (info.steps - last.step) * last.seconds / last.step
    return stage, last.step, info.steps, left if stage == "training" else None


def _last_words(folder: JobFolder, job: Job, number: int) -> str:
    """The last line that a task has printed which is gone, such as that memory did not suffice."""
    lines = folder.read_log(task_logs(folder, job, number)[-1]).splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def task_logs(folder: JobFolder, job: Job, number: int) -> list[Path]:
    """The files to which a task prints what is of no run; its errors last."""
    if job.on == "local":
        return [folder.of_task(number, "log")]
    task = job.tasks[number].id
    return [folder.submitit / f"{task}_0_log.{kind}" for kind in ("out", "err")]
