"""The section of a report for the certificate: every window that is known to occur."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from curta.evaluation.results import Certificate, WrongWindow
from curta.programs.machine import drawing
from curta.programs.machine.drawing import Cut, Sheet
from curta.report.certified import Certified, headline, text_to
from curta.report.figures import INK, MEDIAN, MUTED, column, style
from curta.report.learned import Maps, maps
from curta.report.summary import range_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 12
"""Most wrong windows that are drawn; all of them stand in a table."""

NEAR = Cut(columns=7, lines=3)
"""How much of the paper is drawn around a wrong window."""

COUNTED = ("shown", "correct", "wrong", "held_out", "held_out_correct")
"""The fields of a member's windows that are counts."""


class Drawn(NamedTuple):
    """A wrong window on its paper, with the classes of squares; no paper of an unknown text."""

    window: WrongWindow
    sheet: Sheet | None
    classes: dict[int, str]


class Summary(NamedTuple):
    """The median, least or greatest of every column over the members, as they are written."""

    name: str
    counts: list[str]
    margin: str
    below: str


class Section(NamedTuple):
    """All that a report shows of a certificate."""

    content: Certificate
    sentence: str
    moved: str
    summaries: list[Summary]
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
        moved(content),
        list(_summaries(content)),
        [_drawn(certified, one) for one in content.wrong[:DRAWN]],
        maps(certified) if certified.table else None,
        plot,
    )


def moved(content: Certificate) -> str:
    """What rounding does to a margin."""
    bound = content.rounding.bound
    if bound is None:
        return "no bound on rounding is known for this design"
    return f"rounding moves it by at most {bound:.1g} ({content.rounding.how})"


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


def _summaries(content: Certificate) -> Iterator[Summary]:
    """A row each for median, least and greatest, where there are several members."""
    members = content.members
    if len(members) < 2:
        return
    columns = [range_of(getattr(one, key) for one in members) for key in COUNTED]
    margins = range_of(one.margin for one in members)
    below = range_of(one.below_bound or 0 for one in members)
    for place, name in enumerate(("Median", "Min", "Max")):
        counts = [f"{one[place]:,.4g}" if one[place] % 1 else f"{one[place]:,.0f}"
                  for one in columns]  # fmt: skip
        yield Summary(name, counts, f"{margins[place]:.3g}", f"{below[place]:,.4g}")


def _drawn(certified: Certified, one: WrongWindow) -> Drawn:
    """The paper around the query, if the text is known here."""
    machine, text = certified.layout.machine, text_to(certified.layout, one)
    if text is None:
        return Drawn(one, None, {})
    at = len(text) - 1
    near = drawing.neighbours_of(machine, certified.layout.windows, text, at)
    classes = dict.fromkeys(near, "seen") | {at: "query"}
    return Drawn(one, drawing.text(machine, text, NEAR._replace(around=at)), classes)
