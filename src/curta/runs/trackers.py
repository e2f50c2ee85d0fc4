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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from itertools import groupby
from typing import Any

from curta.config.errors import UserError, notify, unknown
from curta.config.registry import optional_module
from curta.evaluation.results import Certificate, Evaluation, operator_and_curve
from curta.problems.operations import OPERATIONS
from curta.runs.folders import Folder
from curta.runs.info import AS_USUAL, Metric, Tracking
from curta.runs.summary import summary_statistics

Results = dict[str, float | str]
"""Figures and facts, such as `evaluation/addition/20/random/seed-0` or `certificate/grade`."""


class Tracker(ABC):
    """A place besides the run's folder for its metrics and results.

    It is opened at a step: 0, or the one at which training resumes, or that of the results.
    """

    name: str
    """On the command line, and of the extra that brings the library."""
    library: str
    takes: tuple[str, ...] = ()
    """The fields of `Tracking` that this tracker uses."""

    @abstractmethod
    def __init__(self, folder: Folder, step: int) -> None:
        """Begin to track a run, or go on with it."""

    @abstractmethod
    def add(self, rows: Sequence[Metric]) -> None:
        """Add rows of some steps, of all members, in the order of the steps."""

    @abstractmethod
    def conclude(self, results: Results) -> None:
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


def evaluation_results(evaluation: Evaluation, seeds: Sequence[int]) -> Results:
    """Return exact match by operator, size and slice, and gaps; the operators must be known."""

    def name(operator: str, size: str, slice_name: str) -> str:
        """Such as `evaluation/division/50-25/random`."""
        return f"evaluation/{OPERATIONS[operator].name}/{cleaned(size)}/{cleaned(slice_name)}"

    figures = {
        name(row.operator, row.size, row.slice_name): row.exact_match for row in evaluation.lengths
    }
    for gap in evaluation.gaps:
        figures[name(gap.operator, gap.problems, "trained")] = gap.trained.exact_match
        figures[name(gap.operator, gap.problems, "held-out")] = gap.held_out.exact_match
        figures[name(gap.operator, gap.problems, "gap")] = gap.gap
    return _over_members(figures, seeds)


def certificate_results(certificate: Certificate, seeds: Sequence[int]) -> Results:
    """Return the grade, whether all is right, and each member's wrong windows and margin."""
    members = certificate.members
    figures: dict[str, list[float | None]] = {
        "certificate/wrong": [member.wrong for member in members],
        "certificate/margin": [member.margin for member in members],
    }
    return _over_members(figures, seeds) | {
        "certificate/grade": certificate.grade,
        "certificate/perfect": certificate.perfect,
        "certificate/windows": certificate.windows,
    }


def _over_members(figures: Mapping[str, Sequence[float | None]], seeds: Sequence[int]) -> Results:
    """Return each member's value, as `NAME/seed-0`, and `median`, `min` and `max` of them."""
    results: Results = {}
    for name, by_member in figures.items():
        statistics = summary_statistics(by_member)
        columns = {f"seed-{s}": v for s, v in zip(seeds, statistics.members, strict=True)}
        columns |= {"median": statistics.median, "min": statistics.min, "max": statistics.max}
        results |= {f"{name}/{key}": v for key, v in columns.items() if v is not None}
    return results


class TensorBoard(Tracker):
    """TensorBoard's event files, by tensorboardX, which needs no TensorFlow.

    They lie in the run's folder, one folder a seed, so that a board lays the seeds over each other:
    `tensorboard --logdir runs`. Figures over all members are in `members`.
    """

    name = "tensorboard"
    library = "tensorboardX"

    def __init__(self, folder: Folder, step: int) -> None:
        self.path, self.seeds, self.step = folder.path, folder.read_info().seeds, step
        again = step + 1  # what a board shows from here on is of a run that was killed
        names = [f"seed-{seed}" for seed in self.seeds]
        self.writers = {name: self._writer(name, purge_step=again) for name in names}

    def _writer(self, name: str, **settings: Any) -> Any:
        """Open a new file: the library's names have seconds only, and it replaces files."""
        folder, suffix = self.path / self.name / name, f".{time.time_ns()}"
        writer = optional_module(self.library, self.name).SummaryWriter
        return writer(str(folder), filename_suffix=suffix, **settings)

    def add(self, rows: Sequence[Metric]) -> None:
        for row in rows:
            for name, value in values(row).items():
                self.writers[f"seed-{self.seeds[row.member]}"].add_scalar(name, value, row.step)
        for writer in self.writers.values():
            writer.flush()

    def conclude(self, results: Results) -> None:
        """Write a member's figures to its own folder; all others, with facts, to `members`."""
        members = self.writers["members"] = self._writer("members")
        for name, value in results.items():
            figure, _, column = name.rpartition("/")
            if column in self.writers:
                self.writers[column].add_scalar(figure, value, self.step)
            elif column in ("median", "min", "max"):
                members.add_scalar(name, value, self.step)
            else:
                members.add_text(name, str(value), self.step)

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

    def __init__(self, folder: Folder, step: int) -> None:
        wandb, info = optional_module(self.library, self.name), folder.read_info()
        self.seeds, settings = info.seeds, info.tracking
        project = settings.project or os.environ.get("WANDB_PROJECT") or "curta"
        team, _, project = project.rpartition("/")
        mode = "online" if settings.online else os.environ.get("WANDB_MODE", "offline")
        try:
            self.run = wandb.init(
                project=project,
                entity=team or None,
                tags=settings.tags or None,
                mode=mode,
                name=folder.name,
                # a later run of the same name is another one
                id=hashlib.sha256(f"{folder.name} {info.created}".encode()).hexdigest()[:16],
                resume="allow",
                dir=str(folder.path),
                config=folder.read_recipe_fields(),
                settings={"silent": True, "console": "off"},
            )
        except wandb.Error as error:
            raise UserError(f"wandb: {error}".partition("\n")[0]) from None

    def add(self, rows: Sequence[Metric]) -> None:
        for step, metrics in by_step(rows, self.seeds):
            self.run.log(metrics, step=step)

    def conclude(self, results: Results) -> None:
        self.run.summary.update(results)

    def close(self) -> None:
        self.run.finish()


class Trackio(Tracker):
    """trackio, on this machine: `trackio show --project curta` draws what it has stored."""

    name = library = "trackio"
    takes = ("project",)

    def __init__(self, folder: Folder, step: int) -> None:
        info = folder.read_info()
        self.seeds, self.step = info.seeds, step
        self.trackio = optional_module(self.library, self.name)
        with redirect_stdout(sys.stderr):  # it prints lines, and a command's output may be JSON
            self.run = self.trackio.init(
                project=info.tracking.project or "curta",
                name=folder.name,
                config=folder.read_recipe_fields(),
                resume="allow",
                embed=False,
            )

    def add(self, rows: Sequence[Metric]) -> None:
        for step, metrics in by_step(rows, self.seeds):
            self.run.log(metrics, step=step)

    def conclude(self, results: Results) -> None:
        self.run.log(results, step=self.step)

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
def opened(names: Sequence[str], folder: Folder, step: int) -> Iterator[list[Tracker]]:
    """Open the trackers of a run, to be closed at the end whatever happens."""
    checked(names)
    with ExitStack() as stack:
        trackers: list[Tracker] = []
        for name in names:
            trackers.append(TRACKERS[name](folder, step))
            stack.callback(trackers[-1].close)
        yield trackers
