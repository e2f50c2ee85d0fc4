"""The section of a report for the certificate: every window that is known to occur."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from curta.config.table import Table, counted
from curta.evaluation.results import Certificate, WrongWindow
from curta.programs.machine import drawing
from curta.programs.machine.drawing import Cut, Sheet
from curta.report.certified import Certified, headline, text_to
from curta.report.figures import INK, MEDIAN, MUTED, column, style
from curta.report.learned import Maps, maps
from curta.report.tables.certificate import members, moved

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 12
"""Most wrong windows that are drawn; all of them stand in a table."""

NEAR = Cut(columns=7, lines=3)
"""How much of the paper is drawn around a wrong window."""


class Drawn(NamedTuple):
    """A wrong window on its paper, with the classes of squares; no paper of an unknown text."""

    window: WrongWindow
    sheet: Sheet | None
    classes: dict[int, str]


class Section(NamedTuple):
    """All that a report shows of a certificate."""

    content: Certificate
    sentence: str
    members: Table
    drawn: list[Drawn]
    tables: Maps | None
    plot: Markup | None


def section(certified: Certified | None, plot: Markup | None) -> Section | None:
    """The section's data; None without a certificate."""
    if certified is None:
        return None
    content = certified.content
    return Section(
        content,
        headline(content),
        _members(content),
        [_drawn(certified, one) for one in content.wrong[:DRAWN]],
        maps(certified) if certified.table else None,
        plot,
    )


def growth(content: Certificate) -> Figure:
    """How the list of windows grew with the tokens that were recorded."""
    tokens, windows = zip(*content.listing.growth, strict=True)
    with style():
        drawn, (axes,) = column(1, height=2.3)
        axes.plot(tokens, windows, "o-", color=MEDIAN, markersize=3.5, linewidth=1.8)
        axes.axhline(content.windows, color=MUTED, linewidth=0.8, linestyle="--")
        axes.set_xscale("log")
        axes.set(xlabel="recorded tokens", ylim=(0, content.windows * 1.08))
        axes.set_title("Distinct windows", color=INK)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    return drawn


def _members(content: Certificate) -> Table:
    margin = "A margin is the logit of the right token less the largest other"
    how = f" ({content.rounding.how})" if content.rounding.how else ""
    title = f"{counted(content.windows, 'window')} by member. {margin}; {moved(content)}{how}"
    return replace(members(content, whole=True), title=title)


def _drawn(certified: Certified, one: WrongWindow) -> Drawn:
    """The paper around the query, if the text is known here."""
    machine, text = certified.layout.machine, text_to(certified.layout, one)
    if text is None:
        return Drawn(one, None, {})
    at = len(text) - 1
    near = drawing.neighbours_of(machine, certified.layout.windows, text, at)
    classes = dict.fromkeys(near, "seen") | {at: "query"}
    return Drawn(one, drawing.text(machine, text, NEAR._replace(around=at)), classes)
