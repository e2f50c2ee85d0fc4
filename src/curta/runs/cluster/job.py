"""The files of a job, in the folder of the run or the comparison that it works on.

.jobs/job.json           what was submitted: tasks, and the runs of each
      runs/NAME.json     how often a run has failed, and which task works on it
           NAME.log      what it printed
           NAME.lock     held by the process that works on it
      tasks/NUMBER.lock  of local tasks: held while the task lives
            NUMBER.log   the output of a local task
      submitit/          scripts, pickles and logs of submitit

Whether a run is finished, its own folder says, and nothing here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from curta.config import files, system, typed
from curta.config.cluster import Cluster
from curta.runs.folders import COMPARISON, Folder

HIDDEN = ".jobs"
"""The folder's name: no entry of a comparison can be called so."""

System = Literal["slurm", "local"]


@dataclass(frozen=True)
class Task:
    """Runs, by the names of their folders, that one process after the other works on.

    `id` is Slurm's, such as `1234_5`, or a process of `Job.host`.
    """

    runs: tuple[str, ...]
    id: str = ""


@dataclass(frozen=True)
class Job:
    """`job.json`: what was submitted, when, by which words, and whether it was cancelled.

    `finished` are runs that were finished already.
    """

    FORMAT: ClassVar[int] = 1
    REMEDY: ClassVar[str] = "submit it anew"

    on: System
    cluster: Cluster
    tasks: tuple[Task, ...]
    command: tuple[str, ...]
    submitted: str
    host: str
    finished: tuple[str, ...] = ()
    cancelled: bool = False

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs, each once."""
        of_tasks = (name for task in self.tasks for name in task.runs)
        return tuple(dict.fromkeys((*self.finished, *of_tasks)))


@dataclass(frozen=True)
class Tries:
    """`runs/NAME.json`: the task that works on a run, and how the tries before ended.

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
        self.path, self.name = path, path.name
        self.folder = path / HIDDEN
        self.submitit = self.folder / "submitit"

    @property
    def exists(self) -> bool:
        return (self.folder / "job.json").exists()

    def read(self) -> Job:
        """UserError if nothing was submitted, or job.json is damaged."""
        return typed.read(Job, self.folder / "job.json", f"job {self.name!r}")

    def save(self, job: Job) -> None:
        files.write(self.folder / "job.json", typed.text(job, indent=1))

    def run_folder(self, name: str) -> Path:
        """Return where a run lies: in the comparison, or it is the run itself."""
        return self.path / name if (self.path / COMPARISON).exists() else self.path

    def is_finished(self, name: str) -> bool:
        """Whether nothing of a run is left to be done."""
        path = self.run_folder(name)
        has_begun = (path / "run.json").exists()
        return has_begun and Folder(path).read_info().status in ("finished", "stopped")

    def of_run(self, name: str, kind: str) -> Path:
        """Return the file of a run: its `json` of tries, its `log`, its `lock`."""
        return self.folder / "runs" / f"{name}.{kind}"

    def of_task(self, number: int, kind: str) -> Path:
        """Return the file of a local task: its `log`, its `lock`."""
        return self.folder / "tasks" / f"{number}.{kind}"

    def read_log(self, path: Path) -> str:
        """Return the content of a log so far; empty if it is no file."""
        with suppress(OSError):
            return files.read_bytes(path).decode("utf-8", "replace")
        return ""

    def read_tries(self, name: str) -> Tries:
        path = self.of_run(name, "json")
        return typed.read(Tries, path, f"job {self.name!r}") if path.exists() else Tries()

    def update_tries(self, name: str, **fields: Any) -> None:
        tries = replace(self.read_tries(name), **fields)
        files.write(self.of_run(name, "json"), typed.text(tries))

    def fail_try(self, name: str, line: str) -> None:
        """Count a failed try, with the line that says why."""
        failures = self.read_tries(name).failures + 1
        self.update_tries(name, task=None, failures=failures, failure=line)

    def forget_tries(self) -> None:
        """Forget all tries, before runs are submitted anew."""
        for path in (self.folder / "runs").glob("*.json"):
            path.unlink(missing_ok=True)

    @contextmanager
    def claimed(self, name: str) -> Iterator[bool]:
        """Whether this process has the run as long as the block lasts; False if another has it."""
        with _locked(self.of_run(name, "lock")) as is_mine:
            yield is_mine

    def is_claimed(self, name: str) -> bool:
        """Whether a process has the run; where a network disk has no locks it is not known."""
        return not system.lock_is_free(self.of_run(name, "lock"))

    @contextmanager
    def alive(self, number: int) -> Iterator[bool]:
        """Show that a task lives as long as the block lasts; False if another process is it."""
        path = self.of_task(number, "lock")
        with _locked(path) as is_mine:
            if is_mine:
                path.write_text(f"{os.getpid()}\n", "utf-8")
            yield is_mine

    def process_of(self, number: int) -> int | None:
        """Return the process that is a local task; None if it has ended."""
        path = self.of_task(number, "lock")
        if system.lock_is_free(path):
            return None
        with suppress(OSError, ValueError):
            return int(files.read_bytes(path, 1 << 10))
        return None


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    handle = system.claim_lock(path)
    try:
        yield handle is not None
    finally:
        system.release_lock(handle)
