"""Data sets: a recipe's problems as files, with splits that do not overlap.

The held-out splits are written first and their problems kept in mind, so that every
row to train on can be looked up among them while it goes by: an overlap is counted, not
concluded. Nothing else is kept, however many rows there are.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from curta.config import files
from curta.config.errors import UserError
from curta.config.recipe import Recipe, dump
from curta.config.registry import optional_module
from curta.export.dataset.card import Summary, card
from curta.export.dataset.columns import FITS, Columns, keys
from curta.export.dataset.splits import SPLITS, TEST_OOD, TRAIN, Source, beyond, sources
from curta.export.formats import FORMATS, Format, format_named
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.problems import task_sizes
from curta.problems.operations import OPERATIONS
from curta.problems.tasks import as_size
from curta.programs.machine import store
from curta.runs.folders import seeds_of

__all__ = ["FORMATS", "SPLITS", "Summary", "write"]

ROUND = 1 << 16
"""Rows in which the tasks of a recipe are mixed."""

PART = 1 << 20
"""Rows of one file."""

PATIENCE = 200
"""Batches without a problem of the split after which it is taken to have none."""

Show = Callable[[str, float], None]


def write(
    recipe: Recipe,
    rows: int,
    out: Path,
    form: str = "parquet",
    seed: int = 0,
    show: Show = lambda split, share: None,
) -> Summary:
    """Writes `rows` problems to train on, and the recipe's other splits, to a new folder.

    UserError if it exists, if pyarrow is missing, or if there are not so many problems.
    """
    kind, layout = format_named(form), layout_of(recipe)
    columns = _columns(recipe, layout)
    optional_module("pyarrow", "data")
    if rows < len(recipe.tasks):
        raise UserError(f"--rows must be at least {len(recipe.tasks)}, not {rows}")
    found = sources(recipe, layout, rows, *seeds_of([seed]))
    with files.new_folder(out) as folder:
        export = _Export(recipe, layout, columns, kind, folder, show)
        for split in (*SPLITS[1:], TRAIN):
            export.split(split, found[split])
        files.write(folder / "recipe.toml", dump(recipe))
        if columns.program is not None:
            machine = store.dump(columns.program.machine, columns.program.windows)
            files.write(folder / "machine.json", json.dumps(machine, ensure_ascii=False) + "\n")
        files.write(folder / "README.md", card(recipe, layout, export.summary, columns, form, seed))
    return export.summary


class _Export:
    """A data set while it is written."""

    def __init__(
        self,
        recipe: Recipe,
        layout: Layout,
        columns: Columns,
        kind: type[Format],
        folder: Path,
        show: Show,
    ) -> None:
        self.recipe, self.layout, self.columns, self.kind = recipe, layout, columns, kind
        self.folder, self.show, self.summary = folder / "data", show, Summary()
        self.held: dict[str, Any] = {}
        self.folder.mkdir()

    def split(self, name: str, parts: list[Source]) -> None:
        """Writes all files of a split, and counts what stands in an earlier one too."""
        whole = sum(part.rows for part in parts)
        kept: list[Any] = []
        self.summary.rows[name] = 0
        for number, group in enumerate(_files(self._tables(name, parts))):
            path = self.folder / f"{name}-{number:05}.{self.kind.suffix}"
            for table in self._written(path, group):
                own = keys(table)
                self._count(name, own)
                kept += own.chunks if name != TRAIN else []
                self.summary.rows[name] += len(table)
                self.show(name, min(1.0, self.summary.rows[name] / max(whole, 1)))
        if kept:
            self.held[name] = optional_module("pyarrow", "data").chunked_array(kept)

    def _tables(self, name: str, parts: list[Source]) -> Iterator[Any]:
        """All rows of a split: what is larger than in training, and what the sources have."""
        drawn = _mixed(parts, self.columns)
        return itertools.chain(self._beyond(), drawn) if name == TEST_OOD else drawn

    def _written(self, path: Path, tables: Iterable[Any]) -> Iterator[Any]:
        file = self.kind(path, self.columns.schema)
        try:
            for table in tables:
                file.write(table)
                yield table
        finally:
            file.close()

    def _count(self, name: str, own: Any) -> None:
        """Count the rows that stand in a split that is held out, in any order of operands.

        Only without `task.twins_together` there can be any.
        """
        compute = optional_module("pyarrow.compute", "data")
        for other, theirs in self.held.items():
            there = compute.sum(compute.is_in(own, value_set=theirs)).as_py()
            pair = (name, other)
            self.summary.overlaps[pair] = self.summary.overlaps.get(pair, 0) + there
            if there and all(task.twins_together for task in self.recipe.tasks):
                raise RuntimeError(f"{there} problems of {name} are in {other} too")

    def _beyond(self) -> Iterator[Any]:
        for task in self.recipe.tasks:
            for problems in beyond(task, self.layout, self.recipe.evaluation):
                yield self.columns.of_problems(problems, self.layout)


def _columns(recipe: Recipe, layout: Layout) -> Columns:
    """Columns that hold every number of the recipe's splits."""
    asked = [OPERATIONS[task.operator] for task in recipe.tasks]
    widths = [
        (layout.base(task.operator), size, OPERATIONS[task.operator].widths(size))
        for task in recipe.tasks
        for size in (
            task_sizes.widest(task),
            *(as_size(s, task.operator) for s in recipe.evaluation.sizes(task.operator)),
        )
    ]
    longest = max(base ** max(*size, *width) for base, size, width in widths)
    fits = longest <= 10**FITS and all(one.bounded and not one.pointed for one in asked)
    several = any(len(width) > 1 for _, _, width in widths)
    program = layout if isinstance(layout, ProgramLayout) else None
    return Columns(not fits, several, program)


def _rows(source: Source, columns: Columns) -> Iterator[Any]:
    """Tables of a source's problems, batch by batch, without end."""
    barren = 0
    for table in source.tables(columns):
        barren = 0 if len(table) else barren + 1
        if barren > PATIENCE:
            raise UserError(
                f"the task {source.task.operator!r} has too few different problems for a split"
                f" {source.split!r} of its own"
            )
        yield table


def _mixed(parts: list[Source], columns: Columns) -> Iterator[Any]:
    """Tables of at most ROUND rows and a few, each with every source's share, in random order."""
    rounds = math.ceil(sum(part.rows for part in parts) / ROUND)
    streams = [_cut(_rows(part, columns), part.rows, rounds) for part in parts]
    for number, tables in enumerate(zip(*streams, strict=True)):
        table = optional_module("pyarrow", "data").concat_tables(tables)
        if len(tables) > 1:
            table = table.take(np.random.default_rng(number).permutation(len(table)))
        yield table


def _cut(tables: Iterator[Any], rows: int, pieces: int) -> Iterator[Any]:
    """The first `rows` of a stream of tables, in pieces of nearly the same size."""
    arrow = optional_module("pyarrow", "data")
    ends = [rows * piece // pieces for piece in range(pieces + 1)]
    spare = next(tables)
    for start, end in itertools.pairwise(ends):
        parts, count = [spare], len(spare)
        while count < end - start:
            parts.append(next(tables))
            count += len(parts[-1])
        whole = arrow.concat_tables(parts)
        yield whole.slice(0, end - start)
        spare = whole.slice(end - start)


def _files(tables: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """The tables of each file, of PART rows or somewhat more."""
    for first in tables:
        yield _file(first, tables)


def _file(first: Any, more: Iterator[Any]) -> Iterator[Any]:
    yield first
    count = len(first)
    while count < PART and (table := next(more, None)) is not None:
        yield table
        count += len(table)
