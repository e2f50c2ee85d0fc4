"""The section of a report for the certificate: every window that is known to occur."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from curta.evaluation.results import Certificate, MemberWindows, RoleWindows, WrongWindow
from curta.programs.machine import drawing
from curta.programs.machine.drawing import Cut
from curta.report.certified import (
    Certified,
    headline,
    summarised,
    text_to,
)
from curta.report.figures import INK, MEDIAN, MUTED, WIDTH, style
from curta.report.learned import maps
from curta.report.markup import Markup, cells, details, element, figure, heading_cells, join, table
from curta.report.squares import paper
from curta.report.summary import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 12
"""Most wrong windows that are drawn; all of them stand in a table."""

NEAR = Cut(columns=7, lines=3)
"""How much of the paper is drawn around a wrong window."""

GIVEN = (
    "Given to the model: what the algorithm writes, as examples to learn from; the places of the "
    "problem's digits; squared paper, on which every token carries the pen's move; and for each "
    "role the few squares that it sees, found from recorded texts. Learned: every symbol, every "
    "move, when a row ends and when to stop. Under such a window a model with one attention "
    "layer is a function of what it sees, so that these windows are all it can ever be asked."
)

MEMBER_COLUMNS = (
    "Windows", "Shown", "Correct", "Wrong", "Held out", "of them correct", "Smallest margin",
    "Below bound",
)  # fmt: skip


def said(certified: Certified | None) -> Markup:
    """The sentence for the head of the page."""
    if certified is None:
        return Markup()
    return element("p", headline(certified.content), class_="headline")


def section(certified: Certified | None, plot: Markup | None) -> Markup:
    """All that the certificate says; nothing where there is none."""
    if certified is None:
        return Markup()
    content = certified.content
    return element(
        "section",
        element("h2", "Certificate"),
        element("p", headline(content), class_="headline"),
        element("p", GIVEN),
        element("p", _how(content)),
        _members(content),
        _wrong(certified),
        _tables(certified),
        details("What each role sees", _roles(content.roles)),
        figure(plot, _grown(content), "certificate.png, certificate.svg") if plot else Markup(),
    )


def growth(content: Certificate) -> Figure:
    """How the list of windows grew with the tokens that were recorded."""
    from matplotlib.figure import Figure

    tokens, windows = zip(*content.listing.growth, strict=True)
    with style():
        drawn = Figure(figsize=(WIDTH, 2.3), layout="constrained")
        axes = drawn.subplots()
        axes.plot(tokens, windows, "o-", color=MEDIAN, markersize=3.5, linewidth=1.8)
        axes.axhline(content.windows, color=MUTED, linewidth=0.8, linestyle="--")
        axes.set_xscale("log")
        axes.set(xlabel="recorded tokens", ylim=(0, content.windows * 1.08))
        axes.set_title("Distinct windows", color=INK)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    return drawn


def _how(content: Certificate) -> str:
    """How the list was made, and why it is complete or not."""
    listing, closure = content.listing, content.closure
    sizes = "; ".join(f"{operator} of {size}" for operator, size in listing.sizes.items())
    text = (
        f"Listed from {counted(listing.problems, 'problem')} with {listing.tokens:,} tokens"
        f" ({sizes}). "
    )
    if closure.closed:
        return (
            f"{text}The list is proved complete: nothing that its windows can produce is missing."
        )
    left = f" {closure.open:,} more could be neither shown nor excluded." if closure.open else ""
    return f"{text}The list is not proved complete.{left}"


def _members(content: Certificate) -> Markup:
    """A row for each member and, of several, their median, least and greatest."""
    members, bound = content.members, content.rounding
    caption = (
        "Windows by member. A margin is the logit of the right token less the largest other; "
        f"rounding moves it by at most {bound.bound or math.inf:.1g} ({bound.how})"
    )
    head = element("tr", heading_cells("Member", "Seed", *MEMBER_COLUMNS))
    rows = [_member(content, one) for one in members]
    return table(caption, [head], [*rows, *_summaries(content)])


def _member(content: Certificate, one: MemberWindows) -> Markup:
    wrong = {"class_": "miss"} if one.wrong else {}
    near = {"class_": "miss"} if one.below_bound else {}
    return element(
        "tr",
        element("th", f"{one.member}", scope="row"),
        cells(f"{one.seed}", f"{content.windows:,}", f"{one.shown:,}", f"{one.correct:,}"),
        element("td", f"{one.wrong:,}", **wrong),
        cells(f"{one.held_out:,}", f"{one.held_out_correct:,}", f"{one.margin:.3g}"),
        element("td", f"{one.below_bound:,}", **near),
    )


def _summaries(content: Certificate) -> Iterator[Markup]:
    """Median, least and greatest of every column."""
    members = content.members
    if len(members) < 2:
        return
    counts = [
        summarised([getattr(one, key) for one in members])
        for key in ("shown", "correct", "wrong", "held_out", "held_out_correct")
    ]
    margins = summarised([one.margin for one in members])
    below = summarised([one.below_bound for one in members])
    for place, name in enumerate(("Median", "Min", "Max")):
        values = (f"{count[place]:,.4g}" if count[place] % 1 else f"{count[place]:,.0f}"
                  for count in counts)  # fmt: skip
        yield element(
            "tr",
            element("th", name, scope="row"),
            cells("", f"{content.windows:,}", *values),
            cells(f"{margins[place]:.3g}", f"{below[place]:,.4g}"),
        )


def _roles(roles: Sequence[RoleWindows]) -> Markup:
    head = element(
        "tr", element("th", "Role", class_="word", scope="col"),
        element("th", "Sees, besides itself", class_="word", scope="col"), heading_cells("Windows"),
    )  # fmt: skip
    rows = (
        element(
            "tr",
            element("td", element("code", one.role), class_="word"),
            element("td", ", ".join(one.sees) or "nothing", class_="word"),
            cells(f"{one.windows:,}"),
        )
        for one in roles
    )
    return table("The squares around a token that it sees, and its windows", [head], rows)


def _grown(content: Certificate) -> str:
    listing = content.listing
    once = f" {counted(listing.once, 'window')} stood in a single problem."
    if content.closure.closed:
        return (
            "Distinct windows against the tokens that were recorded; dashed: all "
            f"{content.windows:,}, the last of them found by the proof."
        )
    return (
        "Distinct windows against the tokens that were recorded; dashed: all "
        f"{content.windows:,}.{once} A next problem holds an unlisted window "
        f"with probability at most {listing.bound:.2g} (confidence {listing.confidence:.0%})."
    )


def _tables(certified: Certified) -> Markup:
    """The learned table of each role."""
    if certified.table is None:
        return Markup()
    says = (
        "The symbol that is right next, for every window. A map has the two squares that tell "
        "most along its sides; where what a cell stands for goes on in several ways, the most "
        f"frequent one gives the colour. {drawing.NONE} is a square on which nothing is written. "
        "Red: a member is wrong. A dot: no member was ever shown some of these windows."
    )
    return join([element("h3", "The learned tables"), element("p", says), maps(certified)])


def _wrong(certified: Certified) -> Markup:
    """The wrong windows, each in a problem in which it occurs."""
    found = certified.content.wrong
    if not found:
        return Markup()
    total = sum(one.wrong for one in certified.content.members)
    kept = f", {len(found):,} of which were kept" if total > len(found) else ""
    says = (
        f"{counted(total, 'wrong window')} in all members{kept}. Each is drawn in a problem: the "
        "token after which the wrong one is written is boxed, what it sees is underlined."
    )
    drawn = (element("div", _told(one), _drawn(certified, one)) for one in found[:DRAWN])
    rest = details(f"All {len(found):,}", _all(found)) if len(found) > DRAWN else Markup()
    return join(
        [
            element("h3", "Wrong windows"),
            element("p", says),
            element("div", *drawn, class_="errors"),
            rest,
        ]
    )


def _told(one: WrongWindow) -> Markup:
    written, expected = element("mark", one.written), element("code", one.expected)
    where = f" In {one.problem}, token {one.at + 1:,}."
    shown = "shown in training" if one.shown else "never shown in training"
    rest = f" is right; margin {one.margin:.3g}, {shown}.{where}"
    return element("p", f"Member {one.member} writes ", written, " where ", expected, rest)


def _drawn(certified: Certified, one: WrongWindow) -> Markup:
    """The paper around the query, or the window alone where the text is not known here."""
    machine, text = certified.layout.machine, text_to(certified.layout, one)
    if text is None:
        return element("p", element("code", "; ".join(one.window)))
    at = len(text) - 1
    near = drawing.neighbours_of(machine, certified.layout.windows, text, at)
    classes = dict.fromkeys(near, "seen") | {at: "query"}
    sheet = drawing.text(machine, text, NEAR._replace(around=at))
    return paper(sheet, f"Around token {at + 1:,} of {one.problem}", classes)


def _all(found: Sequence[WrongWindow]) -> Markup:
    names = ("Member", "Window", "Expected", "Written", "Margin", "Problem")
    rows = (
        element(
            "tr",
            cells(f"{one.member}", "; ".join(one.window), one.expected, one.written),
            cells(f"{one.margin:.3g}", one.problem),
        )
        for one in found
    )
    return table("Wrong windows that were kept", [element("tr", heading_cells(*names))], rows)
