"""The way of the digits' vectors through training, which a reader can play.

They come from a run's `history/`, in the plane in which each member's last vectors vary
most. A way is drawn whole, so that print and a browser without scripts show it; the script
`player.js` reads the points from the drawing and moves a mark along them.
"""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.probes.pca import principal
from curta.probes.pictures import Picture
from curta.programs.machine.machine import Machine
from curta.report.document import data
from curta.report.markup import Markup, element, saved
from curta.report.run_folder import Run
from curta.report.summary import finite
from curta.runs.results import Metric

DIGITS = "0123456789"

SIZE = 1000
"""Side of a drawing; points are whole numbers of it."""
INSIDE = 80
"""What is left free around the ways."""

Paths = Float[np.ndarray, "names moments two"]


class Member(NamedTuple):
    """One member's ways, and the share of its variance that its plane holds."""

    paths: Paths
    share: float


class Digits(NamedTuple):
    """Tokens that stand for the digits, what they are called, and their role in a program."""

    tokens: Int[np.ndarray, " digits"]
    names: Sequence[str]
    role: str


class Trails(NamedTuple):
    """The ways of all digits in every member, from step to step.

    Of a program they are those of its digits in one role, which is named.
    """

    steps: list[int]
    members: list[Member]
    names: Sequence[str] = DIGITS
    role: str = ""


def read(folder: Path, run: Run) -> Trails | None:
    """From the files of a run; None if it kept no vectors of its digits."""
    if not (folder / "history").is_dir():
        return None
    from curta.runs import embedding_history

    digits = _digits(folder, run)
    found = embedding_history.moments(folder / "history", digits.tokens) if digits else None
    if digits is None or found is None:
        return None
    steps, tables = found
    members = [_member(tables[:, number]) for number in range(tables.shape[1])]
    return Trails(steps, members, digits.names, digits.role)


def _digits(folder: Path, run: Run) -> Digits | None:
    """The digits of the layout or, of a program, those of its answer; None without all of them."""
    from curta.layouts import layout_named
    from curta.programs.machine import store

    layout = tomllib.loads(run.recipe).get("layout")
    if layout is not None:
        return Digits(layout_named(layout).encode(DIGITS), DIGITS, "")
    machine, _ = store.read(folder / "machine.json", run.name)
    answer = next(iter(machine.formats.values())).answer
    return digits_of(machine, answer.role, answer.base)


def digits_of(machine: Machine, role: str, base: int) -> Digits | None:
    """A token for each digit of a role, all with one move: they differ in the digit alone."""
    by_move: dict[tuple[int, ...], dict[int, int]] = {}
    for number, token in enumerate(machine.tokens):
        if token.role == role and token.value is not None and not token.carry:
            by_move.setdefault(token.move, {})[token.value] = number
    whole = [found for found in by_move.values() if set(found) >= set(range(base))]
    if not whole:
        return None
    tokens = [whole[0][value] for value in range(base)]
    return Digits(np.array(tokens), [machine.tokens[t].symbol for t in tokens], role)


def _member(tables: Float[np.ndarray, "moments names width"]) -> Member:
    plane = principal(tables[-1])
    paths = np.stack([plane.project(table) for table in tables], axis=1)
    return Member(paths, plane.share)


def picture(trails: Trails) -> Picture:
    """The same as data, for a file."""
    return {
        "shows": "The vectors of the digits from their random start to the end of training.",
        "panels": [
            {
                "form": "paths",
                "title": _title(number, member),
                "names": list(trails.names),
                "paths": member.paths.tolist(),
            }
            for number, member in enumerate(trails.members)
        ],
    }


def player(trails: Trails, metrics: Sequence[Metric]) -> Markup:
    """All members' ways, with a button, and a slider over the steps."""
    moments = {"steps": trails.steps, "losses": list(_losses(trails.steps, metrics))}
    panels = (_panel(number, member, trails.names) for number, member in enumerate(trails.members))
    return element(
        "div",
        element("div", class_="controls row", hidden=""),
        element("div", *panels, class_="ways"),
        data(moments),
        class_="player",
    )


def _losses(steps: Sequence[int], metrics: Sequence[Metric]) -> Iterator[float | None]:
    """The median loss of the members by each step, as it was last recorded."""
    by_step: dict[int, list[float]] = {}
    for line in metrics:
        by_step.setdefault(line.step, []).extend(finite([line.loss]))
    last, recorded = None, sorted(by_step)
    for step in steps:
        while recorded and recorded[0] <= step:
            values = by_step[recorded.pop(0)]
            last = median(values) if values else last
        yield None if last is None else float(f"{last:.3g}")


def _panel(number: int, member: Member, names: Sequence[str]) -> Markup:
    title = _title(number, member)
    says = f"The vectors of the digits of {title}: thin lines from a circle to a diamond."
    placed = _placed(member.paths)
    ways = (_way(name, path) for name, path in zip(names, placed, strict=True))
    drawn = element("svg", *ways, viewBox=f"0 0 {SIZE} {SIZE}", role="img", aria_label=says)
    return element("figure", drawn, element("figcaption", title))


def _title(number: int, member: Member) -> str:
    return f"member {number}: {member.share:.0%} of variance"


def _placed(paths: Paths) -> np.ndarray:
    """Whole numbers within the drawing, one scale for both directions."""
    low, high = paths.min(axis=(0, 1)), paths.max(axis=(0, 1))
    scale = (SIZE - 2 * INSIDE) / max(float((high - low).max()), 1e-9)
    return np.rint((paths - (low + high) / 2) * scale * (1, -1) + SIZE / 2).astype(int)


def _way(name: str, path: np.ndarray) -> Markup:
    """One line with its ends and, at the last of them, the digit."""
    points = path.tolist()
    (first, last), line = (points[0], points[-1]), " ".join(f"{x},{y}" for x, y in points)
    return element(
        "g",
        element("polyline", points=line, class_="way"),
        element("circle", cx=f"{first[0]}", cy=f"{first[1]}", r="12", class_="start"),
        element("path", d=f"M{last[0]} {last[1] - 20}l20 20-20 20-20-20z", class_="end"),
        element("text", name, x=f"{last[0] + 18}", y=f"{last[1] - 12}"),
    )


def section(trails: Trails | None, metrics: Sequence[Metric]) -> Markup:
    """The ways, and what they are."""
    if trails is None:
        return Markup()
    which = f" that is written as {trails.role}" if trails.role else ""
    says = (
        f"The vector of each digit{which}, as the model uses it, from its random start "
        "(circle) to the end of training (diamond), in the plane in which the member's last "
        "vectors vary most. Every member has a plane of its own; left and right, up and down "
        "mean nothing."
    )
    return element(
        "section",
        element("h2", "How the digits' vectors moved"),
        element("p", says),
        player(trails, metrics),
        element("p", saved("trails.png, trails.svg"), class_="legend"),
    )
