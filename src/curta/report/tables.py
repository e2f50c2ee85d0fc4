"""The tables of runs and comparisons, as data: for a screen, as CSV, as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from curta.config.errors import printable
from curta.config.table import MISSING, Cells, Column, Table, cell, counted, decimal
from curta.evaluation.results import (
    Certificate,
    Evaluation,
    Gap,
    Grid,
    NamedProblem,
    SliceResult,
    WholeTable,
    Written,
)
from curta.evaluation.statistics import (
    DRAWS,
    TO_DRAW,
    Interval,
    MemberStatistics,
    Range,
    SliceStatistics,
    of_slice,
    range_of,
)
from curta.probes.base import ProbeTable, read_probes
from curta.report.compared import evaluated_sizes, exact_match_at
from curta.report.summary import collapse, listed, perplexity, size_name
from curta.runs.folders import Folder, read_comparison
from curta.runs.info import ComparisonResults

if TYPE_CHECKING:
    from curta.evaluation.paired import Paired, PairedSlice

RED = "bold red"

NOT_EVALUATED = "not evaluated"
"""Stands for the slices of a size that was left out."""

WILSON = "Single seed: 95 % Wilson interval of its share."
BOOTSTRAP = (
    f"Mean: 95 % bootstrap interval over seeds, {DRAWS:,} resamples; none below {TO_DRAW} seeds,"
    " or if all agree."
)

Statistics = Mapping[str, Sequence[SliceStatistics]]
"""The statistics of each slice, by the name of the entry; a single run has the empty name."""


def of_run(folder: Folder, name: str = "") -> dict[str, Table]:
    """Return all tables of a run for which there is data, by name.

    They show the recipe's evaluation, or the further evaluation of the given name.
    """
    results, seeds, tables = folder.read_evaluation(name), folder.read_info().seeds, {}
    if results is not None:
        tables["exact-match"] = exact_match_table(results, seeds)
        notes = left_out(results)
        for key, table in statistics_tables({"": statistics_of(folder, name)}).items():
            tables[key] = replace(table, notes=[*table.notes, *notes])
        if results.gaps:
            tables["trained-and-held-out"] = gap_table(results.gaps, seeds)
        for number, grid in enumerate(results.grids, 1):
            tables["grid" if number == 1 else f"grid-{number}"] = grid_table(grid, seeds)
        if results.tables:
            tables["counted"] = whole_table(results.tables, seeds)
        if results.named:
            tables["named"] = named_table(results.named, seeds)
    if name:
        return tables
    certificate = folder.read_certificate()
    if certificate is not None:
        tables["certificate"] = members_table(certificate)
    return tables | {
        f"probes/{probe}": probe_table(table) for probe, table in read_probes(folder).items()
    }


def of_comparison(path: Path, name: str = "") -> dict[str, Table]:
    """Return all tables of a comparison, by name; `name` is an evaluation, as in `of_run`."""
    results = read_comparison(path)
    runs = {row.name: path / row.run for row in results.rows}
    begun = {entry: Folder(run) for entry, run in runs.items() if (run / "run.json").exists()}
    by_entry = {entry: statistics_of(folder, name) for entry, folder in begun.items()}
    tables = {} if name else {"comparison": comparison_table(results)}
    return tables | statistics_tables(by_entry)


def statistics_of(folder: Folder, name: str = "") -> list[SliceStatistics]:
    """Return the statistics of a run's seeds, row by row; empty without an evaluation."""
    results, seeds = folder.read_evaluation(name), folder.read_info().seeds
    return [of_slice(row, seeds) for row in (results.lengths if results else ())]


def statistics_tables(by_entry: Statistics) -> dict[str, Table]:
    """Return the tables over seeds and of every seed; none without rows."""
    if not any(by_entry.values()):
        return {}
    return {"statistics": seeds_table(by_entry), "seeds": every_seed_table(by_entry)}


# Exact match of an evaluation.


SLICE_COLUMNS = (
    Column("op", "operator", printable, words=True, once=True),
    Column("digits", "size", size_name, once=True),
    Column("slice", text=printable, words=True, fold=True),
    Column("count"),
)
"""The columns that name a slice: operator, size, slice and number of problems."""


def slice_cells(row: SliceResult | SliceStatistics | PairedSlice) -> Cells:
    """Return a slice's values for `SLICE_COLUMNS`."""
    return [row.operator, row.size, row.slice_name, row.count]


def exact_match_table(results: Evaluation, seeds: Sequence[int], collapsed: bool = False) -> Table:
    """Exact match for each operator, size and slice: median, range, and every seed.

    With `collapsed`, the slices of a size share a row if all of them are right.

    It fits 80 columns unless seeds differ. Where anything is wrong, token accuracy and the
    perplexity of the right answer (medians) replace the speed. `written` appears only where
    generation disagrees with scoring. A size that was left out has a row without figures.
    """
    rows = results.lengths
    wrong, agree = any(min(r.exact_match) < 1 for r in rows), all(r.generated.agrees for r in rows)

    def all_seeds(shares: Sequence[float] | None) -> str:
        same = shares is not None and len(set(shares)) == 1
        return f"all {cell(shares[0])}" if same and shares else cell(shares)

    columns = [
        *SLICE_COLUMNS,
        *(Column(name) for name in Range._fields),
        Column("token acc", "token_accuracy", on_screen=wrong),
        Column("perplexity", text=lambda value: cell(None) if value is None else perplexity(value),
               on_screen=wrong),
        Column("tokens/s", "tokens_per_second", on_screen=not wrong),
        Column("seeds", text=all_seeds, words=True, fold=True, on_screen=len(seeds) > 1,
               in_csv=False),
        Column("written", "generated_agrees", lambda same: "DIFFERS" if same is False else "",
               words=True, on_screen=not agree,
               style=lambda same, row: RED if same is False else ""),
        *(Column(f"seed {seed}", on_screen=False) for seed in seeds),
    ]  # fmt: skip
    cells = [
        [*slice_cells(row), *range_of(row.exact_match), median(row.token_accuracy),
         median(row.perplexity), row.generated.tokens_per_second, row.exact_match,
         row.generated.agrees, *row.exact_match]
        for row in (collapse(rows) if collapsed else rows)
    ]  # fmt: skip
    empty = [None] * (len(columns) - 3)
    cells += [[m.operator, m.size, NOT_EVALUATED, *empty] for m in results.unevaluated]
    order = {task: number for number, task in enumerate(dict.fromkeys(row[0] for row in cells))}
    cells.sort(key=lambda row: order[row[0]])
    title = f"exact match, {counted(len(seeds), 'seed')}"
    return Table(title, columns, cells, notes=left_out(results))


def left_out(results: Evaluation) -> list[str]:
    """Return a sentence per operator and reason: which sizes were not evaluated, and why."""
    reasons = dict[tuple[str, str], list[str]]()
    for missing in results.unevaluated:
        reasons.setdefault((missing.operator, missing.reason), []).append(size_name(missing.size))
    return [
        f"Not evaluated: {printable(operator)} at {'; '.join(sizes)} digits, since {reason}."
        " Set all_sizes=true (evaluation.all_sizes) to evaluate them too."
        for (operator, reason), sizes in reasons.items()
    ]


def grid_table(grid: Grid, seeds: Sequence[int]) -> Table:
    """Exact match of every seed by digits of the first and of the second operand."""
    columns = [
        Column("seed", text=str, once=True),
        Column("first", once=True),
        *(Column(f"{digits}") for digits in grid.digits),
    ]
    title = f"exact match of {grid.operator} by digits of both operands, {grid.count} problems"
    rows = [
        [seed, first, *cells]
        for seed, member in zip(seeds, grid.exact_match, strict=True)
        for first, cells in zip(grid.digits, member, strict=True)
    ]
    return Table(title, columns, rows)


def whole_table(tables: Sequence[WholeTable], seeds: Sequence[int]) -> Table:
    """Return, by seed, how many of all problems with two operands up to a limit are right."""
    columns = [
        Column("op", "operator", printable, words=True),
        *map(Column, ("limit", "count", *(f"seed {seed}" for seed in seeds))),
    ]
    rows = [[table.operator, table.limit, table.count, *table.correct] for table in tables]
    return Table("correct answers to all problems", columns, rows)


def named_table(problems: Sequence[NamedProblem], seeds: Sequence[int]) -> Table:
    """The named problems: what the first seed wrote, and how many seeds are right."""
    several = len(seeds) > 1

    def answer(output: Written) -> str:
        """Return the answer, or the whole text if there is none."""
        return f"invalid: {output.text}" if output.answer is None else output.answer

    def verdict(right: int) -> str:
        return f"{right} of {len(seeds)}" if several else "right" if right else "WRONG"

    columns = [
        *(Column(name, text=short, words=True, fold=True)
          for name in ("problem", "truth", "before", "after")),
        Column("right of all" if several else "", "right", verdict, words=True,
               style=lambda right, row: "green" if right == len(seeds) else RED),
    ]  # fmt: skip
    rows = [
        [named.problem, named.truth, answer(named.before[0]), answer(named.after[0]),
         sum(output.answer == named.truth for output in named.after)]
        for named in problems
    ]  # fmt: skip
    return Table("named problems" + f", answers of seed {seeds[0]}" * several, columns, rows)


def short(text: str) -> str:
    """Return the first and the last characters of a long text or number."""
    if len(text) <= 40:
        return text
    count = f" ({len(text):,} digits)" if text.isdecimal() else ""
    return f"{text[:12]}...{text[-12:]}{count}"


class GapRow(NamedTuple):
    """A kind of problems, their number, and each member's exact match; for the gap, differences."""

    name: str
    problems: int | None
    values: list[float]


def gap_rows(gap: Gap) -> list[GapRow]:
    """Return trained, held out, the gap, and held-out problems whose mirrored pair was trained."""
    shares = {"trained": gap.trained, "held out": gap.held_out}
    rows = [GapRow(name, share.count, share.exact_match) for name, share in shares.items()]
    rows.append(GapRow("gap", None, gap.gap))
    if gap.twins is not None:
        rows.append(GapRow("held out, mirrored in training", *vars(gap.twins).values()))
    return rows


def gap_table(gaps: Sequence[Gap], seeds: Sequence[int]) -> Table:
    """Return exact match on trained and on held-out problems by operator, and the gap."""
    columns = [
        Column("op", "operator", printable, words=True, once=True),
        Column("problems", words=True, once=True),
        Column("slice", words=True, fold=True),
        Column("count", text=_whole_number),
        *(Column(name) for name in Range._fields),
        *(Column(f"seed {seed}", on_screen=False) for seed in seeds),
    ]
    title = f"trained and held-out problems, exact match, {counted(len(seeds), 'seed')}"
    rows = [
        [gap.operator, gap.problems, row.name, row.problems, *range_of(row.values), *row.values]
        for gap in gaps
        for row in gap_rows(gap)
    ]
    return Table(title, columns, rows)


def _whole_number(value: float | None) -> str:
    """`1,234`; empty for None."""
    return "" if value is None else f"{round(value):,}"


# Intervals: of one evaluation, of several, and of two runs on the same problems.


def seeds_table(by_entry: Statistics) -> Table:
    """Return a row per slice: median, range, mean, deviation and intervals over seeds.

    With several seeds, intervals are those of the mean and of the worst seed; a single seed has
    the interval of its share.
    """
    every = [(name, row) for name, rows in by_entry.items() for row in rows]
    worst = [min(row.members, key=lambda member: member.right) for _, row in every]
    title, notes, columns = "exact match", [WILSON], MEMBER_COLUMNS
    cells = [_member_cells(member) for member in worst]
    if any(len(row.members) > 1 for _, row in every):
        title, notes = "exact match over seeds", [WILSON, BOOTSTRAP]
        columns = [
            *map(Column, (*Range._fields, "mean")),
            Column("sd", "deviation"),
            *_interval_columns("mean, 95 %", "mean"),
            *_interval_columns("worst seed, 95 %", "least"),
        ]
        cells = [
            [row.median, row.min, row.max, row.mean, row.deviation, *_ends(row.interval),
             *_ends(member.interval)]
            for (_, row), member in zip(every, worst, strict=True)
        ]  # fmt: skip
    rows = [
        [name, *slice_cells(row), *values] for (name, row), values in zip(every, cells, strict=True)
    ]
    return Table(title, [_entry_column(by_entry), *SLICE_COLUMNS, *columns], rows, notes=notes)


def every_seed_table(by_entry: Statistics) -> Table:
    """Return a row per slice and seed, with the interval of its share."""
    columns = [_entry_column(by_entry), *SLICE_COLUMNS, Column("seed", text=str)]
    rows = [
        [name, *slice_cells(row), member.seed, *_member_cells(member)]
        for name, rows in by_entry.items()
        for row in rows
        for member in row.members
    ]
    return Table("exact match, every seed", [*columns, *MEMBER_COLUMNS], rows, notes=[WILSON])


def _member_cells(member: MemberStatistics) -> Cells:
    return [member.right, member.exact_match, *_ends(member.interval)]


def _interval_columns(heading: str, key: str) -> list[Column]:
    """Return a column with `0.961 to 1.000` for people, and both ends as columns of CSV."""

    def text(ends: Interval | None) -> str:
        return MISSING if ends is None else f"{cell(ends.low)} to {cell(ends.high)}"

    ends = (Column(f"{key}_{end}", on_screen=False) for end in ("low", "high"))
    return [Column(heading, text=text, in_csv=False), *ends]


MEMBER_COLUMNS = [
    Column("right"),
    Column("exact match", "exact_match"),
    *_interval_columns("95 %", "exact_match"),
]


def _ends(interval: Interval | None) -> Cells:
    """Return the cells of `_interval_columns`."""
    return [interval, *(interval or (None, None))]


def _entry_column(by_entry: Statistics) -> Column:
    """Return the column of entries, which a single run hides."""
    if any(by_entry):
        return Column("entry", text=printable, words=True, fold=True, once=True)
    return Column("entry", on_screen=False, in_csv=False, once=True)


def paired_table(pair: Paired) -> Table:
    """Return a row per slice: two members problem by problem, or the means of both runs."""
    first, second = printable(pair.first), printable(pair.second)
    if pair.member_seeds is not None:
        columns = [
            *SLICE_COLUMNS,
            Column("both"),
            Column(f"only {first}", "only_first"),
            Column(f"only {second}", "only_second"),
            Column("neither"),
            Column("p", text=p_value),
            Column("p, Holm", "p_holm", p_value),
        ]
        rows = [
            [*slice_cells(row), *vars(row.members).values()] for row in pair.slices if row.members
        ]
        names = f"{first}, seed {pair.member_seeds[0]}, and {second}, seed {pair.member_seeds[1]}"
        notes = [
            "p: McNemar's exact test, two-sided, on the problems that only one of the two has"
            " right.",
            f"Holm: adjusted for all {counted(len(rows), 'row')} together.",
        ]
        return Table(f"right on the same problems: {names}", columns, rows, notes=notes)

    columns = [
        *SLICE_COLUMNS,
        Column(first, "first_mean"),
        Column(second, "second_mean"),
        Column("difference", text=lambda value: f"{value:+.3f}"),
        *_interval_columns("95 %", "difference"),
    ]
    rows = [
        [*slice_cells(row), row.seeds.first, row.seeds.second, row.seeds.difference,
         *_ends(row.seeds.interval)]
        for row in pair.slices
    ]  # fmt: skip
    seeds, others = listed(pair.first_seeds), listed(pair.second_seeds)
    notes = [
        f"Paired by seed ({seeds})." if pair.paired else f"Not paired: seeds {seeds} and {others}.",
        BOOTSTRAP,
        "Intervals are not adjusted for the number of rows: about 1 in 20 misses by chance.",
    ]
    return Table("mean exact match on the same problems", columns, rows, notes=notes)


def p_value(value: float) -> str:
    """Return a p-value to two digits.

    >>> p_value(0.0625), p_value(3e-22), p_value(0.0), p_value(1.0)
    ('0.062', '3e-22', '<1e-300', '1')
    """
    return f"{value:.2g}" if value > 1e-300 else "<1e-300"


# Comparisons, probes, certificates.


def comparison_table(results: ComparisonResults) -> Table:
    """The cost of each entry, and exact match in the hardest slice of every size."""
    every = [size for row in results.rows for size in evaluated_sizes(row)]
    order = sorted(every, key=lambda size: (size.operator, size.digits))
    sizes = list(dict.fromkeys((size.operator, size.size) for size in order))
    columns = [
        Column("entry", text=printable, words=True, fold=True),
        *(Column(name, text=_whole_number) for name in ("parameters", "steps", "seconds")),
    ]
    for operator, name in sizes:
        columns.append(Column(f"{operator} {name}", text=_range_or_reason, in_csv=False))
        columns += [Column(f"{operator} {name} {end}", on_screen=False) for end in Range._fields]
    rows = list[Cells]()
    for row in results.rows:
        ranges = [exact_match_at(row, *place) for place in sizes]
        ends = [[r, None, None, None] if isinstance(r, str) else [r, *r] for r in ranges]
        cost = [row.name, row.parameters, row.steps, row.training_seconds]
        rows.append([*cost, *chain.from_iterable(ends)])
    title = "exact match, hardest slice; median and range of " + counted(len(results.seeds), "seed")
    notes = [
        f"{printable(row.name)} was not evaluated on {printable(missing.operator)} at"
        f" {missing.size} digits: {missing.reason}."
        for row in results.rows
        for missing in row.unevaluated
    ]
    return Table(title, columns, rows, notes=notes)


def _range_or_reason(ends: Range | str) -> str:
    """Return the median, and below it the range unless all members are equal."""
    if isinstance(ends, str):
        return ends.replace(" ", "\n")
    same = ends.min == ends.max
    span = "" if same else f"\n{decimal(ends.min, 2)}..{decimal(ends.max, 2)}"
    return f"{cell(ends.median)}{span}"


def probe_table(table: ProbeTable) -> Table:
    """Return a probe's table; long texts fold, and so do headings of short numbers."""
    columns = list[Column]()
    for name in table.columns:
        values = [row[name] for row in table.rows]
        if all(isinstance(value, int | float | None) for value in values):
            widest = max((len(cell(value)) for value in values), default=0)
            heading = name.replace(" ", "\n") if len(name) > widest else name
            columns.append(Column(heading, key=name))
        else:
            columns.append(Column(name, words=True, fold=True))
    rows = [[row[name] for name in table.columns] for row in table.rows]
    return Table(f"{table.probe}: {table.summary}", columns, rows, notes=table.notes)


def members_table(content: Certificate, whole: bool = False) -> Table:
    """Return a row per member of a certificate and, for several, median, minimum and maximum.

    Windows that neither training nor repair showed are held out. The `whole` table also counts
    windows whose margin is below twice the bound on rounding; a screen has no room for that.
    """

    def count(value: float | None) -> str:
        """`1,234`; the median of 0 and 1 is `0.5`; a dash for None."""
        if value is None:
            return MISSING
        return f"{value:,.0f}" if value % 1 == 0 else f"{value:,.1f}"

    def red(value: float | None, row: Cells) -> str:
        return RED if value else ""

    columns = [
        Column("member", text=str),
        Column("seed", text=lambda seed: "" if seed is None else f"{seed}"),
        *(Column(name, text=count) for name in ("shown", "repaired", "rounds")),
        Column("held out", "held_out", count),
        Column("of them correct", "held_out_correct", count),
        Column("correct", text=count),
        Column("wrong", text=count, style=red),
        Column("margin", text=lambda margin: f"{margin:.3g}"),
        Column("below twice the bound", "below_bound", count, on_screen=whole, style=red),
    ]
    by_name = [vars(member) | {"rounds": len(member.rounds)} for member in content.members]
    rows = [[values[column.name] for column in columns] for values in by_name]
    ranges = [
        (None,) * 3 if None in values else range_of(values)
        for values in list(zip(*rows, strict=True))[2:]
    ]
    summaries: list[Cells] = [
        [name, None, *values]
        for name, values in zip(Range._fields, zip(*ranges, strict=True), strict=True)
    ]
    title = f"{content.windows:,} windows; {rounding_note(content)}"
    return Table(title, columns, rows, summaries if len(rows) > 1 else ())


def rounding_note(content: Certificate) -> str:
    """Return how far rounding can move a margin."""
    bound = content.rounding.bound
    if bound is None:
        return "the effect of rounding is not bounded for this design"
    return f"rounding moves a margin by at most {bound:.1g}"
