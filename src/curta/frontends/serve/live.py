"""The metrics of a run as they are written, and its grids as they fill: what is new to a page."""

import math
import time
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from curta.config.errors import UserError
from curta.evaluation import exact_match
from curta.evaluation.certificate import window_texts
from curta.frontends.serve import listing
from curta.layouts.program import ProgramLayout
from curta.problems.problem import answer_text, parse
from curta.programs.machine import store
from curta.report.certificate import headline
from curta.report.figures import band, median_cells
from curta.report.summary import counted, percent
from curta.runs import evaluations, metrics
from curta.runs.folders import Folder
from curta.runs.info import Metric, NamedAnswer
from curta.training import windows as training_windows

COLUMNS = (
    "step", "member", "loss", "exact_match", "seconds", "validation_loss",
    "validation_exact_match", "validation_token_accuracy", "learning_rate",
)  # fmt: skip

WATCHED, VALIDATED = "evaluated ", "validated "
"""Begin the columns of what is watched, and of each operator in a validation."""


@dataclass(frozen=True)
class Named:
    """A member's answers to named problems at a checkpoint, by problem."""

    step: int
    member: int
    answers: dict[str, NamedAnswer]


@dataclass(frozen=True)
class WindowsRight:
    """The first member's windows at a validation: a bit for each of `windows`, in base64."""

    step: int
    bits: str


@dataclass(frozen=True)
class Ended:
    """What came of a finished run, in a sentence, and whether it calculates in a page."""

    verdict: str
    exact: bool
    calculates: bool


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
    truths: dict[str, str] = field(default_factory=dict)
    """The right answers to the named problems, of operators that Curta knows."""
    windows: list[WindowsRight] = field(default_factory=list)
    at_end: Ended | None = None
    grids: list[FillingGrid] = field(default_factory=list)


def since(path: Path, cursor: str) -> News:
    """What is new after the cursor of the answer before; all for ""."""
    folder = Folder(path)
    info, part = folder.read_info(), metrics.read_since(folder.metrics, cursor)
    watched = list(dict.fromkeys(name for row in part.rows for name in row.evaluated))
    validated = (name for row in part.rows for name in row.validation_by_operator)
    operators = list(dict.fromkeys(validated))
    return News(
        status=info.status,
        steps=info.steps,
        seeds=info.seeds,
        stopped=info.stopped,
        evaluated=folder.evaluation.exists(),
        idle=_idle(path),
        columns=(
            *COLUMNS,
            *(f"{WATCHED}{name}" for name in watched),
            *(f"{VALIDATED}{name}" for name in operators),
        ),
        records=[_record(row, watched, operators) for row in part.rows],
        cursor=part.cursor,
        anew=part.anew,
        more=part.more,
        ended=info.ended,
        named=[Named(row.step, row.member, row.named) for row in part.rows if row.named],
        truths={name: truth for row in part.rows for name in row.named if (truth := _truth(name))},
        windows=[
            WindowsRight(row.step, row.windows_right)
            for row in part.rows
            if row.windows_right and not row.member
        ],
        at_end=_at_end(folder) if info.status == "finished" else None,
        grids=_grids(path) if info.status == "evaluating" else [],
    )


@lru_cache(4096)
def _truth(text: str) -> str:
    """The right answer to a problem; "" where its operator is not Curta's own."""
    try:
        problem = parse(text)
        return answer_text(problem.truth, problem.answer_base)
    except UserError:
        return ""


def _at_end(folder: Folder) -> Ended:
    certificate, row = folder.read_certificate(), listing.row((folder.name,), folder.path)
    line = "Training is finished."
    if certificate is not None:
        line = headline(certificate)
    elif row.evaluated is not None:
        share, tests = percent(row.evaluated), counted(row.slices, "test")
        line = f"In the hardest of {tests}, {share} % of its answers are right."
    return Ended(line, certificate is not None and certificate.perfect, row.calculates)


def windows(path: Path) -> list[dict[str, Any]]:
    """Return the windows that a validation tries, by the role of what is written after them.

    Each group has a name, the numbers of its windows in the bits of `WindowsRight`, which of these
    the first member was never shown, and each in words.
    """
    folder = Folder(path)
    listed = training_windows.read(path)
    if listed is None:
        return []
    layout = ProgramLayout(*store.read(folder.machine, folder.name))
    tokens, sample = layout.machine.tokens, listed.sample()
    groups: dict[str, dict[str, Any]] = {}
    for number, window in enumerate(sample.tolist()):
        token = tokens[listed.targets[window]]
        group = groups.setdefault(token.role, {"role": token.role, "numbers": [], "held_out": [],
                                               "words": []})  # fmt: skip
        group["numbers"].append(number)
        group["held_out"].append(bool(listed.since[0, window] < 0))
        seen = ", ".join(window_texts(layout, listed.rows[window]))
        group["words"].append(f"{seen} → {token.symbol}")
    return list(groups.values())


def _grids(folder: Path) -> list[FillingGrid]:
    """The grids of a running evaluation, from what it has saved so far."""
    found: dict[str, FillingGrid] = {}
    parts = list(evaluations.read_parts(folder / evaluations.PARTIAL))
    for part in (part for part in parts if part.of == parts[-1].of):
        place = exact_match.grid_place(part.name)
        if place is not None:
            operator, _, size = place
            cells = typing.cast(exact_match.GridRow, part.rows)
            (row,) = median_cells([[member] for member in cells])
            grid = found.setdefault(operator, FillingGrid(operator, size, []))
            grid.bands.append([band(share) for share in row])
    return list(found.values())


def _idle(folder: Path) -> float:
    """Seconds since anything was written by the training."""
    written = [folder / name for name in ("run.json", "metrics.jsonl")]
    newest = max(path.stat().st_mtime for path in written if path.exists())
    return round(max(0.0, time.time() - newest), 1)


def _record(row: Metric, watched: Sequence[str], operators: Sequence[str]) -> list[float | None]:
    """The columns of a row; None for what is no number, which JSON does not know."""
    values = [getattr(row, name) for name in COLUMNS] + [row.evaluated.get(one) for one in watched]
    values += [row.validation_by_operator.get(one) for one in operators]
    return [value if value is not None and math.isfinite(value) else None for value in values]
