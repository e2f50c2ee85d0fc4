"""The contract of a tracker: it is given the rows of metrics.jsonl as they come, and closed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from curta.runs.results import Metric


@dataclass(frozen=True)
class Tracked:
    """What a tracker is told of a run: `settings` is its recipe, `step` that of its beginning."""

    name: str
    path: Path
    seeds: Sequence[int]
    settings: dict[str, Any]
    step: int


class Tracker(ABC):
    """Something besides metrics.jsonl that keeps a run's metrics. Registered by its name."""

    name: str
    """On the command line, and of the extra that brings the library."""
    library: str

    @abstractmethod
    def __init__(self, run: Tracked) -> None:
        """Begins to track a run, or goes on with it."""

    @abstractmethod
    def add(self, rows: Sequence[Metric]) -> None:
        """Rows of some steps, of all members, in the order of the steps."""

    @abstractmethod
    def close(self) -> None:
        """No rows will follow, for now."""


def values(row: Metric) -> dict[str, float]:
    """The metrics of a row; a member that has stopped has none."""
    rest = {name: value for name, value in vars(row).items() if name not in ("step", "member")}
    return {name: float(value) for name, value in rest.items() if value is not None}


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
