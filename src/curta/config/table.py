"""Tables as data, written to a screen, as CSV, JSON or LaTeX.

Cells are plain values; a column says how to format them for people.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table as View

MISSING = "—"
"""Takes the place of a value that was not measured."""


def cell(value: object) -> str:
    """Format a value: `0.997`, `1,000`, `yes`, `3 1 4`; a dash for None.

    Only 1 is `1.000`, and only 0 is `0.000`: 0.9996 is `>0.999`.
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, list | tuple):
        return " ".join(map(cell, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def counted(count: int, noun: str) -> str:
    """Format a count and a noun: `1 member`, `8 members`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def spanned(bounds: Sequence[int], noun: str) -> str:
    """Format a range and a noun: `1 to 10 digits`, `5 digits`, `1 digit`."""
    first, last = bounds
    return counted(last, noun) if first == last else f"{first:,} to {last:,} {noun}s"


def sized(size: int | str) -> str:
    """Format a size of problems: `20 digits`, `1 digit`, `50/25 digits`."""
    return f"{size} digit{'' if str(size) == '1' else 's'}"


def decimal(value: float, digits: int = 3) -> str:
    """Format a number with `digits` decimals; nothing is rounded to 0 or 1.

    >>> decimal(0.25), decimal(0.9996), decimal(0.00001, 4), decimal(1.0), decimal(-0.0001)
    ('0.250', '>0.999', '<0.0001', '1.000', '>-0.001')
    """
    last = 10.0**-digits
    if 0 < abs(value) < last / 2:
        return f"<{last:.{digits}f}" if value > 0 else f">-{last:.{digits}f}"
    return f">{1 - last:.{digits}f}" if 1 - last / 2 <= value < 1 else f"{value:.{digits}f}"


Cells = Sequence[Any]
"""A value for each column."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    heading: str
    """The heading for people."""
    key: str = ""
    """The name in CSV and JSON; by default the heading."""
    text: Callable[[Any], str] = cell
    """Formats a value for people."""
    words: bool = False
    """Whether it is left-aligned."""
    fold: bool = False
    """Whether long values break into lines."""
    once: bool = False
    """Whether to omit values that repeat the row above; for the first columns only."""
    on_screen: bool = True
    """Whether people see it; else it is in CSV and JSON only."""
    in_csv: bool = True
    """Whether it is in CSV and JSON; else people see it only."""
    style: Callable[[Any, Cells], str] = lambda value, row: ""
    """Returns the style of a value on a terminal, given the row."""

    @property
    def name(self) -> str:
        """The name in CSV and JSON."""
        return self.key or self.heading.replace("\n", " ")


@dataclass(frozen=True)
class Table:
    """A table of results, to print, or to write as CSV, JSON or LaTeX."""

    title: str
    """The title."""
    columns: Sequence[Column]
    """The columns."""
    rows: Sequence[Cells]
    """The rows, each with a value for every column."""
    foot: Sequence[Cells] = ()
    """Summary rows, for people only."""
    notes: Sequence[str] = ()
    """Sentences below the table, for people only."""

    def __rich__(self) -> "View":
        """Return the table as rich draws it on a terminal."""
        from rich import box
        from rich.table import Table as View
        from rich.text import Text

        title, texts = Text(self.title) if self.title else None, self.texts()
        view = View(
            title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False
        )
        for column in self.screen_columns:
            side: JustifyMethod = "left" if column.words else "right"
            view.add_column(
                Text(column.heading), justify=side, no_wrap=not column.fold, overflow="fold"
            )
        for number, (row, values) in enumerate(zip(texts, [*self.rows, *self.foot], strict=True)):
            cells = zip(self.columns, values, strict=True)
            styles = [column.style(value, values) for column, value in cells if column.on_screen]
            view.add_row(*map(Text, row, styles), style="dim" if number >= len(self.rows) else "")
        return view

    @property
    def screen_columns(self) -> list[Column]:
        """The columns that people see."""
        return [column for column in self.columns if column.on_screen]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row, from the names of columns to values."""
        return [
            {c.name: value for c, value in zip(self.columns, row, strict=True) if c.in_csv}
            for row in self.rows
        ]

    def json(self) -> str:
        """Return the records as JSON on one line."""
        return json.dumps(self.records()) + "\n"

    def csv(self) -> str:
        """Return CSV with a header line; None becomes an empty field."""
        out = io.StringIO()
        names = [column.name for column in self.columns if column.in_csv]
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        for record in self.records():
            writer.writerow({name: _plain(value) for name, value in record.items()})
        return out.getvalue()

    def latex(self) -> str:
        """Return a LaTeX `tabular` with booktabs rules and the columns that people see."""
        columns = self.screen_columns
        comments = filter(None, [self.title, *self.notes, r"The rules need \usepackage{booktabs}."])
        heading, *rows = (
            " & ".join(map(escaped, row)) + r" \\"
            for row in [[column.heading for column in columns], *self.texts()]
        )
        body, foot = rows[: len(self.rows)], rows[len(self.rows) :]
        lines = [
            *(f"% {' '.join(line.split())}" for line in comments),
            f"\\begin{{tabular}}{{{''.join('l' if c.words else 'r' for c in columns)}}}",
            "\\toprule",
            heading,
            "\\midrule",
            *body,
            *(["\\midrule", *foot] if foot else []),
            "\\bottomrule",
            "\\end{tabular}",
        ]
        return "\n".join(lines) + "\n"

    def texts(self) -> list[list[str]]:
        """Return the text of every cell that people see, with the foot last."""
        above: Cells = ()
        texts = []
        for row in [*self.rows, *self.foot]:
            line, repeats = [], bool(above)
            for place, (column, value) in enumerate(zip(self.columns, row, strict=True)):
                repeats = repeats and column.once and value == above[place]
                if column.on_screen:
                    line.append("" if repeats else column.text(value))
            texts.append(line)
            above = row
        return texts


def _plain(value: object) -> str:
    """Format a value for programs: `true`, `0.25`, an empty string for None."""
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


SPECIAL = {letter: rf"\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    MISSING: "---",
    "\n": " ",
}
"""LaTeX for characters that it does not print."""


def escaped(text: str) -> str:
    r"""Escape a text for LaTeX. A leading * or [ would be an option of the \\ before it.

    >>> escaped("50%"), escaped("a_b"), escaped("*"), escaped("-0.3 to -0.1")
    ('50\\%', 'a\\_b', '{*}', '$-$0.3 to $-$0.1')
    """
    latex = "".join(SPECIAL.get(character, character) for character in text)
    latex = re.sub(r"(?<!\S)-(?=\d|$)", "$-$", latex)
    return f"{{{latex[0]}}}{latex[1:]}" if latex[:1] in ("*", "[") else latex
