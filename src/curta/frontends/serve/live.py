"""The metrics of a run as they are written, and its grids as they fill: what is new to a page."""

import math
import time
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from curta.evaluation import exact_match
from curta.report.figures import band, median_cells
from curta.runs import evaluations, metrics
from curta.runs.folders import Folder
from curta.runs.info import Metric, NamedAnswer

COLUMNS = (
    "step", "member", "loss", "exact_match", "seconds", "validation_loss",
    "validation_exact_match",
)  # fmt: skip

WATCHED = "evaluated "
"""Begins the columns of what is watched."""


@dataclass(frozen=True)
class Named:
    """A member's answers to named problems at a checkpoint, by problem."""

    step: int
    member: int
    answers: dict[str, NamedAnswer]


@dataclass(frozen=True)
class FillingGrid:
    """A grid of `size` rows as far as it is evaluated: the band of each cell's median, by row."""

    operator: str
    size: int
    bands: list[list[int]]


@dataclass(frozen=True)
class News:
    """How far a run is, and its records after a cursor; `idle` are seconds without any.

    A record has a value for each of the columns; what is watched has columns such as
    `evaluated + 20`. `anew` says that it is told from its beginning.
    """

    status: str
    steps: int
    seeds: list[int]
    stopped: dict[int, int]
    evaluated: bool
    idle: float
    columns: tuple[str, ...]
    records: list[list[float | None]]
    cursor: str
    anew: bool
    more: bool
    ended: int | None = None
    named: list[Named] = field(default_factory=list)
    grids: list[FillingGrid] = field(default_factory=list)


def since(path: Path, cursor: str) -> News:
    """What is new after the cursor of the answer before; all for ""."""
    folder = Folder(path)
    info, part = folder.read_info(), metrics.read_since(folder.metrics, cursor)
    watched = list(dict.fromkeys(name for row in part.rows for name in row.evaluated))
    return News(
        status=info.status,
        steps=info.steps,
        seeds=info.seeds,
        stopped=info.stopped,
        evaluated=folder.evaluation.exists(),
        idle=_idle(path),
        columns=(*COLUMNS, *(f"{WATCHED}{name}" for name in watched)),
        records=[_record(row, watched) for row in part.rows],
        cursor=part.cursor,
        anew=part.anew,
        more=part.more,
        ended=info.ended,
        named=[Named(row.step, row.member, row.named) for row in part.rows if row.named],
        grids=_grids(path) if info.status == "evaluating" else [],
    )


def _grids(folder: Path) -> list[FillingGrid]:
    """The grids of a running evaluation, from what it has saved so far."""
    found: dict[str, FillingGrid] = {}
    parts = list(evaluations.read_parts(folder / evaluations.PARTIAL))
    for part in (part for part in parts if part.of == parts[-1].of):
        place = exact_match.grid_place(part.name)
        if place is not None:
            operator, _, size = place
            cells = typing.cast(exact_match.Cells, part.rows)
            (row,) = median_cells([[member] for member in cells])
            grid = found.setdefault(operator, FillingGrid(operator, size, []))
            grid.bands.append([band(share) for share in row])
    return list(found.values())


def _idle(folder: Path) -> float:
    """Seconds since anything was written by the training."""
    written = [folder / name for name in ("run.json", "metrics.jsonl")]
    newest = max(path.stat().st_mtime for path in written if path.exists())
    return round(max(0.0, time.time() - newest), 1)


def _record(row: Metric, watched: Sequence[str]) -> list[float | None]:
    """The columns of a row; None for what is no number, which JSON does not know."""
    values = [getattr(row, name) for name in COLUMNS] + [row.evaluated.get(one) for one in watched]
    return [value if value is not None and math.isfinite(value) else None for value in values]
