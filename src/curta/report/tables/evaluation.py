"""An evaluation as tables: exact match by size and slice, grids, counted and named problems."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median
from typing import NamedTuple

from curta.config.errors import printable
from curta.config.table import Cells, Column, Table, cell
from curta.evaluation.results import (
    Evaluation,
    Gap,
    Grid,
    NamedProblem,
    SliceResult,
    WholeTable,
    Written,
)
from curta.report.summary import counted as count_of
from curta.report.summary import perplexity, range_of

RED = "bold red"


def size(text: str) -> str:
    """`1,000`, or `50/25` and `20x5` as they are."""
    return f"{int(text):,}" if text.isdecimal() else text


def places() -> list[Column]:
    """What was asked in a row: its operator, size and slice, and how many problems."""
    return [
        Column("op", "operator", printable, words=True, once=True),
        Column("digits", "size", size, once=True),
        Column("slice", text=printable, words=True, fold=True),
        Column("count"),
    ]


NOT_EVALUATED = "not evaluated"
"""Stands for the slices of a size that was left out."""


def exact_match(results: Evaluation, seeds: Sequence[int], collapsed: bool = False) -> Table:
    """Exact match for each operator, size and slice: median, range, and every seed.

    If it is `collapsed`, the slices of a size are one row where all of them are right.

    It fits 80 columns unless seeds differ; generation is named only where it differs. Where not
    all is right, the medians of right tokens and of the right answer's perplexity stand in place
    of the speed. A size that was left out has a row without figures.
    """
    rows = results.lengths
    several, tokens = len(seeds) > 1, any(min(row.exact_match) < 1 for row in rows)
    agree = all(row.generated.agrees for row in rows)
    columns = [
        *places(),
        *(Column(name) for name in ("median", "min", "max")),
        Column("token acc", "token_accuracy", on_screen=tokens),
        Column("perplexity", text=lambda value: cell(None) if value is None else perplexity(value),
               on_screen=tokens),
        Column("tokens/s", "tokens_per_second", on_screen=not tokens),
        Column("seeds", text=_together, words=True, fold=True, on_screen=several, in_csv=False),
        Column("written", "generated_agrees", lambda same: "DIFFERS" if same is False else "",
               words=True, on_screen=not agree,
               style=lambda same, row: RED if same is False else ""),
        *(Column(f"seed {seed}", on_screen=False) for seed in seeds),
    ]  # fmt: skip
    title = f"exact match, {count_of(len(seeds), 'seed')}"
    unmeasured = [None] * (len(columns) - 3)
    cells: list[Cells] = []
    for _, group in groupby(rows, key=lambda row: (row.operator, row.size)):
        part = list(group)
        right = all(min(row.exact_match) == 1 and row.generated.agrees for row in part)
        if collapsed and right and len(part) > 1:
            pace = round(median(row.generated.tokens_per_second for row in part))
            generated = replace(part[0].generated, tokens_per_second=pace)
            count, name = sum(row.count for row in part), f"all {len(part)}"
            part = [replace(part[0], slice_name=name, count=count, generated=generated)]
        cells += map(_row, part)
    cells += [[one.operator, one.size, NOT_EVALUATED, *unmeasured] for one in results.unevaluated]
    order = {task: number for number, task in enumerate(dict.fromkeys(row[0] for row in cells))}
    cells.sort(key=lambda row: order[row[0]])
    return Table(title, columns, cells, notes=left_out(results))


def left_out(results: Evaluation) -> list[str]:
    """A sentence for each operator of which sizes were not evaluated: which, and why."""
    reasons = dict[tuple[str, str], list[str]]()
    for one in results.unevaluated:
        reasons.setdefault((one.operator, one.reason), []).append(size(one.size))
    return [
        f"Not evaluated: {printable(operator)} at {'; '.join(sizes)} digits, since {reason}."
        " all_sizes=true (evaluation.all_sizes) evaluates them too."
        for (operator, reason), sizes in reasons.items()
    ]


def _row(row: SliceResult) -> Cells:
    shares = row.exact_match
    return [
        row.operator, row.size, row.slice_name, row.count,
        median(shares), min(shares), max(shares),
        median(row.token_accuracy), median(row.perplexity), row.generated.tokens_per_second,
        shares, row.generated.agrees, *shares,
    ]  # fmt: skip


def _together(shares: Sequence[float] | None) -> str:
    """`all 1.000`, or the share of each seed."""
    if shares is None:
        return cell(shares)
    if len(set(shares)) == 1:
        return f"all {cell(shares[0])}"
    return cell(shares)


def grid(result: Grid, seeds: Sequence[int]) -> Table:
    """Exact match of every seed by digits of the first and of the second operand."""
    columns = [
        Column("seed", text=str, once=True),
        Column("first", once=True),
        *(Column(f"{digits}") for digits in result.digits),
    ]
    title = f"exact match of {result.operator} by digits of both operands, {result.count} problems"
    rows = [
        [seed, first, *cells]
        for seed, member in zip(seeds, result.exact_match, strict=True)
        for first, cells in zip(result.digits, member, strict=True)
    ]
    return Table(title, columns, rows)


def counted(tables: Sequence[WholeTable], seeds: Sequence[int]) -> Table:
    """Of all problems with two operands up to a limit, how many each seed has right."""
    columns = [
        Column("op", "operator", printable, words=True),
        *(Column(name) for name in ("limit", "count")),
        *(Column(f"seed {seed}") for seed in seeds),
    ]
    rows = [[one.operator, one.limit, one.count, *one.correct] for one in tables]
    return Table("right ones of all problems", columns, rows)


def named(problems: Sequence[NamedProblem], seeds: Sequence[int]) -> Table:
    """The named problems: what the first seed wrote, and whether, or how many of all, are right."""
    several = len(seeds) > 1
    columns = [
        *(Column(name, text=short, words=True, fold=True) for name in ("problem", "truth")),
        *(Column(name, text=_shown, words=True, fold=True, style=_look)
          for name in ("before", "after")),
        Column("right of all" if several else "", "right",
               lambda right: _verdict(right, len(seeds)), words=True,
               style=lambda right, row: "green" if right == len(seeds) else RED),
    ]  # fmt: skip
    title = "named problems" + f", as seed {seeds[0]} writes them" * several
    return Table(title, columns, [_named(one) for one in problems])


def _named(one: NamedProblem) -> Cells:
    right = sum(written.answer == one.truth for written in one.after)
    return [one.problem, one.truth, _answer(one.before[0]), _answer(one.after[0]), right]


def _verdict(right: int, members: int) -> str:
    if members > 1:
        return f"{right} of {members}"
    return "right" if right else "WRONG"


INVALID = "invalid: "


def _answer(one: Written) -> str:
    """An answer, or what was written instead of one, as it is."""
    return INVALID + one.text if one.answer is None else one.answer


def _shown(answer: str) -> str:
    if not answer.startswith(INVALID):
        return short(answer)
    return answer if len(answer) <= len(INVALID) + 40 else f"{answer[: len(INVALID) + 39]}…"


def _look(answer: str, row: Cells) -> str:
    return "red" if answer.startswith(INVALID) else ""


def short(digits: str) -> str:
    """The first and the last digits of a long number."""
    if len(digits) <= 40:
        return digits
    return f"{digits[:12]}...{digits[-12:]} ({len(digits):,} digits)"


class GapRow(NamedTuple):
    """A kind of problems, how many, and exact match of every member; of the gap, the difference."""

    name: str
    problems: int | None
    values: list[float]


def gap_rows(gap: Gap) -> list[GapRow]:
    """Return trained, held out, the gap; last those held out whose mirrored pair is in training."""
    shares = {"trained": gap.trained, "held out": gap.held_out}
    rows = [GapRow(name, one.count, one.exact_match) for name, one in shares.items()]
    rows.append(GapRow("gap", None, gap.gap))
    if gap.twins is not None:
        rows.append(GapRow("held out, twin in training", gap.twins.count, gap.twins.exact_match))
    return rows


def trained_and_held_out(gaps: Sequence[Gap], seeds: Sequence[int]) -> Table:
    """For each operator exact match on trained and on held-out problems, and the gap."""
    columns = [
        Column("op", "operator", printable, words=True, once=True),
        Column("problems", words=True, once=True),
        Column("slice", words=True, fold=True),
        Column("count", text=lambda count: "" if count is None else f"{count:,}"),
        *(Column(name) for name in ("median", "min", "max")),
        *(Column(f"seed {seed}", on_screen=False) for seed in seeds),
    ]
    title = f"trained and held-out problems, exact match, {count_of(len(seeds), 'seed')}"
    rows = [
        [gap.operator, gap.problems, row.name, row.problems, *range_of(row.values), *row.values]
        for gap in gaps
        for row in gap_rows(gap)
    ]
    return Table(title, columns, rows)
