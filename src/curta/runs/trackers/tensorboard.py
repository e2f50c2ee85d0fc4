"""TensorBoard's event files, by tensorboardX, which needs no TensorFlow.

They lie in the run's folder, one folder a seed, so that a board lays the seeds over
each other: `tensorboard --logdir runs`.
"""

from collections.abc import Sequence

from curta.config.optional import module
from curta.runs.results import Metric
from curta.runs.trackers.base import Tracked, Tracker, values


class TensorBoard(Tracker):
    name = "tensorboard"
    library = "tensorboardX"

    def __init__(self, run: Tracked) -> None:
        write = module(self.library, self.name).SummaryWriter
        folder = run.path / self.name
        again = run.step + 1  # what a board shows from here on is of a run that was killed
        self.writers = [write(str(folder / f"seed-{s}"), purge_step=again) for s in run.seeds]

    def add(self, rows: Sequence[Metric]) -> None:
        for row in rows:
            for name, value in values(row).items():
                self.writers[row.member].add_scalar(name, value, row.step)
        for writer in self.writers:
            writer.flush()

    def close(self) -> None:
        for writer in self.writers:
            writer.close()
