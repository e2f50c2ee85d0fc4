"""Trackers: where metrics and results go besides the run's folder.

A tracker receives the rows of metrics.jsonl as they come, and the results of evaluations and
certificates. A new one is a class here and a name in TRACKERS.
"""

import hashlib
import os
import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from curta.config.errors import UserError, notify, unknown
from curta.config.registry import optional_module
from curta.evaluation.results import (
    Certificate,
    Evaluation,
    SummaryStatistics,
    operator_and_curve,
)
from curta.problems.operations import OPERATIONS
from curta.runs.info import AS_USUAL, Metric, Tracking
from curta.runs.summary import summary_statistics


@dataclass(frozen=True)
class Tracked:
    """A run for a tracker: `settings` is its recipe, `step` where it begins or resumes.

    `created` distinguishes it from an earlier run of the same name.
    """

    name: str
    created: str
    path: Path
    seeds: Sequence[int]
    settings: dict[str, Any]
    step: int
    tracking: Tracking = Tracking()


@dataclass(frozen=True)
class Findings:
    """Results of the members, by names such as `evaluation/addition/20/random`.

    `figures` have a value for each member, `facts` one for all of them together.
    """

    figures: dict[str, SummaryStatistics]
    facts: dict[str, str | int]


class Tracker(ABC):
    """A place besides the run's folder for its metrics and results."""

    name: str
    """On the command line, and of the extra that brings the library."""
    library: str
    takes: tuple[str, ...] = ()
    """The fields of `Tracking` that this tracker uses."""

    @abstractmethod
    def __init__(self, run: Tracked) -> None:
        """Begin to track a run, or go on with it."""

    @abstractmethod
    def add(self, rows: Sequence[Metric]) -> None:
        """Add rows of some steps, of all members, in the order of the steps."""

    @abstractmethod
    def conclude(self, findings: Findings) -> None:
        """Add results of the step at which it was opened; the same may come again."""

    @abstractmethod
    def close(self) -> None:
        """Finish: nothing follows for now."""


def values(row: Metric) -> dict[str, float]:
    """Return the metrics of a row; a member that has stopped has none.

    What was watched has names such as `evaluated/addition/held-out`, and the exact match of an
    operator in a validation is `validation/addition`.
    """
    metrics = {
        name: float(value)
        for name, value in vars(row).items()
        if isinstance(value, int | float) and name not in ("step", "member")
    }
    for symbol, share in row.validation_by_operator.items():
        metrics[f"validation/{OPERATIONS[symbol].name}"] = share
    for watched, share in row.evaluated.items():
        operator, problems = operator_and_curve(watched)
        metrics[f"evaluated/{OPERATIONS[operator].name}/{cleaned(problems)}"] = share
    return metrics


def cleaned(part: str) -> str:
    """Return part of a name, for boards: they group by `/`, and accept few other characters.

    >>> cleaned("50/25"), cleaned("held out, plain")
    ('50-25', 'held-out-plain')
    """
    return re.sub(r"\W+", "-", part, flags=re.ASCII)


def by_step(rows: Sequence[Metric], seeds: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield all members' metrics of each step, named such as `loss/seed-0`."""
    for step, members in groupby(rows, key=lambda row: row.step):
        yield (
            step,
            {
                f"{name}/seed-{seeds[row.member]}": value
                for row in members
                for name, value in values(row).items()
            },
        )


def columns(figure: SummaryStatistics, seeds: Sequence[int]) -> dict[str, float]:
    """Return each member's value, named such as `seed-0`, and `median`, `min` and `max` of them."""
    members = {f"seed-{seed}": value for seed, value in zip(seeds, figure.members, strict=True)}
    every = members | {"median": figure.median, "min": figure.min, "max": figure.max}
    return {name: value for name, value in every.items() if value is not None}


def flat(findings: Findings, seeds: Sequence[int]) -> dict[str, float | str]:
    """Return all results, a figure's columns named such as `certificate/wrong/seed-0`."""
    return findings.facts | {
        f"{name}/{column}": value
        for name, figure in findings.figures.items()
        for column, value in columns(figure, seeds).items()
    }


def evaluation_findings(evaluation: Evaluation) -> Findings:
    """Return exact match by operator, size and slice, and gaps; the operators must be known."""

    def name(operator: str, size: str, slice_name: str) -> str:
        """Such as `evaluation/division/50-25/random`."""
        return f"evaluation/{OPERATIONS[operator].name}/{cleaned(size)}/{cleaned(slice_name)}"

    figures = {
        name(row.operator, row.size, row.slice_name): summary_statistics(row.exact_match)
        for row in evaluation.lengths
    }
    for gap in evaluation.gaps:
        for slice_name, shares in (
            ("trained", gap.trained.exact_match),
            ("held-out", gap.held_out.exact_match),
            ("gap", gap.gap),
        ):
            figures[name(gap.operator, gap.problems, slice_name)] = summary_statistics(shares)
    return Findings(figures, {})


def certificate_findings(certificate: Certificate) -> Findings:
    """Return the grade, whether all is right, and each member's wrong windows and margin."""
    members = certificate.members
    figures = {
        "certificate/wrong": summary_statistics([member.wrong for member in members]),
        "certificate/margin": summary_statistics([member.margin for member in members]),
    }
    facts: dict[str, str | int] = {
        "certificate/grade": certificate.grade,
        "certificate/perfect": certificate.perfect,
        "certificate/windows": certificate.windows,
    }
    return Findings(figures, facts)


class TensorBoard(Tracker):
    """TensorBoard's event files, by tensorboardX, which needs no TensorFlow.

    They lie in the run's folder, one folder a seed, so that a board lays the seeds over each other:
    `tensorboard --logdir runs`. Figures over all members are in `members`.
    """

    name = "tensorboard"
    library = "tensorboardX"

    def __init__(self, run: Tracked) -> None:
        self.run = run
        again = run.step + 1  # what a board shows from here on is of a run that was killed
        names = [f"seed-{seed}" for seed in run.seeds]
        self.writers = {name: self._writer(name, purge_step=again) for name in names}

    def _writer(self, name: str, **settings: Any) -> Any:
        """Open a new file: the library's names have seconds only, and it replaces files."""
        folder, suffix = self.run.path / self.name / name, f".{time.time_ns()}"
        writer = optional_module(self.library, self.name).SummaryWriter
        return writer(str(folder), filename_suffix=suffix, **settings)

    def add(self, rows: Sequence[Metric]) -> None:
        for row in rows:
            for name, value in values(row).items():
                self.writers[f"seed-{self.run.seeds[row.member]}"].add_scalar(name, value, row.step)
        for writer in self.writers.values():
            writer.flush()

    def conclude(self, findings: Findings) -> None:
        members = self.writers["members"] = self._writer("members")
        for name, figure in findings.figures.items():
            for column, value in columns(figure, self.run.seeds).items():
                if column in self.writers:
                    self.writers[column].add_scalar(name, value, self.run.step)
                else:
                    members.add_scalar(f"{name}/{column}", value, self.run.step)
        for name, fact in findings.facts.items():
            members.add_text(name, str(fact), self.run.step)

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()


class WandB(Tracker):
    """Weights & Biases, offline unless the run is tracked online.

    Offline, its files lie in the run's folder until `wandb sync` sends them. Each process, and each
    stage after training, writes a file; all have one id, so that they become one run.
    """

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

    def conclude(self, findings: Findings) -> None:
        self.run.summary.update(flat(findings, self.seeds))

    def close(self) -> None:
        self.run.finish()


class Trackio(Tracker):
    """trackio, on this machine: `trackio show --project curta` draws what it has stored."""

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

    def conclude(self, findings: Findings) -> None:
        self.run.log(flat(findings, self.seeds), step=self.step)

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self.trackio.finish()


TRACKERS: dict[str, type[Tracker]] = {
    tracker.name: tracker for tracker in (TensorBoard, WandB, Trackio)
}


def checked(names: str | Sequence[str], tracking: Tracking = AS_USUAL) -> list[str]:
    """Return the names of trackers, in one text or several.

    Raises UserError if one is unknown or not installed, or none of them uses what `tracking` sets.
    """
    chosen = names.split(",") if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in TRACKERS:
            raise unknown("tracker", name, TRACKERS)
        if chosen.count(name) > 1:
            raise UserError(f"tracker {name!r} is named twice")
        optional_module(TRACKERS[name].library, name)
    for field, value in vars(tracking).items():
        users = [name for name, tracker in TRACKERS.items() if field in tracker.takes]
        if value and not set(users) & set(chosen):
            raise UserError(f"--{field} is for --track {' or '.join(users)}")
    return chosen


def installed(names: Sequence[str]) -> list[str]:
    """Return those whose library is here; a line tells that the others are given nothing.

    A run may be evaluated elsewhere than it was trained, and that is not to be refused.
    """
    usable = []
    for name in names:
        try:
            usable += checked([name])
        except UserError as error:
            notify(f"{name} is not given what was found: {error}")
    return usable


@contextmanager
def opened(names: Sequence[str], run: Tracked) -> Iterator[list[Tracker]]:
    """Open the trackers of a run, to be closed at the end whatever happens."""
    checked(names)
    with ExitStack() as stack:
        trackers = list[Tracker]()
        for name in names:
            tracker = TRACKERS[name](run)
            stack.callback(tracker.close)
            trackers.append(tracker)
        yield trackers
