"""Trainings that pages begin: a queue of child processes of the command line, one at a time.

Nothing of a run is executed here. A child is `python -m curta train ...` in a session of its own,
so that Ctrl-C reaches this process alone, which then stops the child: what it has learned is saved.
"""

import secrets
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from curta.config.errors import refuse_if

PATIENCE = 20.0
"""Seconds that a stopped child may take to save what it has learned, once the server ends."""


@dataclass
class QueuedTraining:
    """A training of the run of that name, waiting, running or ended, and what it complained of."""

    run: str
    words: Sequence[str]
    state: Literal["waiting", "running", "ended"] = "waiting"
    error: str = ""
    process: subprocess.Popen[str] | None = None


class Trainings:
    """The queue of one server; pages that know its `token` may begin and stop trainings."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe()
        self.jobs: dict[str, QueuedTraining] = {}
        self._queue = ThreadPoolExecutor(1)
        self._lock = threading.Lock()

    def submit(self, run: str, words: Sequence[str]) -> None:
        """Let `curta WORDS` train that run once all before it have ended.

        Raises UserError if it waits or runs already.
        """
        with self._lock:
            refuse_if(self.state(run) != "ended", f"run {run!r} is being trained already")
            self.jobs[run] = QueuedTraining(run, words)
            self._queue.submit(self._train, self.jobs[run])

    def state(self, run: str) -> str:
        """Return whether a run waits or runs here; "ended" for any other."""
        return self.jobs[run].state if run in self.jobs else "ended"

    def ahead(self, run: str) -> int:
        """Count the trainings that end before this one begins."""
        names = [job.run for job in self.jobs.values() if job.state != "ended"]
        return names.index(run) if run in names else 0

    def stop(self, run: str) -> None:
        """Interrupt a training, which saves it, or take it from the queue; else do nothing."""
        with self._lock:
            job = self.jobs.get(run)
            if job is None or job.state == "ended":
                return
            if job.process is None:
                job.state = "ended"
            else:
                job.process.terminate()

    def end(self) -> None:
        """Stop all of them, and wait until they are saved."""
        for job in list(self.jobs.values()):
            self.stop(job.run)
            if job.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    job.process.wait(PATIENCE)

    def _train(self, job: QueuedTraining) -> None:
        with self._lock:
            if job.state == "ended":
                return
            job.state, job.process = "running", subprocess.Popen(
                [sys.executable, "-m", "curta", *job.words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        _, complaints = job.process.communicate()
        lines = complaints.strip().splitlines()
        # 1 is a verdict, 130 and 143 an interrupt: neither is a failure of the command
        if lines and job.process.returncode not in (0, 1, 130, 143, -15):
            job.error = lines[-1].removeprefix("curta: ")
        job.state = "ended"
