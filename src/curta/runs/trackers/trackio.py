"""trackio, on this machine: `trackio show --project curta` draws what it has kept."""

from collections.abc import Sequence

from curta.config.optional import module
from curta.runs.results import Metric
from curta.runs.trackers.base import Tracked, Tracker, by_step


class Trackio(Tracker):
    name = library = "trackio"

    def __init__(self, run: Tracked) -> None:
        self.seeds, self.trackio = run.seeds, module(self.library, self.name)
        self.run = self.trackio.init(
            project="curta", name=run.name, config=run.settings, resume="allow", embed=False
        )

    def add(self, rows: Sequence[Metric]) -> None:
        for step, metrics in by_step(rows, self.seeds):
            self.run.log(metrics, step=step)

    def close(self) -> None:
        self.trackio.finish()
