"""Trackers: where metrics and results go besides the run's folder.

A tracker receives the rows of metrics.jsonl as they come, and the results of evaluations and
certificates. A new one is a class here and a name in TRACKERS.
"""

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from itertools import groupby
from typing import Any

from curta.config.errors import UserError, notify, optional_module, refuse_if, unknown
from curta.evaluation.results import Certificate, Evaluation, operator_and_curve
from curta.problems.operations import OPERATIONS
from curta.runs.folders import Folder
from curta.runs.info import AS_USUAL, Metric, Tracking, summary_statistics

Results = dict[str, float | str]
"""Figures and facts, such as `evaluation/addition/20/random/seed-0` or `certificate/grade`."""


class Tracker:
    """A place besides the run's folder for its metrics and results.

    It is opened at a step: 0, or the one at which training resumes, or that of the results.
    """

    name: str
    """On the command line, and of the extra that brings the library."""
    library: str
    takes: tuple[str, ...] = ()
    """The fields of `Tracking` that this tracker uses."""

    def __init__(self, folder: Folder, step: int) -> None:
        self.folder, self.info, self.step = folder, folder.read_info(), step
        self.open()

    def add(self, rows: Sequence[Metric]) -> None:
        """Add rows of some steps, of all members, in the order of the steps."""
        for step, members in groupby(rows, key=lambda row: row.step):
            metrics: Results = {
                f"{name}/seed-{self.info.seeds[row.member]}": value
                for row in members
                for name, value in values(row).items()
            }
            self.log(metrics, step)

    def open(self) -> None:
        """Begin to track the run, or go on with it."""

    def log(self, results: Results, step: int) -> None:
        """Add values of one step."""
        raise NotImplementedError

    def conclude(self, results: Results) -> None:
        """Add results of the step at which it was opened; the same may come again."""
        self.log(results, self.step)

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


def evaluation_results(evaluation: Evaluation, seeds: Sequence[int]) -> Results:
    """Return exact match by operator, size and slice, such as `evaluation/division/50-25/random`.

    With gaps; the operators must be known.
    """
    rows = [(row.operator, row.size, row.slice_name, row.exact_match) for row in evaluation.lengths]
    for gap in evaluation.gaps:
        for slice_name, shares in (
            ("trained", gap.trained.exact_match),
            ("held-out", gap.held_out.exact_match),
            ("gap", gap.gap),
        ):
            rows.append((gap.operator, gap.problems, slice_name, shares))
    figures = {
        f"evaluation/{OPERATIONS[operator].name}/{cleaned(size)}/{cleaned(slice_name)}": shares
        for operator, size, slice_name, shares in rows
    }
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

    def open(self) -> None:
        self.writers: dict[str, Any] = {}

    def _writer(self, column: str) -> Any:
        """Open a file of a seed or of all; what a board has of later steps is of a killed run."""
        if column not in self.writers:
            self.writers[column] = optional_module(self.library, self.name).SummaryWriter(
                str(self.folder.path / self.name / column),
                purge_step=self.step + 1 if column != "members" else None,
                # the library's names have seconds only, and it replaces files
                filename_suffix=f".{time.time_ns()}",
            )
        return self.writers[column]

    def log(self, results: Results, step: int) -> None:
        for name, value in results.items():
            figure, _, column = name.rpartition("/")
            if column.startswith("seed-"):
                self._writer(column).add_scalar(figure, value, step)
            elif column in ("median", "min", "max"):
                self._writer("members").add_scalar(name, value, step)
            else:
                self._writer("members").add_text(name, str(value), step)
        for writer in self.writers.values():
            writer.flush()

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

    def open(self) -> None:
        wandb, settings = optional_module(self.library, self.name), self.info.tracking
        project = settings.project or os.environ.get("WANDB_PROJECT") or "curta"
        team, _, project = project.rpartition("/")
        of_run = f"{self.folder.name} {self.info.created}"  # a later run of that name is another
        try:
            self.run = wandb.init(
                project=project,
                entity=team or None,
                tags=settings.tags or None,
                mode="online" if settings.online else os.environ.get("WANDB_MODE", "offline"),
                name=self.folder.name,
                id=hashlib.sha256(of_run.encode()).hexdigest()[:16],
                resume="allow",
                dir=str(self.folder.path),
                config=self.folder.read_recipe_fields(),
                settings={"silent": True, "console": "off"},
            )
        except wandb.Error as error:
            raise UserError(f"wandb: {error}".partition("\n")[0]) from None

    def log(self, results: Results, step: int) -> None:
        self.run.log(results, step=step)

    def conclude(self, results: Results) -> None:
        self.run.summary.update(results)

    def close(self) -> None:
        self.run.finish()


class Trackio(Tracker):
    """trackio, on this machine: `trackio show --project curta` draws what it has stored."""

    name = library = "trackio"
    takes = ("project",)

    def open(self) -> None:
        self.trackio = optional_module(self.library, self.name)
        with redirect_stdout(sys.stderr):  # it prints lines, and a command's output may be JSON
            self.run = self.trackio.init(
                project=self.info.tracking.project or "curta",
                name=self.folder.name,
                config=self.folder.read_recipe_fields(),
                resume="allow",
                embed=False,
            )

    def log(self, results: Results, step: int) -> None:
        self.run.log(results, step=step)

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
        refuse_if(chosen.count(name) > 1, f"tracker {name!r} is named twice")
        optional_module(TRACKERS[name].library, name)
    for field, value in vars(tracking).items():
        users = [name for name, tracker in TRACKERS.items() if field in tracker.takes]
        if value and not set(users) & set(chosen):
            raise UserError(f"--{field} is for --track {' or '.join(users)}")
    return chosen


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


def conclude(folder: Folder, step: int, results: Results) -> None:
    """Pass results of the weights of a step to the run's trackers.

    A line names a tracker whose library is not here: a run may be evaluated elsewhere than it was
    trained.
    """
    for name in folder.read_info().track:
        try:
            checked([name])
        except UserError as error:
            notify(f"{name} does not receive the results: {error}")
            continue
        with opened([name], folder, step) as (tracker,):
            tracker.conclude(results)
