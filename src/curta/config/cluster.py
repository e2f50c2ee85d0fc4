"""The resources of a cluster: the section `[cluster]` of a TOML file."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le

from curta.config import files, limits
from curta.config.errors import UserError, unknown

MINUTES = 60 * 24 * 365
"""A year: the longest time limit, in minutes."""
LEAST_WORK = 90
"""Seconds before the notice, at least: Slurm may give it a minute early."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The resources of each task, and how runs are divided into tasks."""

    partition: str = ""
    """Slurm's partition (its default)."""
    account: str = ""
    """The account that Slurm charges (your default)."""
    time: Annotated[int, Ge(2), Le(MINUTES)] = 60
    """Time limit of a task, in minutes. Unfinished work is saved and queued again."""
    cores: Annotated[int, Ge(1), Le(limits.PARTS)] | None = None
    """Cores of each task (Slurm: 1; local: an equal share). Each is a device of JAX."""
    gpus: Annotated[int, Ge(0), Le(limits.PARTS)] = 0
    """GPUs of each task."""
    memory: Annotated[float, Ge(0.01), Le(1e6)] | None = None
    """Memory of a task, in gigabytes (Slurm's default)."""
    parallel: Annotated[int, Ge(1), Le(limits.ENTRIES)] | None = None
    """Simultaneous tasks (Slurm: all; local: one for each core)."""
    runs: Annotated[int, Ge(1), Le(limits.ENTRIES)] = 8
    """Runs of each Slurm task, one after the other, since starting a task takes seconds."""
    retries: Annotated[int, Ge(0), Le(limits.NAME)] = 1
    """How often a failed run is tried again."""
    requeues: Annotated[int, Ge(0), Le(limits.ROWS)] = 100
    """How often a task is queued again after its time limit."""
    notice: Annotated[int, Ge(1), Le(limits.ROWS)] = 120
    """Seconds before the time limit at which a task saves; sometimes a minute earlier."""
    options: dict[str, str | int | bool] = dataclasses.field(default_factory=dict)
    """Further options of Slurm's sbatch by name, such as qos = "low"."""
    setup: tuple[str, ...] = ()
    """Shell commands to run first, such as "module load cuda"."""

    def __post_init__(self) -> None:
        most = 60 * self.time - LEAST_WORK
        if self.notice > most:
            raise UserError(
                f"cluster.notice of {self.notice} seconds is too long for a cluster.time of"
                f" {self.time} minutes: at most {most}"
            )


def read(path: Path) -> dict[str, Any]:
    """Read the section `[cluster]` of a TOML file; UserError if there is none."""
    from curta.config.recipe import tables

    where = repr(str(path))
    sections = tables(files.read_text(path, where), where)
    for name in (name for name in sections if name != "cluster"):
        raise UserError(f"{where}: {unknown('section', name, ['cluster'])}")
    section = sections.get("cluster")
    if not isinstance(section, dict):
        raise UserError(f"{where} has no section [cluster]")
    return section
