"""The screen: whatever is printed comes out as letters, whoever has written it.

Names, summaries and texts of a run may be somebody else's. So strings are never read as markup,
and what no letter is drawn for is escaped wherever it comes from. Styles are given by `Text`.
"""

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from curta.config.errors import escape_unprintable
from curta.config.table import Table
from curta.frontends.cli.options import form

ROOMY = 100_000
"""Letters of a line: more than any row has."""


class Screen(Console):
    """A console that prints letters only."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """As rich does, but for letters that it would leave out, such as the bell."""
        return super().render_str(escape_unprintable(text, "\n\t"), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As rich does; its own segments that move the cursor are left as they are."""
        for segment in super().render(renderable, options):
            yield (
                segment
                if segment.control
                else segment._replace(text=escape_unprintable(segment.text, "\n"))
            )

    def on_broken_pipe(self) -> None:
        """Leave it to the command line: rich would exit with 1, which is a verdict here."""
        raise BrokenPipeError


@lru_cache
def console() -> Screen:
    return Screen(soft_wrap=not sys.stdout.isatty())


def notice(what: RenderableType | Table | None) -> None:
    """Prints anything; in another form than the screen's only tables, and all else to stderr."""
    if isinstance(what, Group):
        for part in what.renderables:
            notice(part)
    elif isinstance(what, Table):
        show(what)
    elif what is not None:
        (console() if form() is None else Screen(stderr=True)).print(what)


def show(table: Table) -> None:
    """Prints a table, as every command does, in the form that is wanted."""
    written = {"csv": table.csv, "latex": table.latex, "json": table.json}.get(form() or "")
    if written is not None:
        print(escape_unprintable(written(), "\n"), end="")
        return
    if table.title:  # above a narrow table it would be broken into lines
        console().print(Text(table.title, "table.title"))
    whole(replace(table, title=""))
    for note in table.notes:
        console().print(Text(note))


def whole(table: Table) -> None:
    """Prints a table with all that its cells hold, even where lines get longer than the screen.

    Where there is no terminal, each row stands on one line.
    """
    roomy = Screen(width=ROOMY)
    found = Measurement.get(roomy, roomy.options, table)
    least = found.minimum if console().is_terminal else found.maximum
    wide = Screen(width=max(least, console().width), soft_wrap=False)
    wide.print(table)
