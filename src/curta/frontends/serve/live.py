"""The metrics of a run as they are written, and its grids as they fill: what is new to a page."""

import itertools
import math
import time
import typing
from functools import lru_cache
from pathlib import Path
from typing import Any

from curta.config.errors import UserError
from curta.config.table import counted
from curta.config.typed import as_json
from curta.evaluation import suite
from curta.evaluation.certificate import window_texts
from curta.frontends import listing
from curta.layouts.program import ProgramLayout
from curta.problems.problem import parse
from curta.programs.machine import store
from curta.report.certificate import headline
from curta.report.figures import band, median_cells
from curta.report.summary import percent
from curta.runs import folders, metrics
from curta.runs.folders import Folder
from curta.training import windows as training_windows

COLUMNS = (
    "step", "member", "loss", "exact_match", "seconds", "validation_loss",
    "validation_exact_match", "validation_token_accuracy", "learning_rate",
)  # fmt: skip


def since(path: Path, cursor: str) -> dict[str, Any]:
    """Return how far a run is, and its records after the cursor of the answer before.

    All records are new for "", or where the file was written anew (`anew`). A record has a value
    for each of the `columns`; what is watched has columns such as `evaluated + 20`, and operators
    of a validation such as `validated +`. `idle` are seconds since anything was written, `truths`
    the right answers to named problems of operators that Curta knows, `windows` the first member's
    at a validation: a bit for each of `windows`, in base64.
    """
    folder = Folder(path)
    info, part = folder.read_info(), metrics.read_since(folder.metrics, cursor)
    values = [{name: getattr(row, name) for name in COLUMNS} for row in part.rows]
    for row, by_column in zip(part.rows, values, strict=True):
        by_column |= {f"evaluated {name}": share for name, share in row.evaluated.items()}
        validated = row.validation_by_operator.items()
        by_column |= {f"validated {name}": share for name, share in validated}
    columns = list(dict.fromkeys([*COLUMNS, *itertools.chain(*values)]))
    # JSON has no infinity
    records = [
        [v if v is not None and math.isfinite(v) else None for v in map(by_column.get, columns)]
        for by_column in values
    ]
    files = [file for file in (path / "run.json", folder.metrics) if file.exists()]
    newest = max(file.stat().st_mtime for file in files)
    return {
        "status": info.status,
        "steps": info.steps,
        "ended": info.ended,
        "seeds": info.seeds,
        "stopped": info.stopped,
        "evaluated": folder.evaluation.exists(),
        "idle": round(max(0.0, time.time() - newest), 1),
        "columns": columns,
        "records": records,
        "cursor": part.cursor,
        "anew": part.anew,
        "more": part.more,
        "named": [
            {"step": row.step, "member": row.member,
             "answers": {name: as_json(answer) for name, answer in row.named.items()}}
            for row in part.rows if row.named
        ],
        "truths": {
            name: truth for row in part.rows for name in row.named if (truth := _truth(name))
        },
        "windows": [
            {"step": row.step, "bits": row.windows_right}
            for row in part.rows if row.windows_right and not row.member
        ],
        "at_end": _result(folder) if info.status == "finished" else None,
        "grids": _grids(path) if info.status == "evaluating" else [],
    }  # fmt: skip


@lru_cache(4096)
def _truth(text: str) -> str:
    """Return the right answer to a problem; "" where its operator is not Curta's own."""
    try:
        return parse(text).truth_text
    except UserError:
        return ""


def _result(folder: Folder) -> dict[str, Any]:
    """Return what came of a finished run, in a sentence, and whether it calculates in a page."""
    certificate, row = folder.read_certificate(), listing.row((folder.name,), folder.path)
    line = "Training is finished."
    if certificate is not None:
        line = headline(certificate)
    elif row.evaluated is not None:
        share, tests = percent(row.evaluated), counted(row.slices, "test")
        line = f"In the hardest of {tests}, {share} % of its answers are right."
    exact = certificate is not None and certificate.perfect
    return {"verdict": line, "exact": exact, "calculates": row.calculates}


def windows(path: Path) -> list[dict[str, Any]]:
    """Return the windows that a validation tries, by the role of what is written after them.

    Each group has a name, the numbers of its windows in the bits of `since`, which of these
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
        token, seen = tokens[listed.targets[window]], window_texts(layout, listed.rows[window])
        empty = {"role": token.role, "numbers": [], "held_out": [], "words": []}
        group = groups.setdefault(token.role, empty)
        group["numbers"].append(number)
        group["held_out"].append(bool(listed.since[0, window] < 0))
        group["words"].append(f"{', '.join(seen)} → {token.symbol}")
    return list(groups.values())


def _grids(folder: Path) -> list[dict[str, Any]]:
    """Return the grids of a running evaluation, from what it has saved so far.

    Each has the band of each cell's median, by row, of its `size` rows as far as they are there.
    """
    grids: dict[str, dict[str, Any]] = {}
    saved = list(folders.read_parts(folder / folders.PARTIAL))
    for part in (part for part in saved if part.of == saved[-1].of):
        place = suite.grid_place(part.name)
        if place is not None:
            operator, _, size = place
            cells = typing.cast(suite.GridRow, part.rows)
            (row,) = median_cells([[member] for member in cells])
            grid = grids.setdefault(operator, {"operator": operator, "size": size, "bands": []})
            grid["bands"].append([band(share) for share in row])
    return list(grids.values())
