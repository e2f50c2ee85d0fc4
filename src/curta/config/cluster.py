"""What a cluster is asked for: the section `[cluster]` of a TOML file, free of JAX.

Every command line has options for its fields, so what checks them is imported when it is needed.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen

from curta.config import files, limits
from curta.config.errors import UserError, quoted, unknown

Line = Annotated[str, MaxLen(limits.LETTERS)]
"""A text on one line: it becomes a line of a script."""

MINUTES = 60 * 24 * 365
"""A year: the longest time limit, in minutes."""
OWN = 90
"""Seconds of its time that a task has to itself, at least: Slurm may give notice a minute early."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """What each task is given, and how runs are divided into tasks."""

    partition: Line = ""
    """Slurm's partition (its default)."""
    account: Line = ""
    """The account that Slurm charges (your default)."""
    time: Annotated[int, Ge(2), Le(MINUTES)] = 60
    """Minutes that Slurm gives a task. What is not done by then is saved and queued again."""
    cores: Annotated[int, Ge(1), Le(limits.PARTS)] | None = None
    """Cores of each task (Slurm: 1; local: an equal share). Each is a device of JAX."""
    gpus: Annotated[int, Ge(0), Le(limits.PARTS)] = 0
    """GPUs of each task."""
    memory: Annotated[float, Ge(0.01), Le(1e6)] | None = None
    """Gigabytes of memory that Slurm gives a task (its default)."""
    parallel: Annotated[int, Ge(1), Le(limits.ENTRIES)] | None = None
    """Tasks at the same time (Slurm: all of them; local: one for each core)."""
    runs: Annotated[int, Ge(1), Le(limits.ENTRIES)] = 8
    """Runs of each of Slurm's tasks, one after the other: starting a task takes seconds."""
    retries: Annotated[int, Ge(0), Le(limits.NAME)] = 1
    """How often a run is tried again that has failed."""
    requeues: Annotated[int, Ge(0), Le(limits.ROWS)] = 100
    """How often a task may go on after its time limit."""
    notice: Annotated[int, Ge(1), Le(limits.ROWS)] = 120
    """Seconds before its time limit at which a task is told to save; a minute more at times."""
    options: Annotated[dict[limits.Name, Line | int | bool], MaxLen(limits.ITEMS)] = (
        dataclasses.field(default_factory=dict)
    )
    """Any further options of Slurm's sbatch by their names: qos = "low"."""
    setup: Annotated[tuple[Line, ...], MaxLen(limits.ITEMS)] = ()
    """Lines of shell that come before the work: "module load cuda"."""

    def __post_init__(self) -> None:
        for name in self.options:
            if not re.fullmatch("[a-z][a-z-]*", name):
                raise UserError(
                    f"cluster.options: {quoted(name)} is no name of an option of sbatch"
                )
        for text in (self.partition, self.account, *self.setup, *map(str, self.options.values())):
            if not text.isprintable():
                raise UserError(f"cluster: {quoted(text)} is no line of letters that are shown")
        most = 60 * self.time - OWN
        if self.notice > most:
            raise UserError(
                f"cluster.notice of {self.notice} seconds is too long for a cluster.time of"
                f" {self.time} minutes: at most {most}"
            )


FIELDS = tuple(field.name for field in dataclasses.fields(Cluster))


def read(path: Path) -> dict[str, Any]:
    """The section `[cluster]` of a TOML file; UserError if there is none."""
    from curta.config.recipe import tables

    where = repr(str(path))
    found = tables(files.read_text(path, where), where)
    for name in (name for name in found if name != "cluster"):
        raise UserError(f"{where}: {unknown('section', name, ['cluster'])}")
    section = found.get("cluster")
    if not isinstance(section, dict):
        raise UserError(f"{where} has no section [cluster]")
    return section


def parse(fields: Mapping[str, Any], where: str) -> Cluster:
    """Check every field; UserError names the first that is wrong."""
    from curta.config.recipe import as_json
    from curta.config.typed import parse_fields

    return parse_fields(Cluster, as_json(fields, where), where, "cluster.")
