"""A table as data, and the three ways in which it is written: on a screen, as CSV, as LaTeX.

Whatever prints a table makes one of these. Its cells are plain values: a column says how people
read them, and CSV has them as they are.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table as View

MISSING = "—"
"""Stands where nothing was measured."""

WORD = 20
"""Letters of a word that is not broken, in a column that folds."""


def cell(value: object) -> str:
    """A value of any table: `0.997`, `1,000`, `yes`, `3 1 4`; a dash where there is none.

    Of numbers from 0 to 1 only 1 is `1.000`, and only 0 is `0.000`: 0.9996 is `>0.999`.
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
    """`1 member`, `8 members`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def spanned(bounds: Sequence[int], noun: str) -> str:
    """`1 to 10 digits`, `5 digits`, `1 digit`."""
    first, last = bounds
    return counted(last, noun) if first == last else f"{first:,} to {last:,} {noun}s"


def sized(size: int | str) -> str:
    """A size of problems: `20 digits`, `1 digit`, `50/25 digits`."""
    return f"{size} digit{'' if str(size) == '1' else 's'}"


def decimal(value: float, digits: int = 3) -> str:
    """So many decimals; what they would make 0 or 1 is said to lie beside it.

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
    """A column: its heading, and how its values are written for people (`text`).

    In CSV it is called `key`, by default as its heading. Words stand on the left, and lines are
    broken in those that `fold`; the first columns may say `once`, and leave out what is the same
    as in the row above. What is too much for a screen is not `shown`, and stands in CSV alone; what
    sums other columns up for the eye is not `kept` there. `style` is a screen's, by a value and its
    row.
    """

    heading: str
    key: str = ""
    text: Callable[[Any], str] = cell
    words: bool = False
    fold: bool = False
    once: bool = False
    shown: bool = True
    kept: bool = True
    style: Callable[[Any, Cells], str] = lambda value, row: ""

    @property
    def name(self) -> str:
        """What it is called where tables are read by programs."""
        return self.key or self.heading.replace("\n", " ")

    def least(self, texts: Sequence[str]) -> int | None:
        """How many letters wide it has to be: its lines, or where it folds its words, are whole."""
        parts = "\n".join([self.heading, *texts])
        words = parts.split() if self.fold else parts.splitlines()
        most = max(map(len, words), default=0)
        return (min(WORD, most) if self.fold else most) or None


@dataclass(frozen=True)
class Table:
    """Columns and rows; `foot` sums them up and `notes` stand below, both for people alone."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Cells]
    foot: Sequence[Cells] = ()
    notes: Sequence[str] = ()

    def __rich__(self) -> "View":
        """Return the table as a terminal draws it."""
        from rich import box
        from rich.table import Table as View
        from rich.text import Text

        title, texts = Text(self.title) if self.title else None, self.texts()
        view = View(
            title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False
        )
        for place, column in enumerate(self.seen()):
            side: JustifyMethod = "left" if column.words else "right"
            least = column.least([row[place] for row in texts])
            view.add_column(
                Text(column.heading), justify=side, no_wrap=not column.fold, overflow="fold",
                min_width=least,
            )  # fmt: skip
        for number, (values, row) in enumerate(zip([*self.rows, *self.foot], texts, strict=True)):
            styles = [
                column.style(value, values)
                for column, value in zip(self.columns, values, strict=True)
                if column.shown
            ]
            view.add_row(*map(Text, row, styles), style="dim" if number >= len(self.rows) else "")
        return view

    def seen(self) -> list[Column]:
        """Return the columns that are shown."""
        return [column for column in self.columns if column.shown]

    def records(self) -> list[dict[str, Any]]:
        """Return each row as values by the names of their columns."""
        return [
            {c.name: value for c, value in zip(self.columns, row, strict=True) if c.kept}
            for row in self.rows
        ]

    def json(self) -> str:
        """Return its `records` on one line."""
        return json.dumps(self.records(), ensure_ascii=False) + "\n"

    def csv(self) -> str:
        """Return one line of names and one for each row; an unknown value is empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([column.name for column in self.columns if column.kept])
        for row in self.rows:
            cells = zip(self.columns, row, strict=True)
            writer.writerow([_plain(value) for column, value in cells if column.kept])
        return out.getvalue()

    def latex(self) -> str:
        """Return a `tabular` with the rules of the package booktabs, as it is on a screen."""
        columns, texts = self.seen(), self.texts()
        comments = filter(None, [self.title, *self.notes, r"The rules need \usepackage{booktabs}."])
        heading, *rows = (
            " & ".join(map(escaped, row)) + r" \\"
            for row in [[column.heading for column in columns], *texts]
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
        """Return the text of each cell that is shown, the foot last."""
        above: Cells = ()
        texts = []
        for row in [*self.rows, *self.foot]:
            cells = zip(self.columns, row, above, strict=False)
            repeated = sum(
                1 for _ in takewhile(lambda cell: cell[0].once and cell[1] == cell[2], cells)
            )
            texts.append(
                [
                    "" if place < repeated else column.text(row[place])
                    for place, column in enumerate(self.columns)
                    if column.shown
                ]
            )
            above = row
        return texts


def _plain(value: object) -> str:
    """Return a value as other programs read it: `true`, `0.25`, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return str(value)


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
"""What LaTeX would not print as it is."""


def escaped(text: str) -> str:
    r"""A text as LaTeX prints it. A first * or [ would be taken for an option of the \\ before it.

    >>> escaped("50%"), escaped("a_b"), escaped("*"), escaped("-0.3 to -0.1")
    ('50\\%', 'a\\_b', '{*}', '$-$0.3 to $-$0.1')
    """
    latex = "".join(SPECIAL.get(character, character) for character in text)
    latex = re.sub(r"(?<!\S)-(?=\d|$)", "$-$", latex)
    return f"{{{latex[0]}}}{latex[1:]}" if latex[:1] in ("*", "[") else latex
