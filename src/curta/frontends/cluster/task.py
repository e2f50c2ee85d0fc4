"""A task: processes, one after the other, that do runs of a job, and what follows if one breaks.

The work is done in a process of its own, so that a run which is killed, such as for want of memory,
is a try that has failed, and the runs after it are done all the same. A signal is handed on; once
the work is saved, Slurm is asked to queue the task again, by submitit's own handler.

This module is what submitit is given, and what a local task executes; it imports no JAX.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from curta.runs.cluster import queue
from curta.runs.cluster.job import Job, JobFolder
from curta.runs.interrupts import OF_TASKS, given

MORE = 75
"""Exit code of a process that has done its share of the runs, and leaves some to the next."""


def work(folder: str, number: str) -> None:
    """Does the runs of a task, in the folder of a run or a comparison; tries again what fails.

    A task of Slurm's that was told to end is queued again, unless the job was cancelled.
    """
    requeue: Any = signal.getsignal(signal.SIGUSR2)  # what submitit has put there
    place = JobFolder(Path(folder))
    with place.alive(int(number)) as mine:
        told = _Task(place, int(number)).work() if mine else None
    if told is not None and _goes_on(place, int(number), told):
        requeue(told, None)


def again(folder: str, number: str) -> Any:
    """What submitit submits for a task that is queued again: the same."""
    from submitit.helpers import DelayedSubmission

    return DelayedSubmission(work, folder, number)


work.checkpoint = again  # type: ignore[attr-defined]  # submitit looks for it there


class _Task:
    """A task at work, and the first signal that it was sent."""

    def __init__(self, place: JobFolder, number: int) -> None:
        self.place, self.number = place, number
        self.job: Job = place.read()
        self.told: int | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def work(self) -> int | None:
        """Until nothing is left, or a signal ends it, which is returned."""
        self._bind()
        with given(OF_TASKS, self._hand_on):
            while code := self._one():
                if self.told is not None and not self._stays():
                    return self.told
                if self.told is None and code != MORE:
                    self._blame(code)
                self.told = None
        return None

    def _stays(self) -> bool:
        """Whether it need not be queued to go on: a local task, where it was not told to end."""
        return self.job.on == "local" and self.told == signal.SIGUSR2

    def _one(self) -> int:
        """How one process ended that does some of the runs."""
        command = [sys.executable, "-m", "curta.frontends.cluster.worker"]
        self.process = subprocess.Popen([*command, str(self.place.path), str(self.number)])
        if self.told is not None:  # before there was a process to hand it to
            self.process.send_signal(self.told)
        return self.process.wait()

    def _blame(self, code: int) -> None:
        """A try has failed that was at work in a process which is gone.

        Raises RuntimeError if none was: then the next process would end in the same way.
        """
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        for name in self.job.tasks[self.number].runs:
            if self.place.read_tries(name).task == self.number:
                return self.place.fail_try(name, f"its process was {how}")
        raise RuntimeError(f"a process was {how} before it began a run")

    def _bind(self) -> None:
        """Holds a local task to its share of the cores, where the system can do so."""
        if self.job.on != "local" or not hasattr(os, "sched_setaffinity"):
            return
        from curta.runs.cluster.submission import local_cores

        visible, count = sorted(os.sched_getaffinity(0)), local_cores(self.job)
        first = self.number * count
        os.sched_setaffinity(0, {visible[(first + one) % len(visible)] for one in range(count)})

    def _hand_on(self, number: int, frame: Any) -> None:
        self.told = self.told or number
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)


def _goes_on(place: JobFolder, number: int, told: int) -> bool:
    """Whether a task that was told to end is to be queued again.

    SIGUSR2 says that its time is nearly over, SIGTERM alone that the machine is wanted, or that it
    is being cancelled: then Slurm does not count it among the running ones any more.
    """
    job = place.read()
    if job.on == "local" or job.cancelled:
        return False
    return told == signal.SIGUSR2 or queue.is_running(job.tasks[number].id)


if __name__ == "__main__":
    work(*sys.argv[1:])
