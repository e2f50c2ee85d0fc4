"""What certificate.json and windows.safetensors of a run of programs say, and in one sentence."""

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


Table = CertifiedWindows


@dataclass(frozen=True)
class Certified:
    """A certificate, the machine that it is about, and all windows if they were kept."""

    content: Certificate
    layout: ProgramLayout
    table: Table | None


def read(path: Path) -> Certified | None:
    """The certificate of a run; None if it has none."""
    content = Folder(path).read_certificate()
    if content is None:
        return None
    return Certified(content, _layout(path), read_windows(path))


def text_to(layout: ProgramLayout, wrong: WrongWindow) -> list[int] | None:
    """The text of a problem up to the query of a wrong window, if the program's code is here."""
    from curta.config.errors import UserError
    from curta.problems.problem import parse

    if wrong.at < 0:
        return None
    with contextlib.suppress(UserError):
        return layout.tokens_of(parse(wrong.problem))[0][: wrong.at + 1]
    return None


def headline(content: Certificate) -> str:
    """What the certificate says, in plain sentences."""
    says = [_conflicts(content.conflicts)] if content.conflicts else []
    if content.unwritable:
        says.append(f"{content.unwritable[0]} needs a token that the model does not have.")
    return " ".join([*says, _verdict(content), _scope(content)]).strip()


def _verdict(content: Certificate) -> str:
    members, total = content.members, content.windows
    which = {"closed": "that can occur", "saturated": "listed"}[content.grade]
    several = " in every member" if len(members) > 1 else ""
    bad = [one for one in members if one.wrong]
    if not bad:
        ends = ": exact at every length" if _exact(content) else ""
        return f"All {total:,} windows {which} are right{several}{ends}."
    if len(members) == 1:
        return f"{bad[0].wrong:,} of the {total:,} windows {which} {_be(bad[0].wrong)} wrong."
    whose = listed([one.member for one in bad])
    right = counted(len(members) - len(bad), "member")
    most = max(one.wrong for one in bad)
    return (
        f"Of the {total:,} windows {which}, member{'s' * (len(bad) > 1)} {whose} "
        f"{'have' if len(bad) > 1 else 'has'} {'up to ' * (len(bad) > 1)}{most:,} wrong; "
        f"{right} of {len(members)} {'has' if len(members) - len(bad) == 1 else 'have'} none."
    )


def _scope(content: Certificate) -> str:
    """How complete the list is, and what rounding leaves of it."""
    listing, says = content.listing, []
    near = max((one.below_bound or 0 for one in content.members), default=0)
    if content.grade == "saturated":
        says.append(
            "A next problem holds an unlisted window with probability at most "
            f"{listing.bound:.2g} (confidence {listing.confidence:.0%})."
        )
    if content.met:
        says.append(
            f"{counted(content.met, 'window')} of these {_be(content.met)} none of the listing's:"
            " training, an evaluation or a question met them."
        )
    if content.rounding.bound is None:
        says.append("No bound on rounding is known here: another machine may write otherwise.")
    if near:
        says.append(
            f"Up to {counted(near, 'window')} a member {_be(near)} closer than twice the bound "
            "on rounding: another machine may write them otherwise."
        )
    return " ".join(says)


def _exact(content: Certificate) -> bool:
    near = any(one.below_bound for one in content.members)
    known = content.rounding.bound is not None
    return content.grade == "closed" and known and not near and content.sound


def _conflicts(count: int) -> str:
    return (
        f"{counted(count, 'window')} {'goes' if count == 1 else 'go'} on in two ways, so that no "
        "model that sees nothing else can be right."
    )


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _layout(folder: Path) -> ProgramLayout:
    """With the programs' code where it came with Curta, else with the machine alone."""
    from curta.config.errors import UserError
    from curta.layouts.program import ProgramLayout
    from curta.programs.machine import store

    with contextlib.suppress(UserError):
        found = layout_in(Folder(folder))
        assert isinstance(found, ProgramLayout)
        return found
    return ProgramLayout(*store.read(folder / "machine.json", folder.name))
