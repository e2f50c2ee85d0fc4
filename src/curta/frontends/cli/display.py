"""What is printed: live progress on a terminal, plain lines elsewhere."""

import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from curta.config.errors import printable
from curta.config.table import Column, Table, cell, counted, spanned
from curta.frontends.cli.certified import certificate as certificate
from curta.frontends.cli.screen import Screen
from curta.frontends.cli.screen import console as console
from curta.frontends.cli.screen import notice as notice

if TYPE_CHECKING:
    from rich.console import ConsoleDimensions

    from curta.config.recipe import Recipe
    from curta.evaluation.results import Grid, WholeTable
    from curta.export.dataset import Summary
    from curta.frontends.run import Run
    from curta.problems.operations import Answer
    from curta.problems.problem import Problem
    from curta.problems.sizes import Split
    from curta.runs.comparison_spec import Row
    from curta.runs.record import Progress as Step
    from curta.runs.record import Validated
    from curta.runs.session import Session


def opening(run: "Run") -> Text:
    training, count = run.recipe.training, len(run.seeds)
    digits = spanned(run.folder.read_info().trained_digits, "digit")
    shown = "window" if run.recipe.positions.name == "window" else "problem"
    return Text.assemble(
        (printable(run.name), "bold"),
        f": {printable(run.recipe.summary)}\n",
        f"training {counted(count, 'member')} on {digits},",
        f" {counted(training.steps, 'step')} of {counted(training.batch, shown)}",
        _evaluation_line(run),
    )


def _evaluation_line(run: "Run") -> str:
    """What an evaluation will take that is to follow, where that is long."""
    from curta.evaluation.expected import between, total

    wanted = run.code_known and "evaluating" in run.missing()
    least, most = total(run.recipe, run.layout, len(run.seeds)) if wanted else (0.0, 0.0)
    return f"\nevaluation: about {between(least, most)}" if most > SILENT else ""


def entry_line(row: "Row", far: str) -> Text:
    """Which entry of a comparison comes now, and how far that is."""
    summary = printable(row.recipe.summary)
    return Text.assemble((printable(row.name), "bold"), f" ({far}): {summary}")


class Learning:
    """Progress of training."""

    def __init__(self, run: "Session") -> None:
        self.run, self.begun = run, time.monotonic()
        self.warm: tuple[float, int] | None = None
        """When the first steps were over, and how many these were: they are slower than others."""
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
        if now.validated is not None:
            console().print(_validation_line(now, now.validated), markup=False, highlight=False)
        self.bar.update(self.task, total=now.steps, completed=now.step, description=line)
        moment = time.monotonic()
        if self.warm is None:
            self.warm = moment, now.step
            compiling = self.run.folder.read_info().compile_seconds or 0.0
            preparing = max(0.0, moment - self.begun - now.seconds - compiling)
            console().print(f"preparing: {preparing:.0f} s, compiling: {compiling:.0f} s")
        begun, first = self.warm
        if not self.live:
            # by the clock, since what is validated, watched and saved takes its time too
            taken = (
                (moment - begun) / (now.step - first)
                if now.step > first
                else (now.seconds / now.step)
            )
            console().print(f"{line}  {(now.steps - now.step) * taken:.0f} s left")
        for text in _named_lines(now):
            console().print(text)
        sys.stdout.flush()


SILENT = 10.0
"""Seconds after which a line is printed where there is no terminal."""


class Status:
    """What is being done now, written to stderr: on a terminal in place, else a line at times."""

    def __init__(self, doing: str = "evaluating") -> None:
        self.doing, self.said = doing, time.monotonic()
        self.grid: Grid | None = None
        self.status = Screen(stderr=True).status(Text(f"{doing} ..."))

    def __enter__(self) -> "Status":
        if sys.stderr.isatty():
            self.status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.status.stop()

    def say(self, what: str) -> None:
        line = printable(f"{self.doing} {what} ...")
        if self.grid is not None and not what.startswith(f"grid of {self.grid.operator}: "):
            self.grid = None
        heat = [] if self.grid is None else [grid_map(self.grid, self.status.console.size)]
        self.status.update(Group(Text(line), *heat))
        if not sys.stderr.isatty() and time.monotonic() - self.said > SILENT:
            print(line, file=sys.stderr, flush=True)
            self.said = time.monotonic()

    def show_grid(self, grid: "Grid") -> None:
        """Show the filled part of a grid below the progress line."""
        self.grid = grid


def _named_lines(now: "Step") -> Iterator[Text]:
    """For each named problem what members answer at a checkpoint: `12+34 = 47  WRONG`.

    Of several members the first wrong one is shown, and how many are right.
    """
    from curta.report.tables.evaluation import short

    members = list(now.named.values())
    for problem in members[0] if members else ():
        answers = [named[problem] for named in members]
        shown = next((one for one in answers if not one.correct), answers[0])
        verdict = ("  right", "green") if shown.correct else ("  WRONG", "bold red")
        right = sum(one.correct for one in answers)
        seeds = f" (right in {right} of {len(answers)} seeds)" if len(answers) > 1 else ""
        text = "invalid" if shown.answer is None else short(shown.answer)
        perplexity = f", perplexity of the right answer {shown.perplexity:,.4g}"
        asked = re.sub(r"[0-9]+", lambda number: short(number[0]), problem)
        yield Text.assemble(f"  {asked} = ", (text, "bold"), verdict, seeds, perplexity)


SHADES = ("·", "-", "░", "▒", "▓", "█")
"""A cell of a grid on the screen, by its band: below 25 %, from 25, 50, 75 and 90 %, 100 %."""


def grid_map(grid: "Grid", room: "ConsoleDimensions") -> Text:
    """A grid as a heat map of letters, its first row below, as far as it is filled.

    Where the screen is too small a letter stands for the mean of several cells. Two letters are as
    wide as one is high.
    """
    from curta.report.figures import BANDS, band, median_cells

    cells, size = median_cells(grid.exact_match), grid.max_digits
    step = max(1, -(-size // max(1, min(room.height - 6, (room.width - 8) // 2))))
    lines = [
        Text(f"  {grid.operator}, exact match by digits of both operands, median of the seeds")
    ]
    for first in reversed(range(0, size, step)):
        line = Text(f"{first + 1:>4} ")
        for second in range(0, size, step):
            part = [v for row in cells[first : first + step] for v in row[second : second + step]]
            level = band(statistics.fmean(part)) if part else 0
            line.append(2 * SHADES[level] if part else "  ", "blue")
        lines.append(line)
    legend = "  ".join(f"{shade} {name}" for shade, (_, name, _) in zip(SHADES, BANDS, strict=True))
    return Text("\n").join([*lines, Text(f"     {legend}")])


def data_lines(summary: "Summary", out: str, seconds: float) -> list[str]:
    """What a data set holds, and how many problems stand in two splits."""
    whole = sum(summary.rows.values())
    rows = ", ".join(f"{split} {count:,}" for split, count in summary.rows.items())
    return [
        f"rows: {rows}",
        f"problems in more than one split: {summary.overlap}",
        f"Data set: {out} ({whole / seconds:,.0f} rows a second)",
    ]


def grid_lines(grids: "Sequence[Grid]") -> list[str]:
    """Of each operator's grid, mean and worst cell over members."""
    cells = [[c for member in grid.exact_match for row in member for c in row] for grid in grids]
    return [
        f"grid of {grid.operator}, {grid.max_digits} x {grid.max_digits} digits,"
        f" {counted(grid.count, 'problem')} a cell, all members:"
        f" mean {cell(statistics.fmean(own))}, lowest cell {cell(min(own))}"
        for grid, own in zip(grids, cells, strict=True)
    ]


def table_lines(tables: "Sequence[WholeTable]") -> list[str]:
    """For each table that was counted whole, how many problems every seed has right."""
    return [
        f"all {one.count:,} problems of {one.operator} up to {one.limit:,}: correct "
        + " ".join(f"{correct:,}" for correct in one.correct)
        for one in tables
    ]


def split_lines(splits: "Sequence[Split]") -> list[str]:
    """How the problems of each table were divided, counted."""
    return [
        f"split of {one.operator}: {one.training:,} problems trained on,"
        f" {one.held_out:,} held out or drawn to test, {one.overlap:,} in both; {one.mirrored:,} of"
        " the latter have their twin (2+1 of 1+2) in training"
        for one in splits
    ]


def probes_list(recipe: "Recipe") -> Table:
    """Every probe in a line, with the operations of the recipe that it applies to."""
    from curta.probes import tasks_for
    from curta.probes.settings import SETTINGS

    names = (("probe", False), ("applies to", False), ("what it asks", True))
    columns = [Column(name, words=True, fold=fold) for name, fold in names]
    rows = []
    for name, probe in SETTINGS.items():
        operators = " ".join(task.operator for task in tasks_for(probe, recipe))
        rows.append([name, operators or "nothing here", probe.summary])
    return Table("", columns, rows)


def answer_line(problem: "Problem", answer: "Answer | None") -> Text:
    """`12 + 34 = 46  right`, with long numbers shortened."""
    from curta.problems.numerals import written
    from curta.problems.problem import answer_text
    from curta.report.tables.evaluation import short

    asked = problem.operation.text(
        tuple(short(written(value, problem.base)) for value in problem.operands)
    )
    given = "invalid" if answer is None else short(answer_text(answer, problem.answer_base))
    right = answer == problem.truth
    verdict = ("  right", "green") if right else ("  WRONG", "bold red")
    return Text.assemble(f"{asked} = ", (given, "bold"), verdict)


def _validation_line(now: "Step", found: "Validated") -> str:
    """Medians over members of what a validation found."""
    middle = statistics.median
    each = "".join(f"  {name} {cell(middle(one))}" for name, one in found.by_operator.items())
    return (
        f"validation at step {now.step:,}: loss {middle(found.loss):.4f}"
        f" (training {middle(now.loss):.4f})  tokens {cell(middle(found.token_accuracy))}"
        f"  exact match {cell(middle(found.exact_match))}{each}"
        f"  learning rate {found.learning_rate:.2g}  {now.seconds:.0f} s"
    )


def _progress_line(now: "Step") -> str:
    loss, every = statistics.median(now.loss), [float(one) for one in now.exact_match]
    ends = f" ({cell(min(every))}..{cell(max(every))})" if len(every) > 1 else ""
    width = len(f"{now.steps:,}")
    repair = f"{now.repair}: " if now.repair else ""
    return (
        f"{repair}step {now.step:>{width},}/{now.steps:,}  loss {loss:.4f}"
        f"  exact match {cell(statistics.median(every))}{ends}  {now.examples_per_second:,.0f}/s"
    )
