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
        with interrupts.patient():
            return _Worker(JobFolder(Path(folder)), int(number)).work()
    except interrupts.Interrupted as signal:
        return signal.code


class _Worker:
    """Goes through the runs of a task, and takes those that nobody else works on."""

    def __init__(self, place: JobFolder, number: int) -> None:
        self.place, self.number = place, number
        self.job = place.read()
        sys.argv[:] = self.job.command  # a run says by which words it was begun
        devices.configure()

    def work(self) -> int:
        waiting, done = deque(self.job.tasks[self.number].runs), 0
        while waiting:
            if done == self.job.cluster.runs:
                return MORE
            name = waiting.popleft()
            with self.place.claimed(name) as is_mine:
                if not is_mine or not self._is_wanted(name):
                    continue
                done += 1
                self._try(name)
            waiting.append(name)  # where it has failed it is tried again, after the others
        return 0

    def _is_wanted(self, name: str) -> bool:
        """Whether a run is not finished, and has not failed too often."""
        failures = self.place.read_tries(name).failures
        return failures <= self.job.cluster.retries and not self.place.is_finished(name)

    def _try(self, name: str) -> None:
        self.place.update_tries(name, task=self.number)
        with _printing_to(self.place.of_run(name, "log")):
            try:
                self._carry_out(name)
                interrupts.check()
                self.place.update_tries(name, task=None)
            except interrupts.Interrupted:
                requeued = self.place.read_tries(name).requeued + 1
                self.place.update_tries(name, task=None, requeued=requeued)
                raise
            except Exception as error:
                self.place.fail_try(name, _line(error))

    def _carry_out(self, name: str) -> None:
        """Do a run: a row of the comparison, or the only one."""
        path = self.place.path
        if not (path / COMPARISON).exists():
            complete(Run(Folder(path)))
            return
        comparison = Comparison.load(str(path), only=name)
        (row,) = comparison.spec.rows
        notice(entry_line(row, f"task {self.number}"))
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
