"""Intervals as tables: of one evaluation or of several, and of two runs on the same problems."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curta.config.errors import printable
from curta.config.table import MISSING, Cells, Column, Table, cell
from curta.evaluation.statistics import (
    DRAWS,
    TO_DRAW,
    Interval,
    MemberStatistics,
    SliceStatistics,
)
from curta.report.summary import counted, listed
from curta.report.tables.evaluation import places

if TYPE_CHECKING:
    from curta.evaluation.paired import Paired, PairedSlice

WILSON = "Of one seed: Wilson's interval of its share, 95 %."
BOOTSTRAP = (
    f"Of a mean: bootstrap over seeds, 95 %, {DRAWS:,} draws; none of fewer than {TO_DRAW} seeds,"
    " or where all agree."
)

Statistics = Mapping[str, Sequence[SliceStatistics]]
"""What evaluations say, row by row, by the names of entries; a single run has none."""


def over_seeds(by_entry: Statistics) -> Table:
    """A row for each slice: median, range, mean and deviation, and how sure they are.

    Of all seeds the least one has its own interval. Of a single seed only that is known.
    """
    several = any(len(row.members) > 1 for rows in by_entry.values() for row in rows)
    figures = _of_several() if several else _of_one()
    columns = [*_entry(by_entry), *places(), *(column for column, _ in figures)]
    rows = [
        [name, *_place(row), *(value(row) for _, value in figures)]
        for name, rows in by_entry.items()
        for row in rows
    ]
    notes = [WILSON, BOOTSTRAP] if several else [WILSON]
    return Table("exact match over seeds" if several else "exact match", columns, rows, notes=notes)


Figure = tuple[Column, Callable[[SliceStatistics], Any]]
"""A column, and its value in a row."""


def _of_several() -> list[Figure]:
    return [
        *((Column(name), _field(name)) for name in ("median", "min", "max", "mean")),
        (Column("sd", "deviation"), lambda row: row.deviation),
        *_ends("mean, 95 %", "mean", lambda row: row.interval),
        *_ends("least seed, 95 %", "least", lambda row: _least(row).interval),
    ]


def _of_one() -> list[Figure]:
    return [
        (Column("right"), lambda row: _least(row).right),
        (Column("exact match", "exact_match"), lambda row: _least(row).exact_match),
        *_ends("95 %", "exact_match", lambda row: _least(row).interval),
    ]


def _field(name: str) -> Callable[[SliceStatistics], Any]:
    return lambda row: getattr(row, name)


def _least(row: SliceStatistics) -> MemberStatistics:
    return min(row.members, key=lambda one: one.right)


def _ends(
    heading: str, key: str, interval: Callable[[Any], Interval | None]
) -> list[tuple[Column, Callable[[Any], Any]]]:
    """An interval as people read it, and its ends as two columns of CSV."""

    def end(place: int) -> Callable[[Any], float | None]:
        return lambda row: None if (ends := interval(row)) is None else ends[place]

    return [
        (Column(heading, text=span, in_csv=False), interval),
        (Column(f"{key}_low", on_screen=False), end(0)),
        (Column(f"{key}_high", on_screen=False), end(1)),
    ]


def span(interval: Interval | None) -> str:
    """`0.961 to 1.000`; a dash where there is none."""
    return MISSING if interval is None else f"{cell(interval.low)} to {cell(interval.high)}"


def of_seeds(by_entry: Statistics) -> Table:
    """A row for each slice and seed, with the interval of its share."""
    interval = _ends("95 %", "exact_match", lambda one: one.interval)
    columns = [
        *_entry(by_entry),
        *places(),
        Column("seed", text=str),
        Column("right"),
        Column("exact match", "exact_match"),
        *(column for column, _ in interval),
    ]
    rows = [
        [name, *_place(row), one.seed, one.right, one.exact_match,
         *(end(one) for _, end in interval)]
        for name, rows in by_entry.items()
        for row in rows
        for one in row.members
    ]  # fmt: skip
    return Table("exact match, every seed", columns, rows, notes=[WILSON])


def _entry(by_entry: Statistics) -> list[Column]:
    there = any(by_entry)
    column = Column("entry", text=printable, words=True, fold=True, once=True)
    return [column if there else Column("entry", on_screen=False, in_csv=False, once=True)]


def _place(row: "SliceStatistics | PairedSlice") -> Cells:
    return [row.operator, row.size, row.slice_name, row.count]


def paired(pair: "Paired") -> Table:
    """A row for each slice: of one member of each run, or else the means of all of them."""
    return _of_means(pair) if pair.member_seeds is None else _of_members(pair, pair.member_seeds)


def _of_members(pair: "Paired", seeds: tuple[int, int]) -> Table:
    names = [printable(name) for name in (pair.first, pair.second)]
    columns = [
        *places(),
        Column("both"),
        Column(f"only {names[0]}", "only_first"),
        Column(f"only {names[1]}", "only_second"),
        Column("neither"),
        Column("p", text=_p),
        Column("p, Holm", "p_holm", _p),
    ]
    rows = [
        [*_place(row), one.both, one.only_first, one.only_second, one.neither, one.p, one.adjusted]
        for row in pair.slices
        if (one := row.members) is not None
    ]
    told = f"{names[0]}, seed {seeds[0]}, and {names[1]}, seed {seeds[1]}"
    notes = [
        "p: McNemar's exact test, two-sided, on the problems that only one of them has right.",
        f"Holm: adjusted for all {counted(len(rows), 'row')} together.",
    ]
    return Table(f"right on the same problems: {told}", columns, rows, notes=notes)


def _of_means(pair: "Paired") -> Table:
    names = [printable(name) for name in (pair.first, pair.second)]
    interval = _ends("95 %", "difference", lambda row: row.seeds.interval)
    columns = [
        *places(),
        Column(names[0], "first_mean"),
        Column(names[1], "second_mean"),
        Column("difference", text=lambda value: f"{value:+.3f}"),
        *(column for column, _ in interval),
    ]
    rows = [
        [*_place(row), row.seeds.first, row.seeds.second, row.seeds.difference,
         *(end(row) for _, end in interval)]
        for row in pair.slices
    ]  # fmt: skip
    return Table("mean exact match on the same problems", columns, rows, notes=_told(pair))


def _told(pair: "Paired") -> list[str]:
    first, second = (listed(seeds) for seeds in (pair.first_seeds, pair.second_seeds))
    how = (
        f"Paired by seed ({first})." if pair.paired else f"Not paired: seeds {first}, and {second}."
    )
    return [how, BOOTSTRAP, "Each interval stands by itself: of 20 rows one may miss by chance."]


def _p(value: float) -> str:
    """Two digits of it.

    >>> _p(0.0625), _p(3e-22), _p(0.0), _p(1.0)
    ('0.062', '3e-22', '<1e-300', '1')
    """
    return f"{value:.2g}" if value > 1e-300 else "<1e-300"
