"""What certificate.json and windows.safetensors of a run of programs say, and in one sentence."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
from jaxtyping import Float, Int, UInt8

from curta.report.summary import counted, listed

if TYPE_CHECKING:
    from curta.layouts.program import ProgramLayout

FORMAT = 1
"""Version of the certificate that is understood here."""


class Listing(TypedDict):
    """How the windows were listed: `bound` is Good and Turing's, at that confidence."""

    problems: int
    tokens: int
    sizes: dict[str, str]
    seconds: NotRequired[float]
    once: NotRequired[int]
    bound: float
    confidence: float
    growth: list[tuple[int, int]]


class Closure(TypedDict):
    """Whether the list is proved complete; `open` counts what is neither shown nor excluded."""

    closed: bool
    open: int
    reason: str


class Rounding(TypedDict):
    """How far rounding can move a margin, and how that was found."""

    bound: float
    how: str


class OfRole(TypedDict):
    """A role, the names of its neighbours, and how many windows it has."""

    role: str
    sees: list[str]
    windows: int


class OfMember(TypedDict):
    """How one member does on all windows; `unseen` are those that its training never showed."""

    member: int
    seed: int
    shown: int
    right: int
    wrong: int
    unseen: int
    unseen_right: int
    margin: float
    below_bound: int


class Wrong(TypedDict):
    """A window after which a member writes something wrong, and a problem in which it occurs."""

    member: int
    role: str
    window: list[str]
    right: str
    written: str
    margin: float
    shown: bool
    problem: NotRequired[str | None]
    at: NotRequired[int]


class Content(TypedDict):
    """`certificate.json`."""

    format: int
    grade: Literal["closed", "saturated", "open"]
    windows: int
    conflicts: int
    unwritable: list[str]
    listing: Listing
    closure: Closure
    rounding: Rounding
    roles: list[OfRole]
    members: list[OfMember]
    wrong: list[Wrong]


class Table(NamedTuple):
    """`windows.safetensors`: every window, what is right after it, and what members do."""

    rows: Int[np.ndarray, "windows cells"]
    targets: Int[np.ndarray, " windows"]
    token: Int[np.ndarray, "members windows"]
    margin: Float[np.ndarray, "members windows"]
    shown: UInt8[np.ndarray, "members windows"]


@dataclass(frozen=True)
class Certified:
    """A certificate, the machine that it is about, and all windows if they were kept."""

    content: Content
    layout: ProgramLayout
    table: Table | None


def read(folder: Path) -> Certified | None:
    """The certificate of a run; None if it has none. ValueError for one of a newer version."""
    path = folder / "certificate.json"
    if not path.is_file():
        return None
    content: Content = json.loads(path.read_text("utf-8"))
    if content.get("format") != FORMAT:
        raise ValueError(f"{path}: format {content.get('format')} is not {FORMAT}, the one known")
    return Certified(content, _layout(folder), _table(folder / "windows.safetensors"))


def text_to(layout: ProgramLayout, wrong: Wrong) -> list[int] | None:
    """The text of a problem up to the query of a wrong window, if the program's code is here."""
    from curta.config.errors import UserError
    from curta.problems.problem import parse

    problem, at = wrong.get("problem"), wrong.get("at")
    if problem is None or at is None:
        return None
    with contextlib.suppress(UserError):
        return layout.tokens_of(parse(problem))[0][: at + 1]
    return None


def sound(content: Content) -> bool:
    """Whether the list is one of a function that the model's tokens can write."""
    return not content["conflicts"] and not content["unwritable"]


def headline(content: Content) -> str:
    """What the certificate says, in plain sentences."""
    says = [_conflicts(content["conflicts"])] if content["conflicts"] else []
    if content["unwritable"]:
        says.append(f"{content['unwritable'][0]} needs a token that the model does not have.")
    return " ".join([*says, _verdict(content), _scope(content)]).strip()


def _verdict(content: Content) -> str:
    members, total = content["members"], content["windows"]
    which = {"closed": "that can occur", "saturated": "listed", "open": "listed"}[content["grade"]]
    several = " in every member" if len(members) > 1 else ""
    bad = [one for one in members if one["wrong"]]
    if not bad:
        ends = ": exact at every length" if _exact(content) else ""
        return f"All {total:,} windows {which} are right{several}{ends}."
    if len(members) == 1:
        return f"{bad[0]['wrong']:,} of the {total:,} windows {which} {_be(bad[0]['wrong'])} wrong."
    whose = listed([one["member"] for one in bad])
    right = counted(len(members) - len(bad), "member")
    most = max(one["wrong"] for one in bad)
    return (
        f"Of the {total:,} windows {which}, member{'s' * (len(bad) > 1)} {whose} "
        f"{'have' if len(bad) > 1 else 'has'} {'up to ' * (len(bad) > 1)}{most:,} wrong; "
        f"{right} of {len(members)} {'has' if len(members) - len(bad) == 1 else 'have'} none."
    )


def _scope(content: Content) -> str:
    """How complete the list is, and what rounding leaves of it."""
    listing, near = (
        content["listing"],
        max((m["below_bound"] for m in content["members"]), default=0),
    )
    says = []
    if content["grade"] == "saturated":
        says.append(
            "A next problem holds an unlisted window with probability at most "
            f"{listing['bound']:.2g} (confidence {listing['confidence']:.0%})."
        )
    elif content["grade"] == "open":
        reason = content["closure"]["reason"].rstrip(".")
        says.append(f"The list is not known to be complete{': ' * bool(reason)}{reason}.")
    if near:
        says.append(
            f"Up to {counted(near, 'window')} a member {_be(near)} closer than the bound on "
            "rounding: another machine may write them otherwise."
        )
    return " ".join(says)


def _exact(content: Content) -> bool:
    near = any(one["below_bound"] for one in content["members"])
    return content["grade"] == "closed" and not near and sound(content)


def _conflicts(count: int) -> str:
    return (
        f"{counted(count, 'window')} {'goes' if count == 1 else 'go'} on in two ways, so that no "
        "model that sees nothing else can be right."
    )


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def summarised(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, least and greatest."""
    ordered = sorted(values)
    return float(np.median(ordered)), ordered[0], ordered[-1]


def _layout(folder: Path) -> ProgramLayout:
    """With the programs' code where it came with Curta, else with the machine alone."""
    from curta.config.errors import UserError
    from curta.layouts.program import ProgramLayout
    from curta.programs.machine import store
    from curta.runs.folders import Folder, layout_in

    with contextlib.suppress(UserError):
        found = layout_in(Folder(folder))
        assert isinstance(found, ProgramLayout)
        return found
    return ProgramLayout(*store.read(folder / "machine.json", folder.name))


def _table(path: Path) -> Table | None:
    import safetensors.numpy

    if not path.is_file():
        return None
    found = safetensors.numpy.load(path.read_bytes())
    return Table(*(found[name] for name in Table._fields))
