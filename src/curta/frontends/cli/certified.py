"""A certificate on the terminal: its sentence, its members, and what is wrong on squared paper."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from curta.evaluation.results import Certificate, WrongWindow
    from curta.layouts.program import ProgramLayout

DRAWN = 5
"""Most wrong windows that are drawn."""

COLUMNS = ("seed", "shown", "correct", "wrong", "held out", "of them correct", "margin")


def certificate(
    content: "Certificate", layout: "ProgramLayout", drawn: int = DRAWN
) -> RenderableType:
    """What a certificate says; wrong windows in a problem where the program's code is known."""
    from curta.report.certified import headline

    style = "green" if content.perfect else "bold red"
    found = [view for one in content.wrong[:drawn] for view in _wrong(layout, one)]
    left = sum(one.wrong for one in content.members) - len(content.wrong[:drawn])
    more = [Text(f"and {left:,} more", "dim")] if left > 0 else []
    return Group(Text(headline(content), style), _members(content), *found, *more)


def _members(content: "Certificate") -> Table:
    """A line for each member and, of several, their median, least and greatest."""
    from curta.report.summary import range_of

    members, bound = content.members, content.rounding.bound
    moved = (
        "no bound on rounding"
        if bound is None
        else f"rounding moves a margin by at most {bound:.1g}"
    )
    title = f"{content.windows:,} windows; {moved}"
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for heading in ("member", *COLUMNS):
        view.add_column(heading, justify="right")
    keys = ("shown", "correct", "wrong", "held_out", "held_out_correct", "margin")
    rows = [[getattr(one, key) for key in keys] for one in members]
    for one, row in zip(members, rows, strict=True):
        names = (f"{one.member}", f"{one.seed}")
        view.add_row(*names, *_numbers(row), style="red" if one.wrong else "")
    if len(members) > 1:
        columns = [range_of(column) for column in zip(*rows, strict=True)]
        for name, values in zip(("median", "min", "max"), zip(*columns, strict=True), strict=True):
            view.add_row(name, "", *_numbers(values), style="dim")
    return view


def _numbers(row: Sequence[float]) -> list[str]:
    *counts, margin = row
    return [*(f"{count:,.0f}" for count in counts), f"{margin:.3g}"]


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
