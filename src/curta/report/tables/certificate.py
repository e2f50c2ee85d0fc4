"""A certificate as a table: every member on all windows."""

from collections.abc import Sequence

from curta.config.table import Cells, Column, Table
from curta.evaluation.results import Certificate
from curta.report.summary import range_of

KEYS = ("shown", "correct", "wrong", "held_out", "held_out_correct", "margin")


def members(content: Certificate) -> Table:
    """A line for each member and, of several, their median, least and greatest."""
    bound, every = content.rounding.bound, content.members
    moved = (
        "no bound on rounding"
        if bound is None
        else f"rounding moves a margin by at most {bound:.1g}"
    )
    columns = [
        Column("member", text=str),
        Column("seed", text=lambda seed: "" if seed is None else f"{seed}"),
        *(Column(name, text=_count) for name in ("shown", "correct")),
        Column("wrong", text=_count, style=lambda wrong, row: "bold red" if wrong else ""),
        Column("held out", "held_out", _count),
        Column("of them correct", "held_out_correct", _count),
        Column("margin", text=lambda margin: f"{margin:.3g}"),
        Column("below_bound", shown=False),
    ]
    rows = [[one.member, one.seed, *_figures(one), one.below_bound] for one in every]
    title = f"{content.windows:,} windows; {moved}"
    return Table(title, columns, rows, _summaries(rows) if len(rows) > 1 else ())


def _figures(one: object) -> Cells:
    return [getattr(one, key) for key in KEYS]


def _summaries(rows: Sequence[Cells]) -> list[Cells]:
    figures = list(zip(*rows, strict=True))[2 : 2 + len(KEYS)]
    ranges = [range_of(column) for column in figures]
    named = zip(("median", "min", "max"), zip(*ranges, strict=True), strict=True)
    return [[name, None, *values, None] for name, values in named]


def _count(value: float) -> str:
    """`1,234`; the median of 0 and 1 is `0.5`."""
    return f"{value:,.0f}" if value % 1 == 0 else f"{value:,.1f}"
