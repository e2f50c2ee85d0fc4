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

from curta.config import typed
from curta.config.errors import UserError
from curta.config.limits import INT32, PROBLEMS
from curta.probes.pictures import Panel, Picture
from curta.runs.folders import Folder

if TYPE_CHECKING:
    from curta.config.recipe import Recipe
    from curta.config.task import Task
    from curta.probes.subject import Subject

Shares = Float[np.ndarray, " members"]

Row = dict[str, Any]
"""A value for each column of a probe's table."""

CARRIES = {"+": "carry", "-": "borrow"}
"""What a digit position passes to the next one, by operator."""


class Finding(NamedTuple):
    """A probe's table and picture; every row has a value for each column."""

    columns: Sequence[str]
    rows: list[Row]
    picture: Picture | None
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls, rows: list[Row], shows: str, panels: Sequence[Panel], notes: Sequence[str] = ()
    ) -> Finding:
        """Return a finding with the columns of its rows, and panels that `shows` describes."""
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        return cls(columns, rows, {"shows": shows, "panels": list(panels)}, notes)


def option(
    default: Any,
    says: str,
    kind: type = int,
    least: int = 1,
    most: int = PROBLEMS,
    choices: Sequence[str] = (),
) -> Any:
    """Return a dataclass field that is an option: its help text, type, and bounds or `choices`."""
    about = {"says": says, "kind": kind, "least": least, "most": most, "choices": choices}
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
            name, about = option_field.name, option_field.metadata
            value, least, most = getattr(self, name), about["least"], about["most"]
            if about["choices"] and value not in about["choices"]:
                raise UserError(f"{name} must be {' or '.join(about['choices'])} (got {value!r})")
            if isinstance(value, int) and value < least:
                raise UserError(f"{name} must be at least {least} (got {value})")
            if isinstance(value, int) and value > most:
                raise UserError(f"{name} must be at most {most:,} (got {value:,})")

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
    panels: Sequence[Panel]
    notes: Sequence[str] = ()


class TaskProbe(Probe):
    """A probe that examines one task after the other, with the same columns."""

    shows: ClassVar[str]
    """The caption of its picture."""
    nothing: ClassVar[str] = ""
    """The error where there are no rows; `{layout}` stands for the layout's title."""

    @abstractmethod
    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return the finding for one task."""

    def examine(self, subject: Subject) -> Finding:
        rows, panels, notes = list[Row](), list[Panel](), dict[str, None]()
        for task in subject.tasks:
            finding = self.examine_task(subject, task)
            rows += [{"operator": task.operator} | row for row in finding.rows]
            panels += finding.panels
            notes |= dict.fromkeys(finding.notes)
        if not rows and self.nothing:
            raise UserError(self.nothing.format(layout=subject.layout.title))
        return Finding.of(rows, self.shows, panels, tuple(notes))


def summary_statistics(values: Sequence[float] | Shares | None) -> Row:
    """Return median, minimum and maximum over the members, and each member's value.

    All are None if the model has no positions for the problems.
    """
    if values is None:
        return dict.fromkeys(("median", "min", "max", "members"))
    every = [round(float(value), 6) for value in values]
    return {"median": median(every), "min": min(every), "max": max(every), "members": every}


@dataclass(frozen=True)
class ProbeTable:
    """The finding of one probe, as probes/NAME.json has it: a table, and a picture as data.

    `step` is that of the examined checkpoint. Every row has a value for each column.
    """

    FORMAT: ClassVar[int] = 2
    REMEDY: ClassVar[str] = "put the probe anew"

    probe: str
    summary: str
    step: int
    members: list[int]
    options: dict[str, Any]
    notes: list[str]
    columns: list[str]
    rows: list[dict[str, Any]]
    picture: Picture | None


def read_probes(folder: Folder) -> dict[str, ProbeTable]:
    """Return the tables of a run by the names of the probes."""
    return {
        path.stem: typed.read(ProbeTable, path, f"probe {path.stem!r} of run {folder.name!r}")
        for path in sorted(folder.probes.glob("*.json"))
    }
