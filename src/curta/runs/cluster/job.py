"""The files of a job, in the folder of the run or the comparison that it works on.

.jobs/job.json           what was submitted: tasks, and what each was given
      runs/NAME.json     how often a run has failed, and who is at it now
           NAME.log      what it printed
           NAME.lock     held by the process that is at it
      tasks/NUMBER.lock  of local tasks: held as long as the task lives
            NUMBER.log   what a local task itself printed
      submitit/          what submitit keeps: its scripts, its pickles, its logs

Whether a run is finished is asked of its own folder; nothing here says so.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from curta.config import files, limits, system, typed
from curta.config.cluster import Cluster
from curta.config.errors import UserError, quoted
from curta.runs.folders import COMPARISON, Folder

HIDDEN = ".jobs"
"""The folder's name: no entry of a comparison can be called so."""

System = Literal["slurm", "local"]


def _checked(name: str) -> str:
    """A name that leads nowhere else; ValueError for any other."""
    if not limits.is_name(name):
        raise ValueError(f"{quoted(name)} is no name of a run")
    return name


RunName = Annotated[str, AfterValidator(_checked)]


@dataclass(frozen=True)
class Task:
    """Runs, by the names of their folders, that one process after the other works on.

    `id` is Slurm's, such as `1234_5`, or a process of `Job.host`.
    """

    runs: tuple[RunName, ...]
    id: str = ""


@dataclass(frozen=True)
class Job:
    """`job.json`: what was submitted, when, by which words, and whether it was cancelled.

    `finished` are runs of which nothing was left to be done even then.
    """

    FORMAT: ClassVar[int] = 1
    REMEDY: ClassVar[str] = "submit it anew"

    on: System
    cluster: Cluster
    tasks: tuple[Task, ...]
    command: tuple[str, ...]
    submitted: str
    host: str
    finished: tuple[RunName, ...] = ()
    cancelled: bool = False

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs, each once."""
        given = (name for task in self.tasks for name in task.runs)
        return tuple(dict.fromkeys((*self.finished, *given)))


@dataclass(frozen=True)
class Tries:
    """`runs/NAME.json`: the task that is at a run, if one is, and how the tries before ended.

    `failure` is the last line of the last one that failed; `requeued` counts those that a signal
    has ended, and that go on from a checkpoint.
    """

    FORMAT: ClassVar[int] = 1
    REMEDY: ClassVar[str] = "submit it anew"

    task: int | None = None
    failures: int = 0
    failure: str = ""
    requeued: int = 0


class JobFolder:
    """The files of the job that works on a run or a comparison."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path / HIDDEN
        self.submitit = self.folder / "submitit"

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def exists(self) -> bool:
        return os.path.lexists(self._job)

    def check(self) -> None:
        """Raises UserError for a folder that is a link: nothing of a job is written elsewhere."""
        for place in (self.folder, self._runs, self.folder / "tasks", self.submitit):
            if place.is_symlink():
                raise UserError(f"job {self.name!r} is damaged: {place.name!r} is a link")

    def read(self) -> Job:
        """UserError if nothing was submitted, or job.json is damaged."""
        self.check()
        return typed.read(Job, self._job, f"job {self.name!r}")

    def save(self, job: Job) -> None:
        files.write(self._job, typed.text(job, indent=1))

    def run_folder(self, name: str) -> Path:
        """Where a run lies: in the comparison, or it is the run itself that was submitted."""
        return self.path / name if (self.path / COMPARISON).exists() else self.path

    def is_finished(self, name: str) -> bool:
        """Whether nothing of a run is left to be done."""
        path = self.run_folder(name)
        begun = os.path.lexists(path / "run.json")
        return begun and Folder(path).read_info().status in ("finished", "stopped")

    def log(self, name: str) -> Path:
        """What a run has printed."""
        return self._of_run(name, "log")

    def task_log(self, number: int) -> Path:
        """What a local task has printed that is of no run."""
        return self._of_task(number, "log")

    def read_tries(self, name: str) -> Tries:
        path = self._of_run(name, "json")
        if not os.path.lexists(path):
            return Tries()
        return typed.read(Tries, path, f"job {self.name!r}")

    def read_log(self, path: Path) -> str:
        """What one of these has by now; nothing where it is no file of its own."""
        try:
            return files.read_bytes(path).decode("utf-8", "replace")
        except OSError:
            return ""

    def begin_try(self, name: str, task: int) -> None:
        self._save_tries(name, replace(self.read_tries(name), task=task))

    def end_try(self, name: str) -> None:
        """It is done."""
        self._save_tries(name, replace(self.read_tries(name), task=None))

    def fail_try(self, name: str, line: str) -> None:
        """It has failed, and this is why."""
        tries = self.read_tries(name)
        failed = replace(tries, task=None, failures=tries.failures + 1, failure=line)
        self._save_tries(name, failed)

    def requeue_try(self, name: str) -> None:
        """A signal has ended it: it is to go on later."""
        tries = self.read_tries(name)
        self._save_tries(name, replace(tries, task=None, requeued=tries.requeued + 1))

    def forget_tries(self) -> None:
        """Before runs are submitted anew."""
        self.check()
        for path in self._runs.glob("*.json"):
            path.unlink(missing_ok=True)

    @contextmanager
    def claimed(self, name: str) -> Iterator[bool]:
        """Whether this process has the run as long as the block lasts; False if another has it."""
        with _locked(self._of_run(name, "lock")) as mine:
            yield mine

    def is_claimed(self, name: str) -> bool:
        """Whether a process has the run; where a network disk has no locks it is not known."""
        return not system.lock_is_free(self._of_run(name, "lock"))

    @contextmanager
    def alive(self, number: int) -> Iterator[bool]:
        """As long as the block lasts a task is known to live; False if another process is it."""
        path = self._of_task(number, "lock")
        with _locked(path) as mine:
            if mine:
                path.write_text(f"{os.getpid()}\n", "utf-8")
            yield mine

    def process_of(self, number: int) -> int | None:
        """The process that is a local task; None if it has ended."""
        path = self._of_task(number, "lock")
        if system.lock_is_free(path):
            return None
        with suppress(OSError, ValueError):
            return int(files.read_bytes(path, 1 << 10))
        return None

    def _save_tries(self, name: str, tries: Tries) -> None:
        files.write(self._of_run(name, "json"), typed.text(tries))

    @property
    def _job(self) -> Path:
        return self.folder / "job.json"

    @property
    def _runs(self) -> Path:
        return self.folder / "runs"

    def _of_run(self, name: str, kind: str) -> Path:
        return self._runs / f"{name}.{kind}"

    def _of_task(self, number: int, kind: str) -> Path:
        return self.folder / "tasks" / f"{number}.{kind}"


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    handle = system.claim_lock(path)
    try:
        yield handle is not None
    finally:
        system.release_lock(handle)
