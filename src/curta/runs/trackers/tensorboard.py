"""TensorBoard's event files, by tensorboardX, which needs no TensorFlow.

They lie in the run's folder, one folder a seed, so that a board lays the seeds over
each other: `tensorboard --logdir runs`. What is said of all members together is in `members`.
"""

import time
from collections.abc import Sequence
from typing import Any

from curta.config.registry import optional_module
from curta.runs.info import Metric
from curta.runs.trackers.base import Findings, Tracked, Tracker, columns, values


class TensorBoard(Tracker):
    name = "tensorboard"
    library = "tensorboardX"

    def __init__(self, run: Tracked) -> None:
        self.run = run
        again = run.step + 1  # what a board shows from here on is of a run that was killed
        names = [f"seed-{seed}" for seed in run.seeds]
        self.writers = {name: self._writer(name, purge_step=again) for name in names}

    def _writer(self, name: str, **settings: Any) -> Any:
        """Into a file of its own: the library's names tell seconds only, and it replaces files."""
        folder, suffix = self.run.path / self.name / name, f".{time.time_ns()}"
        writer = optional_module(self.library, self.name).SummaryWriter
        return writer(str(folder), filename_suffix=suffix, **settings)

    def add(self, rows: Sequence[Metric]) -> None:
        for row in rows:
            for name, value in values(row).items():
                self.writers[f"seed-{self.run.seeds[row.member]}"].add_scalar(name, value, row.step)
        for writer in self.writers.values():
            writer.flush()

    def conclude(self, found: Findings) -> None:
        members = self.writers["members"] = self._writer("members")
        for name, figure in found.figures.items():
            for column, value in columns(figure, self.run.seeds).items():
                if column in self.writers:
                    self.writers[column].add_scalar(name, value, self.run.step)
                else:
                    members.add_scalar(f"{name}/{column}", value, self.run.step)
        for name, fact in found.facts.items():
            members.add_text(name, str(fact), self.run.step)

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()
