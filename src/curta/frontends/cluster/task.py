"""A task: processes, one after the other, that do runs of a job, and what follows if one breaks.

Another process does the work, so that a run that is killed, such as for want of memory, counts as
a failed try, and the runs after it are done all the same. A signal is passed on; once the work is
saved, submitit's own handler asks Slurm to queue the task again.

Submitit calls this module, and a local task executes it; it imports no JAX.
"""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from curta.runs.cluster import queue
from curta.runs.cluster.job import JobFolder
from curta.runs.interrupts import OF_TASKS, given

MORE = 75
"""Exit code of a process that has done its share of the runs, and leaves some to the next."""


def work(folder: str, number: str) -> None:
    """Do the runs of a task, in the folder of a run or a comparison; try again what fails.

    A task of Slurm's that a signal has ended is queued again, unless the job was cancelled.
    """
    requeue: Any = signal.getsignal(signal.SIGUSR2)  # the handler of submitit
    job_folder = JobFolder(Path(folder))
    with job_folder.alive(int(number)) as is_mine:
        received = _work(job_folder, int(number)) if is_mine else None
    job = job_folder.read()
    if received is None or job.on == "local" or job.cancelled:
        return
    # SIGUSR2 says that its time is nearly over; SIGTERM alone that the machine is needed, or that
    # the task is being cancelled, and then Slurm does not list it as running.
    if received == signal.SIGUSR2 or queue.is_running(job.tasks[int(number)].id):
        requeue(received, None)


def again(folder: str, number: str) -> Any:
    """Return what submitit submits for a task that is queued again: the same."""
    from submitit.helpers import DelayedSubmission

    return DelayedSubmission(work, folder, number)


work.checkpoint = again  # type: ignore[attr-defined]  # submitit looks for it there


def _work(job_folder: JobFolder, number: int) -> int | None:
    """Begin processes until no run is left, or a signal ends the task; return that signal.

    Raises RuntimeError if a process broke before it began a run: the next would break as well.
    """
    job, received = job_folder.read(), None
    process: subprocess.Popen[bytes] | None = None

    def pass_on(signal_number: int, frame: Any) -> None:
        nonlocal received
        received = received or signal_number
        if process is not None:
            with suppress(ProcessLookupError):
                process.send_signal(signal_number)

    command = [sys.executable, "-m", "curta.frontends.cluster.worker"]
    with given(OF_TASKS, pass_on):
        while True:
            process = subprocess.Popen([*command, str(job_folder.path), str(number)])
            if received is not None:  # it came before there was a process
                process.send_signal(received)
            code = process.wait()
            if not code:
                return None
            if received is None and code != MORE:
                killed_by = signal.Signals(-code).name if code < 0 else ""
                how = f"killed by {killed_by}" if killed_by else f"ended with code {code}"
                runs = job.tasks[number].runs
                broken = (name for name in runs if job_folder.read_tries(name).task == number)
                name = next(broken, None)
                if name is None:
                    raise RuntimeError(f"a process was {how} before it began a run")
                job_folder.fail_try(name, f"its process was {how}")
            elif received is not None and (job.on, received) != ("local", signal.SIGUSR2):
                return received
            received = None


if __name__ == "__main__":
    work(*sys.argv[1:])
