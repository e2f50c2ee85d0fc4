"""Weights & Biases, offline unless the run is tracked online.

Offline, its files lie in the run's folder until `wandb sync` sends them. Each process, and each
stage after training, writes a file of its own; all have one id, so that they become one run.
"""

import hashlib
import os
from collections.abc import Sequence

from curta.config.errors import UserError
from curta.config.registry import optional_module
from curta.runs.info import Metric
from curta.runs.trackers.base import Findings, Tracked, Tracker, by_step, flat


class WandB(Tracker):
    name = library = "wandb"
    takes = ("project", "tags", "online")

    def __init__(self, run: Tracked) -> None:
        self.seeds = run.seeds
        wandb, settings = optional_module(self.library, self.name), run.tracking
        project = settings.project or os.environ.get("WANDB_PROJECT") or "curta"
        team, _, project = project.rpartition("/")
        mode = "online" if settings.online else os.environ.get("WANDB_MODE", "offline")
        try:
            self.run = wandb.init(
                project=project,
                entity=team or None,
                tags=settings.tags or None,
                mode=mode,
                name=run.name,
                id=hashlib.sha256(f"{run.name} {run.created}".encode()).hexdigest()[:16],
                resume="allow",
                dir=str(run.path),
                config=run.settings,
                settings={"silent": True, "console": "off"},
            )
        except wandb.Error as error:
            raise UserError(f"wandb: {error}".partition("\n")[0]) from None

    def add(self, rows: Sequence[Metric]) -> None:
        for step, metrics in by_step(rows, self.seeds):
            self.run.log(metrics, step=step)

    def conclude(self, found: Findings) -> None:
        self.run.summary.update(flat(found, self.seeds))

    def close(self) -> None:
        self.run.finish()
