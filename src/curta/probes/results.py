"""A probe's table in a run's folder: probes/NAME.json is a `ProbeTable` as JSON."""

from dataclasses import dataclass
from typing import Any, ClassVar

from curta.config import files, typed
from curta.probes.pictures import Picture
from curta.runs import ownership
from curta.runs.folders import Folder


@dataclass(frozen=True)
class ProbeTable:
    """The finding of one probe: a table, and a picture as data.

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


def save(folder: Folder, table: ProbeTable) -> None:
    """Write the table into the run's folder."""
    with ownership.owned(folder.path):
        files.write(folder.probes / f"{table.probe}.json", typed.text(table))


def read(folder: Folder) -> dict[str, ProbeTable]:
    """Return the tables of a run by the names of the probes."""
    paths = sorted(folder.probes.glob("*.json"))
    where = f"run {folder.name!r}"
    return {
        path.stem: typed.read(ProbeTable, path, f"probe {path.stem!r} of {where}") for path in paths
    }
