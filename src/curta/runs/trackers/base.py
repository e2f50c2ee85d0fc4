"""The contract of a tracker: it is given the rows of metrics.jsonl as they come, and findings."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from curta.evaluation.results import SummaryStatistics, operator_and_curve
from curta.problems.operations import OPERATIONS
from curta.runs.info import Metric, Tracking


@dataclass(frozen=True)
class Tracked:
    """What a tracker knows of a run: `settings` is its recipe, `step` where it begins or resumes.

    `created` is when the run was, by which it is told from an earlier one of its name.
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
    """What was found of the members, by names such as `evaluation/addition/20/random`.

    `figures` have a value for each member, `facts` one for all of them together.
    """

    figures: dict[str, SummaryStatistics]
    facts: dict[str, str | int]


class Tracker(ABC):
    """Something besides the run's folder that keeps what is known of it. Registered by its name."""

    name: str
    """On the command line, and of the extra that brings the library."""
    library: str
    takes: tuple[str, ...] = ()
    """The fields of `Tracking` that this tracker uses."""

    @abstractmethod
    def __init__(self, run: Tracked) -> None:
        """Begins to track a run, or goes on with it."""

    @abstractmethod
    def add(self, rows: Sequence[Metric]) -> None:
        """Rows of some steps, of all members, in the order of the steps."""

    @abstractmethod
    def conclude(self, found: Findings) -> None:
        """What was found at the step of the beginning; the same may come again."""

    @abstractmethod
    def close(self) -> None:
        """Nothing will follow, for now."""


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
    """A part of a name, for boards: they group by `/`, and know few other signs.

    >>> cleaned("50/25"), cleaned("held out, plain")
    ('50-25', 'held-out-plain')
    """
    return re.sub(r"\W+", "-", part, flags=re.ASCII)


def by_step(rows: Sequence[Metric], seeds: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """For each step all members' metrics, named such as `loss/seed-0`."""
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
    """Each member's value, named such as `seed-0`, and `median`, `min` and `max` of them."""
    members = {f"seed-{seed}": value for seed, value in zip(seeds, figure.members, strict=True)}
    every = members | {"median": figure.median, "min": figure.min, "max": figure.max}
    return {name: value for name, value in every.items() if value is not None}


def flat(found: Findings, seeds: Sequence[int]) -> dict[str, float | str]:
    """Everything that was found, a figure's columns named such as `certificate/wrong/seed-0`."""
    return found.facts | {
        f"{name}/{column}": value
        for name, figure in found.figures.items()
        for column, value in columns(figure, seeds).items()
    }
