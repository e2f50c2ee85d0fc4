"""A certificate as a table: every member on all windows."""

from collections.abc import Sequence

from curta.config.table import MISSING, Cells, Column, Table
from curta.evaluation.results import Certificate
from curta.report.summary import range_of

KEYS = (
    "shown", "repaired", "rounds", "held_out", "held_out_correct", "correct", "wrong", "margin",
    "below_bound",
)  # fmt: skip


def members(content: Certificate, whole: bool = False) -> Table:
    """A line for each member and, of several, their median, least and greatest.

    A member was shown windows by training and by rounds of repair; all others are held out.

    The `whole` table has a column for the windows whose margin is below twice what rounding may
    change; on a screen there is no room for it.
    """
    columns = [
        Column("member", text=str),
        Column("seed", text=lambda seed: "" if seed is None else f"{seed}"),
        *(Column(name, text=_count) for name in ("shown", "repaired", "rounds")),
        Column("held out", "held_out", _count),
        Column("of them correct", "held_out_correct", _count),
        Column("correct", text=_count),
        Column("wrong", text=_count, style=_bad),
        Column("margin", text=lambda margin: f"{margin:.3g}"),
        Column("below twice the bound", "below_bound", _count, on_screen=whole, style=_bad),
    ]
    members = (vars(one) | {"rounds": len(one.rounds)} for one in content.members)
    rows = [[one["member"], one["seed"], *(one[key] for key in KEYS)] for one in members]
    title = f"{content.windows:,} windows; {moved(content)}"
    return Table(title, columns, rows, _summaries(rows) if len(rows) > 1 else ())


def moved(content: Certificate) -> str:
    """What rounding does to a margin."""
    bound = content.rounding.bound
    if bound is None:
        return "no bound on rounding is known for this design"
    return f"rounding moves a margin by at most {bound:.1g}"


def _summaries(rows: Sequence[Cells]) -> list[Cells]:
    ranges = [
        (None,) * 3 if None in figures else range_of(figures)
        for figures in list(zip(*rows, strict=True))[2:]
    ]
    named = zip(("median", "min", "max"), zip(*ranges, strict=True), strict=True)
    return [[name, None, *values] for name, values in named]


def _bad(count: float | None, row: Cells) -> str:
    return "bold red" if count else ""


def _count(value: float | None) -> str:
    """`1,234`; the median of 0 and 1 is `0.5`; a dash for what is not known."""
    if value is None:
        return MISSING
    return f"{value:,.0f}" if value % 1 == 0 else f"{value:,.1f}"
