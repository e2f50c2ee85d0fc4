"""A comparison as a table, an entry a row; and the table of a probe."""

from collections.abc import Sequence
from typing import Any

from curta.config.errors import printable
from curta.config.table import Cells, Column, Table, cell, decimal
from curta.probes.results import ProbeTable
from curta.report.compared import asked, hardest, slices_of, why_missing
from curta.report.summary import Range, counted
from curta.runs.info import ComparisonResults, ComparisonRow


def comparison(results: ComparisonResults) -> Table:
    """What each entry cost, and exact match in the hardest slice of every size."""
    known = [one for row in results.rows for one in asked(row)]
    order = sorted(known, key=lambda one: (one.operator, one.digits))
    sizes = list(dict.fromkeys((one.operator, one.size) for one in order))
    columns = [
        Column("entry", text=printable, words=True, fold=True),
        *(Column(name, text=_cost) for name in ("parameters", "steps")),
        Column("seconds", text=lambda value: "" if value is None else f"{round(value):,}"),
        *(column for operator, size in sizes for column in _of_size(f"{operator} {size}")),
    ]
    rows = [_row(row, sizes) for row in results.rows]
    title = "exact match, hardest slice; median and range of " + counted(len(results.seeds), "seed")
    notes = [
        f"{printable(row.name)} was not evaluated on {printable(one.operator)} at {one.size}"
        f" digits: {one.reason}."
        for row in results.rows
        for one in row.unevaluated
    ]
    return Table(title, columns, rows, notes=notes)


def _cost(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _of_size(name: str) -> list[Column]:
    ends = [Column(f"{name} {end}", on_screen=False) for end in Range._fields]
    return [Column(name, text=_range, in_csv=False), *ends]


def _row(row: ComparisonRow, sizes: Sequence[tuple[str, str]]) -> Cells:
    cost = [row.name, row.parameters, row.steps, row.training_seconds]
    return [*cost, *(value for one in sizes for value in _at(row, *one))]


def _at(row: ComparisonRow, operator: str, size: str) -> Cells:
    """The range of all members, or why there is none; and its ends."""
    slices = slices_of(row, operator, size)
    if slices:
        ends = hardest(slices)
        return [ends, *ends]
    reason = why_missing(row, operator, size) or row.status
    return [reason.replace(" ", "\n"), None, None, None]


def _range(ends: Range | str) -> str:
    """Median over members, and below it the range unless all are the same."""
    if isinstance(ends, str):
        return ends
    same = ends.min == ends.max
    span = "" if same else f"\n{decimal(ends.min, 2)}..{decimal(ends.max, 2)}"
    return f"{cell(ends.median)}{span}"


def probe(table: ProbeTable) -> Table:
    """All that a probe found, a line for each row; numbers whole, long texts folded."""
    columns = [_column(name, [row[name] for row in table.rows]) for name in table.columns]
    rows = [[row[name] for name in table.columns] for row in table.rows]
    return Table(f"{table.probe}: {table.summary}", columns, rows, notes=table.notes)


def _column(name: str, values: Sequence[Any]) -> Column:
    """The words of a heading stand below each other where its numbers are short."""
    if all(isinstance(value, int | float | None) for value in values):
        widest = max((len(cell(value)) for value in values), default=0)
        return Column(name.replace(" ", "\n") if len(name) > widest else name, key=name)
    return Column(name, words=True, fold=True)
