"""The paths of the characters' vectors through training, beside the loss; a reader can play them.

They come from a run's `history/`, in dimensions 0 and 1, as the source of the digit encoder draws
them, or in the plane in which each member's last vectors vary most. A way is drawn whole, so that
print and a browser without scripts show it; the script `player.js` reads the points from the
drawing and moves a mark along them.
"""

import math
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.probes.pca import PLANES, Ways, ways
from curta.programs.machine.machine import Machine
from curta.report import charts, figures
from curta.report.run_folder import Run
from curta.report.summary import finite
from curta.runs.info import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 1000
"""Side of a drawing; points are whole numbers of it."""
FILES = {"dimensions": "trails", "principal": "trails-principal"}
"""The names of the figures' files, by plane."""
INSIDE = 80
"""What is left free around the ways."""


class Characters(NamedTuple):
    """Tokens whose vectors are drawn, their labels, and their role in a program."""

    tokens: Int[np.ndarray, " characters"]
    names: Sequence[str]
    role: str


class Trails(NamedTuple):
    """The paths of digits and operators in every member, from step to step, by plane.

    Of a program they are those of its digits in one role, which is named.
    """

    steps: list[int]
    planes: dict[str, list[Ways]]
    names: Sequence[str]
    role: str


def read(folder: Path, run: Run) -> Trails | None:
    """Return the data from a run's files; None if it kept no vectors."""
    if not (folder / "history").is_dir():
        return None
    from curta.runs import embedding_history

    drawn = _characters(folder, run)
    found = embedding_history.moments(folder / "history", drawn.tokens) if drawn else None
    if drawn is None or found is None:
        return None
    steps, tables = found
    planes = {
        plane: [ways(tables[:, number], plane) for number in range(tables.shape[1])]
        for plane in PLANES
    }
    return Trails(steps, planes, drawn.names, drawn.role)


def _characters(folder: Path, run: Run) -> Characters | None:
    """The digits and operators of a layout, or a program's answer digits; None without all ten."""
    from curta.layouts import layout_named
    from curta.probes.tokens import digits_and_signs
    from curta.programs.machine import store

    name = tomllib.loads(run.recipe).get("layout")
    if name is not None:
        layout = layout_named(name)
        tokens = digits_and_signs(layout, run.trained)
        return Characters(np.array(tokens), [layout.characters[token] for token in tokens], "")
    machine, _ = store.read(folder / "machine.json", run.name)
    answer = next(iter(machine.formats.values())).answer
    return digits_of(machine, answer.role, answer.base)


def digits_of(machine: Machine, role: str, base: int) -> Characters | None:
    """A token for each digit of a role, all with one move: they differ in the digit alone."""
    by_move: dict[tuple[int, ...], dict[int, int]] = {}
    for number, token in enumerate(machine.tokens):
        if token.role == role and token.value is not None and not token.carry:
            by_move.setdefault(token.move, {})[token.value] = number
    whole = [found for found in by_move.values() if set(found) >= set(range(base))]
    if not whole:
        return None
    tokens = [whole[0][value] for value in range(base)]
    return Characters(np.array(tokens), [machine.tokens[t].symbol for t in tokens], role)


def figure(trails: Trails, metrics: Sequence[Metric], plane: str) -> "Figure":
    """Each member's loss beside the paths of its vectors, from red starts to green ends."""
    from matplotlib.figure import Figure

    members = trails.planes[plane]
    with figures.style():
        size = (1.6 * figures.WIDTH, 0.4 + 2.9 * len(members))
        drawing = Figure(figsize=size, layout="constrained")
        for number, (left, right) in enumerate(drawing.subplots(len(members), 2, squeeze=False)):
            curve = [(row.step, row.loss) for row in metrics if row.member == number]
            left.plot(*zip(*curve, strict=True), color=figures.MEDIAN, linewidth=0.8)
            left.set(title=f"member {number}: loss", xlabel="training step", yscale="log")
            charts.draw_paths(right, members[number].panel(number, trails.names))
            right.set_title(members[number].title(number))
        figures.legend(drawing, right)
    return drawing


class Drawing(NamedTuple):
    """For each plane all members, each with a title, the points of every path and the loss curve.

    `data` is for the script.
    """

    planes: dict[str, list[tuple[str, list[tuple[str, list[list[int]]]]]]]
    loss: list[list[int]]
    role: str
    data: dict[str, Any]
    names: dict[str, str] = PLANES
    size: int = SIZE


def section(trails: Trails | None, metrics: Sequence[Metric]) -> Drawing | None:
    """The section's data; None for a run that kept no vectors."""
    if trails is None:
        return None
    losses = list(_losses(trails.steps, metrics))
    planes = {
        plane: [
            (one.title(number), list(zip(trails.names, _placed(one.paths).tolist(), strict=True)))
            for number, one in enumerate(members)
        ]
        for plane, members in trails.planes.items()
    }
    data = {"steps": trails.steps, "losses": losses}
    return Drawing(planes, _loss_curve(trails.steps, losses), trails.role, data)


def _loss_curve(steps: Sequence[int], losses: Sequence[float | None]) -> list[list[int]]:
    """Points of the loss's curve, its logarithm upwards; none for a loss that never falls."""
    known = [(step, math.log(loss)) for step, loss in zip(steps, losses, strict=True) if loss]
    if len(known) < 2:
        return []
    (first, *_), values = known[0], [value for _, value in known]
    low, high, wide = min(values), max(values), SIZE - 2 * INSIDE
    across, down = wide / (known[-1][0] - first), wide / max(high - low, 1e-9)
    return [
        [round(INSIDE + (step - first) * across), round(INSIDE + (high - value) * down)]
        for step, value in known
    ]


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
