"""Weights & Biases, offline: its files lie in the run's folder until `wandb sync` sends them."""

from collections.abc import Sequence

from curta.config.optional import module
from curta.runs.results import Metric
from curta.runs.trackers.base import Tracked, Tracker, by_step


class WandB(Tracker):
    name = library = "wandb"

    def __init__(self, run: Tracked) -> None:
        self.seeds = run.seeds
        self.run = module(self.library, self.name).init(
            project="curta",
            name=run.name,
            dir=str(run.path),
            config=run.settings,
            mode="offline",
            settings={"silent": True, "console": "off"},
        )

    def add(self, rows: Sequence[Metric]) -> None:
        for step, metrics in by_step(rows, self.seeds):
            self.run.log(metrics, step=step)

    def close(self) -> None:
        self.run.finish()
