"""The loop over compiled chunks of steps: metrics, validation, checkpoints, and when to end."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.config.sections import Training
from curta.evaluation import scoring
from curta.layouts import Layout
from curta.problems.problem import Problem
from curta.problems.tasks import validation
from curta.runs import checkpoints, embedding_history
from curta.runs.folders import Folder
from curta.runs.trackers import Tracker
from curta.training import trainer
from curta.training.trainer import CHUNK, Member, Metrics

BUCKET = 10
"""Steps that one line of metrics averages over."""

VALIDATED = ("loss", "exact", "tokens")
"""Mean loss of a scored token, share of problems that are exact, share of tokens that are right."""


@dataclass(frozen=True)
class Progress:
    """What is known after a chunk of steps."""

    step: int
    steps: int
    seconds: float
    loss: list[float]
    exact: list[float]
    stopped: dict[str, int]
    problems_per_second: float


Show = Callable[[Progress], None]


class Loop:
    """One run's training, from a member state at some step to the end."""

    def __init__(
        self,
        folder: Folder,
        recipe: Recipe,
        layout: Layout,
        call: Callable[..., tuple[Member, Metrics]],
        show: Show,
        interrupted: threading.Event,
        trackers: Sequence[Tracker] = (),
    ) -> None:
        self.folder, self.recipe, self.settings = folder, recipe, recipe.training
        self.layout = layout
        self.call, self.show, self.interrupted = call, show, interrupted
        self.trackers = trackers
        self.members = len(folder.info["seeds"])
        self.stopped: dict[str, int] = dict(folder.info["stopped"])
        self.end: int = folder.info.get("ended", self.settings.steps)

    def run(self, state: Member, step: int, seconds: float) -> str:
        """Calls the compiled chunk to the end, keeping records; the status at which it ended."""
        status = self._status(step)
        if not step:
            self._remember(state, step, status)
        while not status:
            begun, count = time.perf_counter(), _until_boundary(step, self.settings)
            state, metrics = self.call(state, jnp.int32(step), jnp.int32(count))
            metrics = jax.tree.map(lambda column, n=count: np.asarray(column)[:, :n], metrics)
            seconds += time.perf_counter() - begun
            self.stopped |= _failures(metrics, np.asarray(state.alive), step, self.stopped)
            rows = _rows(metrics, step, seconds, self.stopped)
            step += count
            state = self._validate(state, step, rows)
            self.folder.add_metrics(rows)
            for tracker in self.trackers:
                tracker.add(rows)
            status = self._status(step)
            self._remember(state, step, status)
            if status or step % self.settings.checkpoint_every == 0:
                checkpoints.save(self.folder.checkpoints, step, state, self.settings.checkpoints)
                self.folder.update(training_seconds=round(seconds, 3), stopped=self.stopped)
            rate = count * self.settings.batch * self.members / (time.perf_counter() - begun)
            self.show(self._progress(step, seconds, metrics, rate))
        return status

    def _status(self, step: int) -> str:
        """How the run has ended, if it has."""
        if len(self.stopped) == self.members:
            return "stopped"
        if step >= self.end:
            return "finished"
        return "interrupted" if self.interrupted.is_set() else ""

    def _remember(self, state: Member, step: int, status: str) -> None:
        """Keeps the characters' vectors at their steps and at the end, but for an interrupt's."""
        every = self.settings.history_every
        if every and (step % every == 0 or status in ("finished", "stopped")):
            embedding_history.save(
                self.folder.history, step, embedding_history.vectors(state.model)
            )

    def _validate(self, state: Member, step: int, rows: list[dict[str, Any]]) -> Member:
        """Adds what the validation finds to each member's last row, and ends here if it is enough.

        The end is noted before the checkpoint is written, so a run killed in between
        ends at the same step.
        """
        if not self.settings.validate_every or step % self.settings.validate_every:
            return state
        found = self._examined(state)
        loss, exact, _ = found
        for row in rows:
            if row["step"] == step:
                row |= {
                    f"validation_{name}": round(float(column[row["member"]]), 6)
                    for name, column in zip(VALIDATED, found, strict=True)
                }
        goal = self.settings.stop_at
        if goal is not None and step >= self.settings.stop_after and float(exact.min()) >= goal:
            self.end = step
            self.folder.update(ended=step)
        return trainer.improved(state, loss, exact)

    def _examined(self, state: Member) -> tuple[np.ndarray, ...]:
        """What VALIDATED names, of every member, over the tasks, each at its share."""
        models = scoring.Models(state.model, self.layout, self.members)
        found = [scoring.scores(models, exam) for exam in self._validation]
        shares = np.array(self.recipe.shares)[:, None] / self.settings.batch
        columns = (
            [score.loss for score in found],
            [score.right.mean(axis=1) for score in found],
            [score.token_accuracy for score in found],
        )
        return tuple(np.sum(np.array(c) * shares, axis=0).astype(np.float32) for c in columns)

    @cached_property
    def _validation(self) -> list[list[Problem]]:
        return [validation(task, self.settings.validation) for task in self.recipe.tasks]

    def _progress(self, step: int, seconds: float, metrics: Metrics, rate: float) -> Progress:
        loss, exact = (column[:, -BUCKET:].mean(axis=1).tolist() for column in metrics)
        return Progress(step, self.settings.steps, seconds, loss, exact, self.stopped, rate)


def _until_boundary(step: int, settings: Training) -> int:
    """Steps to the next point at which a chunk ends: the same points however a run is cut up."""
    spans = (CHUNK, settings.checkpoint_every, settings.validate_every, settings.history_every)
    return min([span - step % span for span in spans if span] + [settings.steps - step])


def _failures(
    metrics: Metrics, alive: np.ndarray, first: int, known: dict[str, int]
) -> dict[str, int]:
    """Members that have just failed, and the step whose loss was the first not to be finite."""
    failed = {}
    for member in np.flatnonzero(~alive):
        if str(member) not in known:
            bad = ~np.isfinite(metrics.loss[member])
            failed[str(member)] = first + (int(np.argmax(bad)) if bad.any() else len(bad) - 1)
    return failed


def _rows(
    metrics: Metrics, first: int, seconds: float, stopped: dict[str, int]
) -> list[dict[str, Any]]:
    """Lines for metrics.jsonl: means over at most BUCKET steps, null after a member stopped."""
    rows = []
    for start in range(0, metrics.loss.shape[1], BUCKET):
        end = min(start + BUCKET, metrics.loss.shape[1])
        for member in range(len(metrics.loss)):
            over = first + end > stopped.get(str(member), first + end)
            values = [float(column[member, start:end].mean()) for column in metrics]
            loss, exact = (None, None) if over else (round(value, 6) for value in values)
            row = {"step": first + end, "member": member, "loss": loss, "exact": exact}
            rows.append(row | {"seconds": round(seconds, 3)})
    return rows
