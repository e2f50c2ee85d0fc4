"""The screen: tables, live progress on a terminal, plain lines elsewhere.

Names, summaries and texts of a run may be somebody else's. So strings are never read as markup,
and a character that has no glyph is escaped wherever it comes from. Styles are given by `Text`.
"""

import itertools
import json
import re
import shlex
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box, status
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from curta.config import system
from curta.config.errors import QUOTED, escape_unprintable, printable, shortened
from curta.config.recipe import Recipe
from curta.config.table import Cells, Column, Table, cell, counted
from curta.config.typed import as_json
from curta.evaluation.results import Certificate
from curta.frontends.cli.arguments import form
from curta.problems.problem import Problem, answer_text
from curta.programs.machine import drawing
from curta.programs.machine.check import ConflictExample, ProgramCheck
from curta.programs.machine.drawing import GAP, Cut
from curta.programs.machine.machine import neighbour_name
from curta.report.figures import BANDS, band, median_cells
from curta.report.tables import members_table, short

if TYPE_CHECKING:
    from rich.console import ConsoleDimensions

    from curta.evaluation.results import Grid
    from curta.layouts import Layout
    from curta.layouts.program import ProgramLayout
    from curta.runs.loop import Progress as Step
    from curta.runs.run import Run


ROOMY = 100_000
"""Columns of a line: more than any row has."""


class Screen(Console):
    """A console that escapes unprintable characters."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Render text as rich does, but escape characters that it would drop, such as the bell."""
        return super().render_str(escape_unprintable(text, "\n\t"), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, and leave its segments that move the cursor alone."""
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
        middle, say, moment = statistics.median, console().print, time.monotonic()
        if self.warm is None:
            self.warm = moment, now.step
            compiling = self.run.folder.read_info().compile_seconds or 0.0
            preparing = max(0.0, moment - self.begun - now.seconds - compiling)
            say(f"preparing: {preparing:.0f} s, compiling: {compiling:.0f} s")
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
    """Return the filled part of a grid as a heat map of characters, first row at the bottom.

    On a small screen a cell of the map is the mean of several cells. Two characters are as wide as
    one is high.
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


# Longer views: squared paper, the verdict of a check, a certificate, layers.


COLOURS = ("cyan", "magenta", "yellow", "green", "red", "blue", "bright_cyan", "bright_magenta")

LINES = 24
"""Most lines of a sheet; of more, the first and the last ones are shown."""

BLOCKS = 12
"""As many blocks, likewise."""


def paper_view(
    layout: "ProgramLayout",
    tokens: Sequence[int],
    styles: Mapping[int, str] = {},
    cut: Cut = Cut(lines=LINES, blocks=BLOCKS),  # noqa: B008
) -> Group:
    """Return a sheet with as many columns as the screen has room for, from both ends.

    `styles` are of single tokens, by their time.
    """
    machine, colours = layout.machine, colours_of(layout)
    names = max(len(role.name) for role in machine.roles) + 12
    widest = 3 + max(2, *(len(machine.tokens[token].symbol) for token in tokens))
    columns = min(max(3, (console().width - names) // widest - 2), cut.columns)
    sheet = drawing.text(machine, list(tokens), cut._replace(columns=columns))
    views: list[RenderableType] = []
    for block in sheet.blocks:
        if block.name == GAP:
            views.append(Text(GAP))
            continue
        views.append(view := _block_table(block.name, padding=(0, 1)))
        for axis in sheet.axes[1::-1]:  # roles stand below the first axis, lines below the second
            style = "" if axis == sheet.axes[0] else "dim"
            view.add_column(axis, style=style, justify="right", no_wrap=True)
        for column in sheet.columns:
            view.add_column(column, justify="right", no_wrap=True)
        for line in block.lines:
            rows = drawing.ruled(line)
            for row, (role, marks) in enumerate(rows):
                cells = [Text() for _ in marks]
                for square, mark in zip(cells, marks, strict=True):
                    if mark is not None:
                        colour = styles.get(mark.time, colours[mark.role])
                        square.append(mark.symbol, f"bold {colour}")
                name = [line.name if row == 0 else ""] if len(sheet.axes) > 1 else []
                is_last = row == len(rows) - 1
                view.add_row(*name, Text(role, colours[role]), *cells, end_section=is_last)
            if line.name == GAP:
                view.add_row(GAP, end_section=True)
    return Group(*views)


def _block_table(name: str, **settings: Any) -> RichTable:
    """Return an empty table of ruled squares, with the name of its block above."""
    title = Text(name) if name else None
    settings |= {"border_style": "dim", "header_style": "dim", "title_justify": "left"}
    return RichTable(title=title, box=box.SQUARE, **settings)


def colours_of(layout: "ProgramLayout") -> dict[str, str]:
    """Return a colour for each role; the sign of equality and the end are the terminal's own."""
    roles = [role.name for role in layout.machine.roles]
    coloured = [role for role in roles if role not in ("equals", "end")]
    return dict.fromkeys(roles, "") | dict(zip(coloured, itertools.cycle(COLOURS), strict=False))


def problem_view(layout: "Layout", problem: Problem) -> Group:
    """Return a problem as the layout writes it: on squared paper, or as a line and its tokens."""
    import jax.numpy as jnp
    import numpy as np

    from curta.layouts.program import ProgramLayout

    tokens, prompt = layout.tokens_of(problem)
    if isinstance(layout, ProgramLayout):
        answered = layout.answer(problem, tokens[prompt:])
        answer = "no answer" if answered is None else answer_text(answered, problem.answer_base)
        if answered != problem.truth:
            answer += f", and the truth is {problem.truth_text}"
        about = f"{prompt:,} tokens are given, {len(tokens) - prompt:,} are written"
        return Group(f"{problem} = {answer}: {about}", paper_view(layout, tokens))
    _, where = layout.follow(jnp.asarray(tokens)[None], jnp.array([len(tokens)]))
    roles, coordinates = np.asarray(where.role[0]), np.asarray(where.coordinates[0])
    colours = [COLOURS[role % len(COLOURS)] for role in roles]
    symbols = [layout.characters[token] for token in tokens]
    style = lambda value, row: colours[row[0]]
    columns = [
        Column("index", "at", str),
        Column("token", words=True, style=style),
        Column("role", words=True, style=style),
        *(Column(axis, text=str) for axis in layout.axes),
        Column("scored", text=lambda scored: "scored" if scored else "", words=True),
    ]
    rows = [
        [i, symbol, layout.roles[roles[i]].name, *coordinates[i].tolist(), i >= prompt]
        for i, symbol in enumerate(symbols)
    ]
    line = Text.assemble(*zip(symbols, colours, strict=True))
    return Group(f"layout {layout.name}: {layout.summary}", line, Table("", columns, rows))


def steps_table(layout: "ProgramLayout", problem: Problem) -> Table:
    """Every token with its move, its square and what it sees."""
    tokens, prompt = layout.tokens_of(problem)
    colours, axes, rows = colours_of(layout), layout.axes, list[Cells]()
    for step in drawing.steps(layout.machine, layout.windows, tokens, prompt):
        moves = [f"{axis} {by}" for axis, by in zip(axes, step.move, strict=True) if by != "0"]
        if len(moves) == len(axes) > 1 and all(by.startswith("home") for by in step.move):
            offsets = zip(axes, step.move, strict=True)
            moves = ["home", *(f"{axis} {by[4:]}" for axis, by in offsets if by[4:])]
        square = ", ".join(f"{axis} {at}" for axis, at in zip(axes, step.square, strict=True))
        sees = ", ".join(f"{name}: {symbol}" for name, symbol in step.sees or ())
        if not sees and (step.sees is not None or not step.in_prompt):
            sees = "itself"
        if step.role == "end":
            sees = ""
        move = ", ".join(moves) or "stays"
        rows.append([step.time, step.symbol, step.role, move, square, sees, step.in_prompt])
    columns = [
        Column("", "index", str, style=lambda index, row: "dim"),
        Column("token", words=True, style=lambda token, row: f"bold {colours[row[2]]}"),
        Column("role", words=True, style=lambda role, row: colours[role]),
        *(Column(name, words=True, fold=True) for name in ("move", "square", "neighbours")),
        Column("given", on_screen=False),
    ]
    return Table("", columns, rows)


def windows_view(layout: "ProgramLayout") -> Group:
    """Return, for each role, the squares that it sees and what it sees from everywhere."""
    machine, colours, views = layout.machine, colours_of(layout), list[RenderableType]()

    def signed(name: str) -> str:  # `+1`, `0`, `-1`; margins unchanged
        return f"{int(name):+d}" if name.lstrip("-").isdecimal() and name != "0" else name

    for role, neighbours in layout.windows.items():
        names = ", ".join(neighbour_name(machine.axes, each) for each in neighbours)
        about = f" sees {names or 'itself alone'}"
        views.append(Text.assemble("\n", (role, f"bold {colours[role]}"), about))
        sheet = drawing.window(machine, role, neighbours)
        for block in sheet.blocks if neighbours else ():
            views.append(view := _block_table(block.name, show_lines=True))
            view.add_column(" ".join(sheet.axes[1:2]), style="dim", justify="right")
            by_column = zip(*(line.squares for line in block.lines), strict=True)
            used = [any(squares) for squares in by_column]
            for column in itertools.compress(sheet.columns, used):
                head = f"{sheet.axes[0]} {signed(column)}"
                view.add_column(head, justify="center", no_wrap=True)
            for line in block.lines:
                cells = []
                for square in itertools.compress(line.squares, used):
                    # the query itself, time 0, stands out
                    texts = [
                        Text(f"[{mark.symbol}]", f"bold {colours[mark.role]}")
                        if mark.time == 0
                        else Text(mark.symbol, colours[mark.role])
                        for mark in square
                    ]
                    cells.append(Text("\n").join(texts))
                view.add_row(signed(line.name), *cells)
    broadcast = [
        f"{role.name} ({' and '.join(role.broadcast)})" for role in machine.roles if role.broadcast
    ]
    if broadcast:
        views.append(Text(f"\nfound from everywhere on an axis: {', '.join(broadcast)}"))
    return Group(*views)


# A certificate.

DRAWN = 5
"""Most wrong windows that are drawn."""


def certificate_view(certificate: Certificate, layout: "ProgramLayout") -> Group:
    """Return a certificate in words, with wrong windows shown in a problem if the code is known."""
    from curta.report.certificate import headline, plain_words, text_to

    style = "green" if certificate.perfect else "bold red"
    head, wrong = Text(headline(certificate), style), certificate.wrong[:DRAWN]
    views: list[RenderableType] = [head, Text(plain_words(certificate)), members_table(certificate)]
    for window in wrong:
        caption = Text.assemble(
            f"\nmember {window.member} writes ", (window.written, "bold red"), " where ",
            (window.expected, "bold green"), f" is right; margin {window.margin:.3g}, ",
            "shown in training" if window.shown else "never shown in training",
        )  # fmt: skip
        views.append(caption)
        text = text_to(layout, window)
        if text is None:
            views.append(Text(f"  after {'; '.join(window.window)}"))
            continue
        last = len(text) - 1
        neighbours = drawing.neighbours_of(layout.machine, layout.windows, text, last)
        styles = dict.fromkeys(neighbours, "underline") | {last: "reverse red"}
        where = f"  in {window.problem}, after token {last + 1:,}; what it sees is underlined"
        sheet = paper_view(layout, text, styles, Cut(columns=9, lines=3, around=last))
        views += [Text(where), sheet]
    hidden = sum(member.wrong for member in certificate.members) - len(wrong)
    if hidden > 0:
        views.append(Text(f"and {hidden:,} more", "dim"))
    return Group(*views)


# The verdict of `curta check`.

MANY = 60_000
"""Windows above which a program is hard to learn at default settings."""


def check_lines(check: ProgramCheck, train: str) -> Iterator[Text]:
    """Yield the results of a check line by line; the last says whether the program is learnable.

    `train` is the argument that `curta train` takes for it, if any.
    """
    program, machine = check.program, check.machine
    summary = f": {program.summary}" if program.summary != program.name else ""
    yield Text(f"{program.name} ({program.operator}){summary}", style="bold")
    yield Text(
        f"  {counted(len(machine.tokens), 'token')}, {counted(len(machine.roles), 'role')},"
        f" {counted(len({token.move for token in machine.tokens}), 'move')};"
        f" {check.tokens_per_second:,} tokens a second are recorded"
    )
    for size in check.sizes:
        yield Text(
            f"  up to {counted(size.digits, 'digit')}: {counted(size.problems, 'problem')},"
            f" {size.middle:,} tokens in the median, {size.longest:,} at most"
        )
    problems = sum(size.problems for size in check.sizes)
    if check.wrongs:
        yield Text(f"  answers: {check.wrongs:,} of {problems:,} are wrong", style="red")
    else:
        yield Text(f"  answers: all {problems:,} are correct", style="green")
    for answer in check.wrong:
        text = program.problem_text(answer.operands)
        wrote = "no answer can be read"
        if answer.answer is not None:
            wrote = f"wrote {shortened(answer_text(answer.answer), QUOTED)}"
        yield Text(f"    {text}: {wrote}, should be {shortened(answer_text(answer.truth), QUOTED)}")
    role, role_names = program.format.answer.role, [role.name for role in machine.roles]
    if check.wrongs and role not in role_names:
        yield Text(f"  the answer is read from role {role!r}, which the program never writes")
    answers = [token for token in machine.tokens if token.role == role and token.value is None]
    digits = [token.symbol for token in answers if token.symbol.isdecimal()]
    if check.wrongs and digits:
        yield Text(
            f"  role {role!r} has digits written as text: write {digits[0]}, not {digits[0]!r}"
        )
    yield from _window_lines(check)
    if check.unstable:
        text = program.problem_text(check.unstable)
        yield Text(f"  not deterministic: two recordings of {text} differ", style="red")
    for conflict in check.conflicts:
        yield from _conflict_lines(check, conflict)
    for growing in check.growing:
        tokens = f"symbols of role {growing.role!r}"
        advice = "write a large number digit by digit, or a mark for each step"
        if growing.axis:
            tokens = f"moves of role {growing.role!r} along {growing.axis!r}"
            advice = "go home first, or move one square at a time"
        yield Text(
            f"  {tokens} grow with the problems (... {', '.join(growing.longest)}), so longer"
            f" problems need tokens that training never shows: {advice}",
            style="yellow",
        )
    if check.closed:
        yield Text("  certificate: closes: no text of any length has other windows", style="green")
    elif check.closed is not None:
        yield Text(f"  certificate: stays saturated: {check.obstacle}", style="yellow")
    reasons = [
        *["it writes different texts for the same problem"] * bool(check.unstable),
        *["some answers are wrong"] * bool(check.wrongs),
        *["one window is followed by different tokens"] * bool(check.conflicts),
    ]
    if reasons:
        yield Text(f"It cannot be learned: {', and '.join(reasons)}.", style="bold red")
        return
    limit = ", but only at lengths of training: its tokens grow" if check.growing else ""
    step = f" Next: curta train {shlex.quote(train)}" if train else ""
    yield Text(f"It can be learned{limit}.{step}", style="bold yellow" if limit else "bold green")


def _window_lines(check: ProgramCheck) -> Iterator[Text]:
    """Yield the number of windows and what each role sees, with advice if there are many."""
    if check.program.run is None:
        yield Text("  no algorithm: the answer is learned whole, by attention to all tokens")
        return
    widest = max(map(len, check.windows.values()), default=0)
    yield Text(
        f"  windows: {check.distinct:,} distinct, of about {check.expected:,}; at most"
        f" {counted(widest, 'neighbour')}"
    )
    for role, neighbours in check.windows.items():
        names = ", ".join(neighbour_name(check.machine.axes, each) for each in neighbours)
        yield Text(f"    {role} sees {names or 'itself alone'}", style="dim")
    if check.expected > MANY:
        role, count = max(check.by_role.items(), key=lambda item: item[1])
        seen = ", ".join(
            f"{other} ({counted(check.symbols[other], 'symbol')})"
            for other, _ in check.windows[role]
        )
        yield Text(
            f"  {check.expected:,} windows or more are many: {count / check.distinct:.0%} are of"
            f" role {role!r} ({counted(check.symbols[role], 'symbol')}), which sees {seen}. Take a"
            " step in several tokens, or keep carries small; else train longer, with a wider model",
            style="yellow",
        )


def _conflict_lines(check: ProgramCheck, conflict: ConflictExample) -> Iterator[Text]:
    """Two windows that look alike, what follows each, and what would tell them apart."""
    windows = "1 window is" if conflict.count == 1 else f"{conflict.count:,} windows are"
    yield Text(
        f"  conflict in role {conflict.role!r}: {windows} followed by different tokens", style="red"
    )
    cells = (f"{cell.place}: {cell.symbol or 'nothing'}" for cell in conflict.window)
    yield Text(f"    it sees     {', '.join(cells)}")
    follows = zip(conflict.problems, conflict.steps, conflict.follows, strict=True)
    for problem, step, token in follows:
        text = check.program.problem_text(problem)
        yield Text(f"    then        {token}   in {text}, after token {step + 1}")
    yield Text(f"    {conflict.hint}")


# The layers of a model.


def layers_view(recipe: Recipe, problem: Problem | None) -> Group:
    """Return every weight with its cost, and a line on the texts to which the costs apply.

    These are the texts of the problem, or without one the longest texts of training.
    """
    from curta.layouts.texts import layout_of
    from curta.model.model_cost import layers, scored_keys

    sides = lambda shape: " x ".join(f"{side:,}" for side in shape)
    lengths = scored_keys(recipe, problem)
    tokens, rows, costs = lengths.tokens, list[Cells](), list[tuple[int, ...]]()
    for layer in layers(recipe, layout_of(recipe), lengths.keys):
        activations = layer.activation_bytes * tokens
        costs.append((layer.parameters, layer.multiply_adds, layer.bytes, activations))
        inputs = (tokens, layer.inputs) if layer.inputs else (tokens,)
        rows.append([layer.name, layer.shape, inputs, (tokens, layer.outputs), *costs[-1]])
    columns = [
        Column("layer", words=True, fold=True),
        *(Column(name, text=sides) for name in ("weight", "input", "output")),
        *(Column(name) for name in ("parameters", "mult-adds a token", "bytes", "activations")),
    ]
    sums = [sum(column) for column in zip(*costs, strict=True)]
    texts = "this problem" if problem is not None else "the longest in training"
    return Group(
        Table("", columns, rows, [["total", (), (), (), *sums]]),
        f"Attention: {lengths.keys:,} keys scored for each query, in texts of up to {tokens:,}"
        f" tokens ({texts}), keys that it may not see included.",
        "Multiply-adds count matrix products, for a token that passes through every layer;"
        " look-ups, norms and what positions calculate are left out. Blocks are stacked along"
        " the first axis of a weight's shape.",
        "Inputs and outputs, tokens x features, are for one text and one block; activations"
        " are the bytes that the outputs of all blocks and recurrences take.",
    )
