"""Exact match by operator, size and slice; sizes that are perfect throughout share one row."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from curta.config.table import Table
from curta.evaluation.results import Evaluation, Generated, SliceResult
from curta.evaluation.statistics import of_slice, wilson
from curta.report.summary import by_operator, by_size, counted
from curta.report.tables.statistics import over_seeds


class Size(NamedTuple):
    """The rows of one size, or one row that stands for the perfect rows of several."""

    name: str
    rows: list[SliceResult]


class Results(NamedTuple):
    """The plots, and the rows of every operator: all of them, and folded where that is shorter.

    `intervals` says how sure each row is; `most_wrong` is the fewest problems of which a member has
    all right, and the share of wrong ones that there may be all the same.
    """

    plot: Markup
    rows: dict[str, list[Size]]
    folded: dict[str, list[Size]] | None
    intervals: Table
    most_wrong: tuple[int, float] | None
    bars: Markup | None = None


def results(
    rows: Sequence[SliceResult],
    seeds: Sequence[int],
    plot: Markup | None,
    bars: Markup | None = None,
) -> Results | None:
    """The section's data; None without an evaluation."""
    if plot is None:
        return None
    whole, short = _sizes(rows), _short(rows)
    in_order = [row for sizes in whole.values() for size in sizes for row in size.rows]
    found = [of_slice(row, seeds) for row in in_order]
    all_right = min((row.count for row in rows if 1 in row.exact_match), default=None)
    most = None if all_right is None else (all_right, 1 - wilson(all_right, all_right).low)
    folded = None if short == whole else short
    return Results(plot, whole, folded, over_seeds({"": found}), most, bars)


def further(found: Sequence[Evaluation]) -> list[tuple[Evaluation, dict[str, list[Size]]]] | None:
    """Evaluations with other settings, with their rows in short; None if there is none."""
    return [(one, _short(one.lengths)) for one in found] or None


def _sizes(rows: Sequence[SliceResult]) -> dict[str, list[Size]]:
    operators = by_operator(rows).items()
    return {name: [Size(*one) for one in by_size(mine).items()] for name, mine in operators}


def _short(rows: Sequence[SliceResult]) -> dict[str, list[Size]]:
    return {name: _folded(sizes) for name, sizes in _sizes(rows).items()}


def _folded(sizes: Sequence[Size]) -> list[Size]:
    """Perfect sizes that follow each other as one row."""
    found: list[Size] = []
    for perfect, group in groupby(sizes, lambda size: all(map(_perfect, size.rows))):
        same = list(group)
        found += [_fold(same)] if perfect else same
    return found


def _perfect(row: SliceResult) -> bool:
    """Whether every token of every member is right, also where they were generated."""
    shares = [*row.exact_match, *row.token_accuracy, *row.generated.exact_match]
    return row.generated.agrees and all(share == 1 for share in shares)


def _fold(sizes: Sequence[Size]) -> Size:
    rows = [row for size in sizes for row in size.rows]
    if len(rows) == 1:
        return sizes[0]
    first, last = sizes[0].name, sizes[-1].name
    return Size(first if first == last else f"{first} to {last}", [_sum(rows)])


def _sum(rows: Sequence[SliceResult]) -> SliceResult:
    """Counts added up; of every member the greatest perplexity, and the least speed."""
    first, generated = rows[0], [row.generated for row in rows]
    return SliceResult(
        operator=first.operator,
        size=first.size,
        digits=first.digits,
        slice_name=f"all {counted(len(rows), 'row')}",
        count=sum(row.count for row in rows),
        exact_match=first.exact_match,
        token_accuracy=first.token_accuracy,
        perplexity=[max(values) for values in zip(*(row.perplexity for row in rows), strict=True)],
        generated=Generated(
            count=sum(one.count for one in generated),
            exact_match=generated[0].exact_match,
            agrees=True,
            tokens_per_second=min(one.tokens_per_second for one in generated),
        ),
        errors=[],
    )
