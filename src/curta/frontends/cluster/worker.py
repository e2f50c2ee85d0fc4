"""The process that does runs of a task: it trains, evaluates, and records how each try ended."""

import os
import sys
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curta.config import files
from curta.config.errors import UserError, as_line
from curta.frontends.cli.display import Status, entry_line, notice
from curta.frontends.cli.training import complete, learn
from curta.frontends.cluster.task import MORE
from curta.runs import interrupts
from curta.runs.cluster.job import JobFolder
from curta.runs.comparison import Comparison
from curta.runs.folders import COMPARISON, Folder
from curta.runs.run import Run
from curta.training import devices


def main(folder: str, number: str) -> int:
    """Do runs of a task; the exit code is that of the signal that ended it, or `MORE`."""
    try:
        with interrupts.handled(patient=True):
            return _work(JobFolder(Path(folder)), int(number))
    except interrupts.Interrupted as signal:
        return signal.code


def _work(job_folder: JobFolder, number: int) -> int:
    """Go through the runs of a task, and do those that no other process works on."""
    job = job_folder.read()
    sys.argv[:] = job.command  # a run records the words that began it
    devices.configure()
    waiting, done = deque(job.tasks[number].runs), 0
    while waiting:
        if done == job.cluster.runs:
            return MORE
        name = waiting.popleft()
        with job_folder.claimed(name) as is_mine:
            tries = job_folder.read_tries(name)
            has_failed = tries.failures > job.cluster.retries
            if not is_mine or has_failed or job_folder.is_finished(name):
                continue
            done += 1
            job_folder.update_tries(name, task=number)
            with _printing_to(job_folder.of_run(name, "log")):
                try:
                    _complete(job_folder.path, name, number)
                    interrupts.check()
                    job_folder.update_tries(name, task=None)
                except interrupts.Interrupted:
                    job_folder.update_tries(name, task=None, requeued=tries.requeued + 1)
                    raise
                except Exception as error:
                    job_folder.fail_try(name, _line(error))
        waiting.append(name)  # where it has failed it is tried again, after the others
    return 0


def _complete(path: Path, name: str, number: int) -> None:
    """Do a run: a row of the comparison, or the only one."""
    if not (path / COMPARISON).exists():
        complete(Run(Folder(path)))
        return
    comparison = Comparison.load(str(path), only=name)
    (row,) = comparison.spec.rows
    notice(entry_line(row, f"task {number}"))
    with Status() as status:
        comparison.complete(row, lambda row, run: learn(run), status.say)


def _line(error: Exception) -> str:
    """Return an error in one line; print the traceback unless it is a user's mistake."""
    if isinstance(error, UserError):
        print(f"curta: {error}", file=sys.stderr)
        return as_line(str(error))
    traceback.print_exc()
    return as_line(f"{type(error).__name__}: {error}")


@contextmanager
def _printing_to(path: Path) -> Iterator[None]:
    """Append to a file all that this process prints within the block."""
    before = [os.dup(number) for number in (1, 2)]
    handle = files.open_end(path)
    _point(handle, handle)
    try:
        yield
    finally:
        _point(*before)
        for number in (handle, *before):
            os.close(number)


def _point(out: int, err: int) -> None:
    """Let standard output and standard error go there from now on."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(out, 1)
    os.dup2(err, 2)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
