"""A certificate on the terminal: its sentence, its members, and what is wrong on squared paper."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

if TYPE_CHECKING:
    from curta.evaluation.results import Certificate, WrongWindow
    from curta.layouts.program import ProgramLayout

DRAWN = 5
"""Most wrong windows that are drawn."""


def certificate(
    content: "Certificate", layout: "ProgramLayout", drawn: int = DRAWN
) -> RenderableType:
    """What a certificate says; wrong windows in a problem where the program's code is known."""
    from curta.report.certified import headline
    from curta.report.tables.certificate import members

    style = "green" if content.perfect else "bold red"
    found = [view for one in content.wrong[:drawn] for view in _wrong(layout, one)]
    left = sum(one.wrong for one in content.members) - len(content.wrong[:drawn])
    more = [Text(f"and {left:,} more", "dim")] if left > 0 else []
    return Group(Text(headline(content), style), members(content), *found, *more)


def _wrong(layout: "ProgramLayout", one: "WrongWindow") -> list[RenderableType]:
    """What a member writes after one window, and where."""
    from curta.frontends.cli.paper import Paper
    from curta.programs.machine import drawing
    from curta.report.certified import text_to

    told = Text.assemble(
        f"\nmember {one.member} writes ", (one.written, "bold red"), " where ",
        (one.expected, "bold green"), f" is right; margin {one.margin:.3g}, ",
        "shown in training" if one.shown else "never shown in training",
    )  # fmt: skip
    text = text_to(layout, one)
    if text is None:
        return [told, Text(f"  after {'; '.join(one.window)}")]
    at = len(text) - 1
    near = drawing.neighbours_of(layout.machine, layout.windows, text, at)
    styles = dict.fromkeys(near, "underline") | {at: "reverse red"}
    where = Text(f"  in {one.problem}, after token {at + 1:,}; what it sees is underlined")
    return [told, where, Paper(layout, text, at, styles, drawing.Cut(columns=9, lines=3))]
