"""The interface of a probe, which examines what the members of a run have learned.

A probe is a frozen dataclass. Its fields are its options, on the command line and in Python. The
methods `about` and `unfit` say which tasks and models it can examine. `examine` returns a
`Finding`: a table, and a picture described as data. A probe never trains, and its table states the
seed of its problems. Modules of probes do not import JAX, so that listing them is instant; the
`Subject` provides the models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from curta.config import typed
from curta.config.errors import UserError
from curta.config.limits import INT32, PROBLEMS
from curta.evaluation.statistics import Range, range_of
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
    """The result of a probe: a table and a picture."""

    columns: Sequence[str]
    """The names of the table's columns, in order."""
    rows: list[Row]
    """The rows; each has a value for every column."""
    picture: Picture | None
    """The picture as data, which reports draw; None for a table alone."""
    notes: Sequence[str] = ()
    """Sentences to print below the table."""

    @classmethod
    def of(
        cls, rows: list[Row], shows: str, panels: Sequence[Panel], notes: Sequence[str] = ()
    ) -> Finding:
        """Return a finding whose columns are the keys of its rows.

        Args:
            rows: The rows of the table.
            shows: Caption of the picture.
            panels: Panels of the picture.
            notes: Sentences to print below the table.
        """
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
    """Declare an option of a probe, as a field of its dataclass.

    Example::

        count: int = curta.option(200, "problems of each kind", most=10_000)

    Args:
        default: Default value.
        says: Help text.
        kind: Type of the value.
        least: Smallest number allowed.
        most: Largest number allowed.
        choices: The only values allowed; none means any within the bounds.
    """
    about = {"says": says, "kind": kind, "least": least, "most": most, "choices": choices}
    return field(default=default, metadata=about)


def seed_option(says: str = "seed of the problems") -> Any:
    """Return an option for a seed."""
    return option(1, says, least=0, most=INT32)


@dataclass(frozen=True)
class Probe(ABC):
    """Base class of probes, which examine the members of a run.

    A probe is a frozen dataclass in its own Python file; `curta probe` takes the file's path. It
    sets `name` and `summary` and implements `examine`; its fields are options.

    Example::

        @dataclass(frozen=True)
        class Longest(curta.Probe):
            name: ClassVar[str] = "longest"
            summary: ClassVar[str] = "exact match on sums of many digits"
            digits: int = curta.option(100, "digits of both operands")

            def examine(self, subject):
                nines = "9" * self.digits
                right = subject.exact_match([subject.problem(f"{nines}+1")])
                rows = [{"member": n, "right": bool(row[0])} for n, row in enumerate(right)]
                return curta.Finding(("member", "right"), rows, None)

    Raises:
        UserError: An option is outside its bounds.
    """

    name: ClassVar[str]
    """The name on the command line."""
    summary: ClassVar[str]
    """One line for lists of probes."""
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
        """Return whether the probe can examine problems of a task; by default, of any."""
        return True

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        """Return why the probe cannot examine models of a recipe, or None if it can."""
        if cls.token_by_token and not recipe.model.causal:
            return "a model that writes all tokens at once"
        return None

    @abstractmethod
    def examine(self, subject: Subject) -> Finding:
        """Examine the members of a run.

        Args:
            subject: The members, with methods to draw problems and score them.
        """


class TaskFinding(NamedTuple):
    """The result of a probe for one task."""

    rows: list[Row]
    """The rows of the table, without the operator."""
    panels: Sequence[Panel]
    """The panels of the picture."""
    notes: Sequence[str] = ()
    """Sentences to print below the table."""


class TaskProbe(Probe):
    """A probe that examines each task of a run separately, with the same columns."""

    shows: ClassVar[str]
    """The caption of its picture."""
    nothing: ClassVar[str] = ""
    """The error if there are no rows; `{layout}` stands for the layout's title."""

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


def summary_columns(values: Sequence[float] | Shares | None) -> Row:
    """Return median, minimum and maximum over the members, and each member's value.

    All are None if the model has no positions for the problems.
    """
    if values is None:
        return dict.fromkeys((*Range._fields, "members"))
    members = [round(float(value), 6) for value in values]
    return {**range_of(members)._asdict(), "members": members}


@dataclass(frozen=True)
class ProbeTable:
    """The result of a probe, as saved in probes/NAME.json: a table, and a picture as data."""

    FORMAT: ClassVar[int] = 2
    REMEDY: ClassVar[str] = "run the probe again"

    probe: str
    """The name of the probe."""
    summary: str
    """What it shows, in one line."""
    step: int
    """The step of the checkpoint that was examined."""
    members: list[int]
    """The numbers of the members that were examined."""
    options: dict[str, Any]
    """The value of every option."""
    notes: list[str]
    """Sentences to print below the table."""
    columns: list[str]
    """The names of the columns, in order."""
    rows: list[dict[str, Any]]
    """The rows; each has a value for every column."""
    picture: Picture | None
    """The picture as data; None for a table alone."""


def read_probes(folder: Folder) -> dict[str, ProbeTable]:
    """Return the saved tables of a run's probes, by name of the probe."""
    return {
        path.stem: typed.read(ProbeTable, path, f"probe {path.stem!r} of run {folder.name!r}")
        for path in sorted(folder.probes.glob("*.json"))
    }
