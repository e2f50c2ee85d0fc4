"""The contract of a probe: an examination of what the members of a run have learned.

A probe is a frozen dataclass. Its fields are its options, on the command line and in Python;
`about` and `unfit` say which runs and tasks it can examine; `examine` returns a `Finding`: a
table, and a picture described as data. A probe never trains, and draws its problems with a seed
that its table states. Modules of probes do not import JAX, so that listing them is instant: the
`Subject` brings the models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from curta.config.errors import UserError
from curta.config.limits import INT32, PROBLEMS
from curta.probes.pictures import Panel, Picture

if TYPE_CHECKING:
    from curta.config.recipe import Recipe
    from curta.config.task import Task
    from curta.probes.subject import Subject

Shares = Float[np.ndarray, " members"]

Row = dict[str, Any]
"""A value for each column of a probe's table."""

STATISTICS = ("median", "min", "max", "members")
"""The columns of `summary_statistics`."""

CARRIES = {"+": "carry", "-": "borrow"}
"""What a digit position passes to the next one, by operator."""


class Finding(NamedTuple):
    """A probe's table and picture; every row has a value for each column."""

    columns: tuple[str, ...]
    rows: list[Row]
    picture: Picture | None
    notes: tuple[str, ...] = ()


def option(default: Any, says: str, kind: type = int, least: int = 1, most: int = PROBLEMS) -> Any:
    """Return a dataclass field that is an option, with its help text, type and bounds."""
    about = {"says": says, "kind": kind, "least": least, "most": most}
    return field(default=default, metadata=about)


def seed_option(says: str = "seed of the problems") -> Any:
    """Return an option for a seed."""
    return option(1, says, least=0, most=INT32)


@dataclass(frozen=True)
class Probe(ABC):
    """One examination. Raises UserError for an option outside its bounds."""

    name: ClassVar[str]
    summary: ClassVar[str]
    scope: ClassVar[str] = "any operation"
    """What the probe can examine, for error messages."""
    token_by_token: ClassVar[bool] = False
    """Whether it needs predictions after tokens of the answer, which an encoder never sees."""

    def __post_init__(self) -> None:
        for option_field in fields(self):
            value, least = getattr(self, option_field.name), option_field.metadata["least"]
            most = option_field.metadata["most"]
            if isinstance(value, int) and value < least:
                raise UserError(f"{option_field.name} must be at least {least}, not {value}")
            if isinstance(value, int) and value > most:
                raise UserError(f"{option_field.name} must be at most {most:,}, not {value:,}")

    @classmethod
    def about(cls, task: Task) -> bool:
        """Return whether it can examine problems of this task."""
        return True

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        """Return why it cannot examine models of this recipe; None if it can."""
        if cls.token_by_token and not recipe.model.causal:
            return "a model that writes all tokens at once"
        return None

    @abstractmethod
    def examine(self, subject: Subject) -> Finding:
        """Return the finding for the members of a run."""


class TaskFinding(NamedTuple):
    """The finding for one task; its rows need no operator."""

    rows: list[Row]
    panels: list[Panel]
    notes: tuple[str, ...] = ()


class TaskProbe(Probe):
    """A probe that examines one task after the other, with the same columns."""

    columns: ClassVar[tuple[str, ...]]
    """After the first column, `operator`."""
    shows: ClassVar[str]
    """The caption of its picture."""

    @abstractmethod
    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return the finding for one task."""

    def examine(self, subject: Subject) -> Finding:
        by_task = [self.examine_task(subject, task) for task in subject.tasks]
        rows = [
            {"operator": task.operator} | row
            for task, finding in zip(subject.tasks, by_task, strict=True)
            for row in finding.rows
        ]
        panels = [panel for finding in by_task for panel in finding.panels]
        notes = dict.fromkeys(note for finding in by_task for note in finding.notes)
        return Finding(
            ("operator", *self.columns), rows, {"shows": self.shows, "panels": panels}, tuple(notes)
        )


def summary_statistics(values: Sequence[float] | Shares | None) -> Row:
    """Return median, minimum and maximum over the members, and each member's value.

    All are None if the model has no positions for the problems.
    """
    if values is None:
        return dict.fromkeys(STATISTICS)
    every = [round(float(value), 6) for value in values]
    return {"median": median(every), "min": min(every), "max": max(every), "members": every}
