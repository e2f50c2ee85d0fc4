"""Weights & Biases, offline: its files lie in the run's folder until `wandb sync` sends them.

Each process, and each stage after training, writes a file of its own. They have one id, by which
`wandb sync` makes one run of them.
"""

import hashlib
from collections.abc import Sequence

from curta.config.optional import module
from curta.runs.info import Metric
from curta.runs.trackers.base import Findings, Tracked, Tracker, by_step, flat


class WandB(Tracker):
    name = library = "wandb"

    def __init__(self, run: Tracked) -> None:
        self.seeds = run.seeds
        self.run = module(self.library, self.name).init(
            project="curta",
            name=run.name,
            id=hashlib.sha256(f"{run.name} {run.created}".encode()).hexdigest()[:16],
            resume="allow",
            dir=str(run.path),
            config=run.settings,
            mode="offline",
            settings={"silent": True, "console": "off"},
        )

    def add(self, rows: Sequence[Metric]) -> None:
        for step, metrics in by_step(rows, self.seeds):
            self.run.log(metrics, step=step)

    def conclude(self, found: Findings) -> None:
        self.run.summary.update(flat(found, self.seeds))

    def close(self) -> None:
        self.run.finish()
