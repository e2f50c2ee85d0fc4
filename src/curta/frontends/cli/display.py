"""The screen: tables, live progress on a terminal, plain lines elsewhere.

Names, summaries and texts of a run may be somebody else's. So strings are never read as markup,
and a character that has no glyph is escaped wherever it comes from. Styles are given by `Text`.
"""

import json
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import status
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.text import Text

from curta.config import system
from curta.config.errors import escape_unprintable, printable
from curta.config.table import Table, cell
from curta.config.typed import as_json
from curta.frontends.cli.arguments import form
from curta.report.figures import BANDS, band, median_cells
from curta.report.tables import short

if TYPE_CHECKING:
    from rich.console import ConsoleDimensions

    from curta.evaluation.results import Grid
    from curta.runs.loop import Progress as Step
    from curta.runs.run import Run


ROOMY = 100_000
"""Columns of a line: more than any row has."""


class Screen(Console):
    """A console that escapes unprintable characters."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """As rich does, with characters that it would leave out, such as the bell, escaped."""
        return super().render_str(escape_unprintable(text, "\n\t"), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As rich does; its own segments that move the cursor are left as they are."""
        for segment in super().render(renderable, options):
            if not segment.control:
                segment = segment._replace(text=escape_unprintable(segment.text, "\n"))
            yield segment

    def on_broken_pipe(self) -> None:
        """Leave it to the command line: rich would exit with 1, which is a verdict here."""
        raise BrokenPipeError


@lru_cache
def console() -> Screen:
    return Screen(soft_wrap=not sys.stdout.isatty())


def notice(content: RenderableType | Table) -> None:
    """Print anything; with --csv, --latex or --json only tables, and all else to stderr."""
    if isinstance(content, Group):
        for renderable in content.renderables:
            notice(renderable)
    elif not isinstance(content, Table):
        (console() if form() is None else Screen(stderr=True)).print(content)
    elif name := form():
        print(escape_unprintable(getattr(content, name)(), "\n"), end="")
    else:
        if content.title:  # above a narrow table it would be broken into lines
            console().print(Text(content.title, "table.title"))
        table, roomy = replace(content, title=""), Screen(width=ROOMY)
        # All that the cells hold, even where lines get longer than the screen; where there is no
        # terminal, each row on one line.
        width = Measurement.get(roomy, roomy.options, table)
        least = width.minimum if console().is_terminal else width.maximum
        Screen(width=max(least, console().width), soft_wrap=False).print(table)
        for note in content.notes:
            console().print(Text(note))


def print_json(result: Any) -> None:
    """Print a result, a dataclass, as JSON on one line."""
    print(json.dumps(as_json(result)))


def show(result: Any, view: Callable[[Any], RenderableType | Table]) -> None:
    """Print a result, a dataclass: as JSON if that was chosen, else as `view` draws it."""
    if form() == "json":
        print_json(result)
    else:
        notice(view(result))


def next_steps(*steps: tuple[str, str]) -> None:
    """Print what to do next: commands of `curta`, and what each does."""
    called = system.command()
    name = Path(called[0]).name
    command = name if len(called) == 1 and shutil.which(name) else " ".join(called)
    widest = max(len(words) for words, _ in steps)
    notice(Text("Next:"))
    for words, about in steps:
        notice(Text.assemble("  ", (f"{command} {words:{widest}}", "bold"), f"  {about}"))


class Learning(Progress):
    """Progress of training: a bar on a terminal, elsewhere a line at times."""

    def __init__(self, run: "Run") -> None:
        text = TextColumn("{task.description}", markup=False)
        columns = (BarColumn(24), text, TimeRemainingColumn(compact=True))
        super().__init__(*columns, console=console(), disable=not console().is_terminal)
        self.task = self.add_task("compiling ...", total=None)
        self.run, self.begun = run, time.monotonic()
        self.warm: tuple[float, int] | None = None
        """When the first steps were over, and how many these were: they are slower than others."""

    def show(self, now: "Step") -> None:
        middle, say = statistics.median, console().print
        if (validated := now.validated) is not None:
            by_operator = validated.by_operator.items()
            each = "".join(f"  {name} {cell(middle(shares))}" for name, shares in by_operator)
            say(
                f"validation at step {now.step:,}: loss {middle(validated.loss):.4f}"
                f" (training {middle(now.loss):.4f})"
                f"  tokens {cell(middle(validated.token_accuracy))}"
                f"  exact match {cell(middle(validated.exact_match))}{each}"
                f"  learning rate {validated.learning_rate:.2g}  {now.seconds:.0f} s"
            )
        shares = [float(share) for share in now.exact_match]
        ends = f" ({cell(min(shares))}..{cell(max(shares))})" if len(shares) > 1 else ""
        line = (
            f"{f'{now.repair}: ' if now.repair else ''}"
            f"step {now.step:>{len(f'{now.steps:,}')},}/{now.steps:,}  loss {middle(now.loss):.4f}"
            f"  exact match {cell(middle(shares))}{ends}  {now.examples_per_second:,.0f}/s"
        )
        self.update(self.task, total=now.steps, completed=now.step, description=line)
        moment = time.monotonic()
        if self.warm is None:
            self.warm = moment, now.step
            compiling = self.run.folder.read_info().compile_seconds or 0.0
            preparing = max(0.0, moment - self.begun - now.seconds - compiling)
            say(f"preparing: {preparing:.0f} s, compiling: {compiling:.0f} s")
        if self.disable:
            # by the clock, since what is validated, watched and saved takes its time too
            steps, seconds = now.step - self.warm[1], moment - self.warm[0]
            if not steps:
                steps, seconds = now.step, now.seconds
            say(f"{line}  {(now.steps - now.step) * seconds / steps:.0f} s left")
        # What members answer to named problems: of several the first wrong one is shown.
        members = list(now.named.values())
        for problem in members[0] if members else ():
            answers = [named[problem] for named in members]
            first = next((answer for answer in answers if not answer.correct), answers[0])
            right = sum(answer.correct for answer in answers)
            seeds = f" (right in {right} of {len(answers)} seeds)" if len(answers) > 1 else ""
            about = f"{seeds}, perplexity of the right answer {first.perplexity:,.4g}"
            say(Text("  ") + answer_line(problem, first.answer, first.correct) + Text(about))
        sys.stdout.flush()


SILENT = 10.0
"""Seconds after which a line is printed where there is no terminal."""


class Status(status.Status):
    """What is being done now, written to stderr: on a terminal in place, else a line at times."""

    def __init__(self, doing: str = "evaluating") -> None:
        super().__init__(Text(f"{doing} ..."), console=Screen(stderr=True))
        self.doing, self.printed = doing, time.monotonic()
        self.grid: Grid | None = None

    def __enter__(self) -> "Status":
        if sys.stderr.isatty():
            self.start()
        return self

    def say(self, progress: str) -> None:
        line = printable(f"{self.doing} {progress} ...")
        if self.grid is not None and not progress.startswith(f"grid of {self.grid.operator}: "):
            self.grid = None
        heat = [] if self.grid is None else [grid_map(self.grid, self.console.size)]
        self.update(Group(Text(line), *heat))
        if not sys.stderr.isatty() and time.monotonic() - self.printed > SILENT:
            print(line, file=sys.stderr, flush=True)
            self.printed = time.monotonic()

    def show_grid(self, grid: "Grid") -> None:
        """Show the filled part of a grid below the progress line."""
        self.grid = grid


SHADES = ("·", "-", "░", "▒", "▓", "█")
"""A cell of a grid on the screen, by its band: below 25 %, from 25, 50, 75 and 90 %, 100 %."""


def grid_map(grid: "Grid", room: "ConsoleDimensions") -> Text:
    """A grid as a heat map of letters, its first row below, as far as it is filled.

    Where the screen is too small a letter stands for the mean of several cells. Two letters are as
    wide as one is high.
    """
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


def answer_line(problem: str, answer: str | None, is_right: bool) -> Text:
    """Return `12+34 = 46  right`, with long numbers shortened."""
    verdict = ("  right", "green") if is_right else ("  WRONG", "bold red")
    text = "invalid" if answer is None else short(answer)
    shortened = re.sub("[0-9]+", lambda number: short(number[0]), problem)
    return Text.assemble(f"{shortened} = ", (text, "bold"), verdict)
