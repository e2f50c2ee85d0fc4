"""What is printed: live progress on a terminal, plain lines elsewhere."""

import statistics
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import JustifyMethod
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from curta.config.printable import printable
from curta.frontends.cli.certified import certificate as certificate
from curta.frontends.cli.screen import Screen
from curta.frontends.cli.screen import console as console
from curta.frontends.cli.screen import notice as notice
from curta.frontends.cli.screen import whole as whole

if TYPE_CHECKING:
    from curta.evaluation.results import Grid, NamedProblem, SliceResult, WholeTable, Written
    from curta.export.dataset import Summary
    from curta.frontends.run import Run
    from curta.probes.results import ProbeTable
    from curta.problems.operations import Answer
    from curta.problems.problem import Problem
    from curta.problems.sizes import Split
    from curta.runs.comparison_spec import Row
    from curta.runs.record import Progress as Step
    from curta.runs.results import ComparisonResults, ComparisonRow


def opening(run: "Run") -> Text:
    training, count = run.recipe.training, len(run.seeds)
    low, high = run.folder.read_info().trained_digits
    members = f"{count} members" if count > 1 else "1 member"
    shown = "windows" if run.recipe.positions.name == "window" else "problems"
    return Text.assemble(
        (printable(run.name), "bold"),
        f": {printable(run.recipe.summary)}\n",
        f"training {members} on {low} to {high} digits,",
        f" {training.steps:,} steps of {training.batch:,} {shown}",
        _evaluation_line(run),
    )


def _evaluation_line(run: "Run") -> str:
    """What an evaluation will take that is to follow, where that is long."""
    from curta.evaluation.expected import duration, total

    wanted = run.code_known and "evaluating" in run.missing()
    seconds = total(run.recipe, run.layout, len(run.seeds)) if wanted else 0.0
    return f"\nevaluation: about {duration(seconds)}" if seconds > SILENT else ""


def entry_line(row: "Row", far: str) -> Text:
    """Which entry of a comparison comes now, and how far that is."""
    summary = printable(row.recipe.summary)
    return Text.assemble((printable(row.name), "bold"), f" ({far}): {summary}")


class Learning:
    """Progress of training."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self.live = console().is_terminal
        text = "{task.description}"
        columns = (BarColumn(24), TextColumn(text, markup=False), TimeRemainingColumn(compact=True))
        self.bar = Progress(*columns, console=console(), disable=not self.live)
        self.task = self.bar.add_task("compiling ...", total=None)

    def __enter__(self) -> "Learning":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def show(self, now: "Step") -> None:
        line = _progress_line(now)
        self.bar.update(self.task, total=now.steps, completed=now.step, description=line)
        if not self.live:
            left = (now.steps - now.step) * now.seconds / now.step
            console().print(f"{line}  {left:.0f} s left")
            sys.stdout.flush()


SILENT = 10.0
"""Seconds after which a line is printed where there is no terminal."""


class Status:
    """What is being done now, written to stderr: on a terminal in place, else a line at times."""

    def __init__(self, doing: str = "evaluating") -> None:
        self.doing, self.said = doing, time.monotonic()
        self.status = Screen(stderr=True).status(Text(f"{doing} ..."))

    def __enter__(self) -> "Status":
        if sys.stderr.isatty():
            self.status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.status.stop()

    def say(self, what: str) -> None:
        line = printable(f"{self.doing} {what} ...")
        self.status.update(Text(line))
        if not sys.stderr.isatty() and time.monotonic() - self.said > SILENT:
            print(line, file=sys.stderr, flush=True)
            self.said = time.monotonic()


def data_lines(summary: "Summary", out: str, seconds: float) -> list[str]:
    """What a data set holds, and how many problems stand in two splits."""
    whole = sum(summary.rows.values())
    rows = ", ".join(f"{split} {count:,}" for split, count in summary.rows.items())
    return [
        f"rows: {rows}",
        f"problems in more than one split: {summary.overlap}",
        f"Data set: {out} ({whole / seconds:,.0f} rows a second)",
    ]


def evaluation_table(rows: "Sequence[SliceResult]", seeds: Sequence[int]) -> Table:
    """Exact match for each operator, size and slice: median, range, and every seed.

    It fits 80 columns unless seeds differ; generation is named only where it differs. Where
    not all is right, the medians of right tokens and of the right answer's perplexity stand
    in place of the speed.
    """
    several, tokens = len(seeds) > 1, any(min(row.exact_match) < 1 for row in rows)
    told = ("token acc", "perplexity") if tokens else ("tokens/s",)
    title = f"exact match, {len(seeds)} seed{'s' if several else ''}"
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for heading in ("op", "digits", "slice", "count", "median", "min", "max", *told):
        side: JustifyMethod = "left" if heading in ("op", "slice") else "right"
        # what is held out may have a long name: no figure is cut for it
        view.add_column(heading, justify=side, no_wrap=heading != "slice", overflow="fold")
    if several:
        view.add_column("seeds")
    if not all(row.generated.agrees for row in rows):
        view.add_column("written", no_wrap=True)
    for before, row in zip([None, *rows], rows, strict=False):
        view.add_row(*_place(row, before), *_slice_row(row, several, tokens))
    return view


def comparison_table(found: "ComparisonResults") -> Table:
    """An entry a row: what it cost, and exact match in the hardest slice of every size."""
    from curta.report.compared import asked

    seeds = len(found.seeds)
    title = f"exact match, hardest slice; median and range of {seeds} seed{'s'[: seeds > 1]}"
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    view.add_column("entry", overflow="fold")
    known = [one for row in found.rows for one in asked(row)]
    order = sorted(known, key=lambda one: (one.operator, one.digits))
    sizes = list(dict.fromkeys((one.operator, one.size) for one in order))
    for heading in ("parameters", "steps", "seconds", *(f"{o} {size}" for o, size in sizes)):
        view.add_column(heading, justify="right", no_wrap=True)
    for row in found.rows:
        view.add_row(*_comparison_row(row, sizes))
    return view


def grid_lines(grids: "Sequence[Grid]") -> list[str]:
    """Of each operator's grid, mean and worst cell over members."""
    cells = [[c for member in grid.exact_match for row in member for c in row] for grid in grids]
    return [
        f"grid of {grid.operator}, {grid.max_digits} x {grid.max_digits} digits,"
        f" {grid.count} problems a cell, all members:"
        f" mean {statistics.fmean(own):.4f}, lowest cell {min(own):.2f}"
        for grid, own in zip(grids, cells, strict=True)
    ]


def table_lines(tables: "Sequence[WholeTable]") -> list[str]:
    """For each table that was counted whole, how many problems every seed has right."""
    return [
        f"all {one.count:,} problems of {one.operator} up to {one.limit:,}: correct "
        + " ".join(f"{correct:,}" for correct in one.correct)
        for one in tables
    ]


def named_table(problems: "Sequence[NamedProblem]", seeds: Sequence[int]) -> Table:
    """The named problems: what the first seed wrote, and whether, or how many of all, are right."""
    several = len(seeds) > 1
    title = "named problems" + f", as seed {seeds[0]} writes them" * several
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for heading in ("problem", "truth", "before", "after"):
        view.add_column(heading, overflow="fold")
    view.add_column("right of all" if several else "")
    for one in problems:
        first = [_writing(written[0]) for written in (one.before, one.after)]
        asked = (Text(_short(one.problem)), Text(_short(one.truth)))
        view.add_row(*asked, *first, _named_verdict(one))
    return view


def split_lines(splits: "Sequence[Split]") -> list[str]:
    """How the problems of each table were divided, counted."""
    return [
        f"split of {one.operator}: {one.training:,} problems trained on,"
        f" {one.held_out:,} held out, {one.overlap:,} in both; {one.mirrored:,} of those held out"
        " have their twin (2+1 of 1+2) in training"
        for one in splits
    ]


def probe_table(table: "ProbeTable") -> Table:
    """All that a probe found, a line for each row; numbers whole, long texts folded."""
    from curta.report.summary import cell

    columns = {name: [row[name] for row in table.rows] for name in table.columns}
    view = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for name, values in columns.items():
        if all(isinstance(value, int | float | None) for value in values):
            widest = max(map(len, [*name.split(), *map(cell, values)]))
            view.add_column(Text(name), justify="right", width=widest)
        else:
            view.add_column(Text(name), overflow="fold", min_width=len(name))
    for row in zip(*columns.values(), strict=True):
        view.add_row(*(Text(cell(value)) for value in row))
    return view


def probes_list(run: "Run") -> Table:
    """Every probe in a line, with the operations of the run that it applies to."""
    from curta.probes import PROBES, tasks_for

    view = Table("probe", "applies to", "what it asks", box=None, padding=(0, 2, 0, 0))
    for name, probe in PROBES.items():
        operators = " ".join(task.operator for task in tasks_for(probe, run.recipe))
        view.add_row(name, Text(operators or "nothing here"), probe.summary)
    return view


def answer_line(problem: "Problem", answer: "Answer | None") -> Text:
    """`12 + 34 = 46  right`, with long numbers shortened."""
    from curta.problems.notation import written
    from curta.problems.problem import answer_text

    asked = problem.operation.text(
        tuple(_short(written(value, problem.base)) for value in problem.operands)
    )
    given = "invalid" if answer is None else _short(answer_text(answer, problem.answer_base))
    right = answer == problem.truth
    verdict = ("  right", "green") if right else ("  WRONG", "bold red")
    return Text.assemble(f"{asked} = ", (given, "bold"), verdict)


def _progress_line(now: "Step") -> str:
    loss, every = _median(now.loss), now.exact_match
    ends = f" ({min(every):.3f}..{max(every):.3f})" if len(every) > 1 else ""
    width = len(f"{now.steps:,}")
    return (
        f"step {now.step:>{width},}/{now.steps:,}  loss {loss:.4f}"
        f"  exact match {_median(every):.3f}{ends}  {now.problems_per_second:,.0f}/s"
    )


def _comparison_row(row: "ComparisonRow", sizes: Sequence[tuple[str, str]]) -> list[str]:
    seconds = row.training_seconds
    cost = (row.parameters, row.steps, None if seconds is None else round(seconds))
    shown = ["" if value is None else f"{value:,}" for value in cost]
    return [
        printable(row.name),
        *shown,
        *(_range_at(row, operator, size) for operator, size in sizes),
    ]


def _range_at(row: "ComparisonRow", operator: str, size: str) -> str:
    """Median over members, and below it the range unless all are the same."""
    from curta.report.compared import hardest, slices_of

    slices = slices_of(row, operator, size)
    if not slices:
        unplaced = [(one.operator, one.size) for one in row.unplaced]
        return "no\npositions" if (operator, size) in unplaced else row.status
    found = hardest(slices)
    same = found.least == found.most
    ends = "" if same else f"\n{found.least:.2f}..{found.most:.2f}"
    return f"{found.median:.3f}{ends}"


def _place(row: "SliceResult", before: "SliceResult | None") -> list[str]:
    """Operator and size, each only where it changes."""
    from curta.report.summary import size_name

    if before is None or row.operator != before.operator:
        return [row.operator, size_name(row)]
    return ["", "" if row.size == before.size else size_name(row)]


def _slice_row(row: "SliceResult", several: bool, tokens: bool) -> list[str | Text]:
    from curta.report.summary import perplexity

    shares = row.exact_match
    figures = [f"{value:.3f}" for value in (_median(shares), min(shares), max(shares))]
    if tokens:
        figures += [f"{_median(row.token_accuracy):.3f}", perplexity(_median(row.perplexity))]
    else:
        figures += [f"{row.generated.tokens_per_second:,}"]
    same = f"all {shares[0]:.3f}" if len(set(shares)) == 1 else ""
    every = [same or " ".join(f"{value:.3f}" for value in shares)] if several else []
    note = [] if row.generated.agrees else [Text("DIFFERS", "bold red")]
    return [printable(row.slice_name), str(row.count), *figures, *every, *note]


def _writing(one: "Written") -> Text:
    """An answer, or what was written instead of one, as it is."""
    if one.answer is not None:
        return Text(_short(one.answer))
    text = one.text
    return Text(f"invalid: {text if len(text) <= 40 else text[:39] + '…'}", "red")


def _named_verdict(problem: "NamedProblem") -> Text:
    right = [one.answer == problem.truth for one in problem.after]
    style = "green" if all(right) else "bold red"
    if len(right) > 1:
        return Text(f"{sum(right)} of {len(right)}", style)
    return Text("right" if right[0] else "WRONG", style)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _short(digits: str) -> str:
    if len(digits) <= 40:
        return digits
    return f"{digits[:12]}...{digits[-12:]} ({len(digits):,} digits)"
