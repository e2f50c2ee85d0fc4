"""trackio, on this machine: `trackio show --project curta` draws what it has kept."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from curta.config.registry import optional_module
from curta.runs.info import Metric
from curta.runs.trackers.base import Findings, Tracked, Tracker, by_step, flat


class Trackio(Tracker):
    name = library = "trackio"
    takes = ("project",)

    def __init__(self, run: Tracked) -> None:
        self.seeds, self.step = run.seeds, run.step
        self.trackio = optional_module(self.library, self.name)
        with redirect_stdout(sys.stderr):  # it prints lines, and a command's output may be JSON
            self.run = self.trackio.init(
                project=run.tracking.project or "curta",
                name=run.name,
                config=run.settings,
                resume="allow",
                embed=False,
            )

    def add(self, rows: Sequence[Metric]) -> None:
        for step, metrics in by_step(rows, self.seeds):
            self.run.log(metrics, step=step)

    def conclude(self, found: Findings) -> None:
        self.run.log(flat(found, self.seeds), step=self.step)

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self.trackio.finish()
