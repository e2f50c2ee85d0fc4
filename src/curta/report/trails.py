"""The way of the digits' vectors through training, which a reader can play.

They come from a run's `history/`, in the plane in which each member's last vectors vary
most. A way is drawn whole, so that print and a browser without scripts show it; the script
`player.js` reads the points from the drawing and moves a mark along them.
"""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.probes.pca import Ways, ways
from curta.probes.pictures import Picture
from curta.programs.machine.machine import Machine
from curta.report.run_folder import Run
from curta.report.summary import finite
from curta.runs.info import Metric

SIZE = 1000
"""Side of a drawing; points are whole numbers of it."""
INSIDE = 80
"""What is left free around the ways."""


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
    members: list[Ways]
    names: Sequence[str]
    role: str


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
    members = [ways(tables[:, number]) for number in range(tables.shape[1])]
    return Trails(steps, members, digits.names, digits.role)


def _digits(folder: Path, run: Run) -> Digits | None:
    """The digits of the layout or, of a program, those of its answer; None without all of them."""
    from curta.layouts import layout_named
    from curta.programs.machine import store

    name = tomllib.loads(run.recipe).get("layout")
    if name is not None:
        layout = layout_named(name)
        return Digits(
            np.array(layout.digits), [layout.characters[token] for token in layout.digits], ""
        )
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


def picture(trails: Trails) -> Picture:
    """The same as data, for a file."""
    return {
        "shows": "The vectors of the digits from their random start to the end of training.",
        "panels": [one.panel(number, trails.names) for number, one in enumerate(trails.members)],
    }


class Drawing(NamedTuple):
    """All members, each with a title and the points of every digit's way; data for the script."""

    members: list[tuple[str, list[tuple[str, list[list[int]]]]]]
    role: str
    data: dict[str, Any]
    size: int = SIZE


def section(trails: Trails | None, metrics: Sequence[Metric]) -> Drawing | None:
    """The section's data; None for a run that kept no vectors."""
    if trails is None:
        return None
    data = {"steps": trails.steps, "losses": list(_losses(trails.steps, metrics))}
    members = [
        (one.title(number), list(zip(trails.names, _placed(one.paths).tolist(), strict=True)))
        for number, one in enumerate(trails.members)
    ]
    return Drawing(members, trails.role, data)


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


def _placed(paths: Float[np.ndarray, "names moments two"]) -> np.ndarray:
    """Whole numbers within the drawing, one scale for both directions."""
    low, high = paths.min(axis=(0, 1)), paths.max(axis=(0, 1))
    scale = (SIZE - 2 * INSIDE) / max(float((high - low).max()), 1e-9)
    return np.rint((paths - (low + high) / 2) * scale * (1, -1) + SIZE / 2).astype(int)
