"""A run's certificate as read from its files, and in plain sentences."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from curta.evaluation.results import Certificate, CertifiedWindows, WrongWindow, read_windows
from curta.report.summary import counted, listed
from curta.runs.folders import Folder, layout_in

if TYPE_CHECKING:
    from curta.layouts.program import ProgramLayout


@dataclass(frozen=True)
class Certified:
    """A certificate, the machine that it is about, and all windows if they were kept."""

    content: Certificate
    layout: ProgramLayout
    table: CertifiedWindows | None


def read(path: Path) -> Certified | None:
    """Return the certificate of a run; None if it has none.

    Its layout has the programs' code where it came with Curta, else the machine alone.
    """
    from curta.config.errors import UserError
    from curta.layouts.program import ProgramLayout
    from curta.programs.machine import store

    content = Folder(path).read_certificate()
    if content is None:
        return None
    try:
        layout = layout_in(Folder(path))
        assert isinstance(layout, ProgramLayout)
    except UserError:
        layout = ProgramLayout(*store.read(path / "machine.json", path.name))
    return Certified(content, layout, read_windows(path))


def text_to(layout: ProgramLayout, wrong: WrongWindow) -> list[int] | None:
    """Return the text of a problem up to the query of a wrong window, if its code is here."""
    from curta.config.errors import UserError
    from curta.problems.problem import parse

    if wrong.at < 0:
        return None
    with contextlib.suppress(UserError):
        return layout.tokens_of(parse(wrong.problem))[0][: wrong.at + 1]
    return None


def is_exact(content: Certificate) -> bool:
    """Whether no member can be wrong: none is on a closed list, beyond what rounding can move."""
    near = any(one.below_bound or one.wrong for one in content.members)
    bounded = content.rounding.bound is not None
    return content.grade == "closed" and bounded and not near and content.sound


def plainly(content: Certificate) -> str:
    """Say in one line, for a reader who knows no windows, what the certificate comes to."""
    wrong, members = len(content.wrong_seeds), len(content.members)
    if wrong == members or not content.sound:
        return "In plain words: it makes mistakes, and the windows below show where."
    if wrong:
        return f"In plain words: {wrong} of {members} models make mistakes; the others make none."
    if is_exact(content):
        return (
            "In plain words: every situation that it can meet was tried, at any length, and it is"
            " right in each. It cannot make a mistake."
        )
    return "In plain words: it is right in every situation that was tried; there may be others."


def headline(content: Certificate) -> str:
    """Say in plain sentences what the certificate proves, and what it leaves open."""
    members, total, says = content.members, f"{content.windows:,}", list[str]()
    near = max((one.below_bound or 0 for one in members), default=0)
    bounded = content.rounding.bound is not None

    def be(count: int, singular: str = "is", plural: str = "are") -> str:
        return singular if count == 1 else plural

    if content.conflicts:
        says.append(
            f"{counted(content.conflicts, 'window')} {be(content.conflicts, 'goes', 'go')} on in"
            " two ways, so that no model that sees nothing else can be right."
        )
    if content.unwritable:
        says.append(f"{content.unwritable[0]} needs a token that the model does not have.")

    which = {"closed": "that can occur", "saturated": "listed"}[content.grade]
    bad = [one for one in members if one.wrong]
    most = max((one.wrong for one in bad), default=0)
    if not bad:
        several = " in every member" if len(members) > 1 else ""
        ends = ": exact at every length" if is_exact(content) else ""
        says.append(f"All {total} windows {which} are right{several}{ends}.")
    elif len(members) == 1:
        says.append(f"{most:,} of the {total} windows {which} {be(most)} wrong.")
    else:
        right, plural = len(members) - len(bad), len(bad) > 1
        says.append(
            f"Of the {total} windows {which}, member{'s' * plural}"
            f" {listed([one.member for one in bad])} {be(len(bad), 'has', 'have')}"
            f" {'up to ' * plural}{most:,} wrong; {counted(right, 'member')} of {len(members)}"
            f" {be(right, 'has', 'have')} none."
        )

    listing = content.listing
    if content.grade == "saturated":
        says.append(
            "A next problem holds an unlisted window with probability at most "
            f"{listing.bound:.2g} (confidence {listing.confidence:.0%})."
        )
    if content.met:
        says.append(
            f"{counted(content.met, 'window')} of these {be(content.met)} none of the listing's:"
            " training, an evaluation or a question met them."
        )
    if not bounded:
        says.append("No bound on rounding is known here: another machine may write otherwise.")
    if near:
        says.append(
            f"Up to {counted(near, 'window')} a member {be(near)} closer than twice the bound "
            "on rounding: another machine may write them otherwise."
        )
    return " ".join(says)
