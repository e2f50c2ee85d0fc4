"""Trained problems beside held-out ones, on the terminal."""

import statistics
from collections.abc import Sequence

from rich import box
from rich.table import Table

from curta.config.printable import printable
from curta.evaluation.results import Gap
from curta.report.gaps import Row, rows


def gap_table(gaps: Sequence[Gap], seeds: Sequence[int]) -> Table:
    """For each operator exact match on trained and on held-out problems, and the gap."""
    count = len(seeds)
    title = f"trained and held-out problems, exact match, {count} seed{'s'[: count > 1]}"
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for heading in ("op", "problems", "slice"):
        view.add_column(heading, overflow="fold")
    for heading in ("count", "median", "min", "max"):
        view.add_column(heading, justify="right", no_wrap=True)
    for gap in gaps:
        place = (printable(gap.operator), gap.problems)
        for row in rows(gap):
            view.add_row(*place, row.name, *_figures(row))
            place = ("", "")
    return view


def _figures(row: Row) -> list[str]:
    ends = (statistics.median(row.values), min(row.values), max(row.values))
    return [
        "" if row.problems is None else f"{row.problems:,}",
        *(f"{value:.3f}" for value in ends),
    ]
