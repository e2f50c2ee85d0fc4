"""Drawings that scripts of a page animate: the grid of exact match, the paths of vectors.

Templates write them as complete SVG, so print, files and browsers without scripts show them.
`heat.js` adds the value under the pointer or cursor, and single members; `player.js` reads the
points from the drawing and moves a mark along them.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from curta.evaluation.results import Grid
from curta.layouts.program import ProgramLayout
from curta.probes.tokens import PLANES, VectorPaths, digits_and_signs, trace_paths
from curta.report.figures import BANDS, band, curves, median_cells
from curta.report.rendering import render
from curta.report.run_folder import RunData, Trained, read_layout
from curta.report.summary import by_step
from curta.runs import checkpoints

GRID_SIDE, NAMED_LENGTHS = 400, 10
"""Side of the grid, and the most lengths that are named along an axis."""

SIZE, MARGIN = 1000, 80
"""Side of a drawing of paths, and the margin around its points, in whole numbers."""


def grid_sections(run: RunData) -> list[dict[str, Any]]:
    """Return the section of each operator's grid: `grid`, then `grid-2` for the next operator.

    `worst` is the member with the lowest cell of all, which a median would hide; `equal` is the
    exact match of every cell if all members have the same value in all of them. The script's data
    count correct problems, so that nothing is rounded.
    """
    sections = list[dict[str, Any]]()
    for number, grid in enumerate(run.evaluation.grids, 1):
        trained, digits, members = run.trained.get(grid.operator), grid.digits, list[Any]()
        shares = np.array(grid.exact_match)  # members, first operand, second operand
        for member, cells in enumerate(shares):
            at = np.unravel_index(cells.argmin(), cells.shape)
            row = {"member": member, "mean": cells.mean(), "perfect": int((cells >= 1).sum())}
            row |= {"cells": cells.size, "lowest": cells.min(), "at": [digits[i] for i in at]}
            members.append(row)
        edges = [edge for edge, _, _ in BANDS]
        correct = np.rint(shares * grid.count).astype(int).tolist()
        sections.append({
            "name": "grid" if number == 1 else f"grid-{number}",
            "grid": grid,
            "trained": trained,
            "drawing": draw_grid(grid, trained),
            "data": {"digits": digits, "count": grid.count, "edges": edges, "correct": correct},
            "members": members,
            "worst": min(members, key=lambda m: (m["lowest"], m["at"], m["member"])),
            "equal": shares.flat[0] if np.ptp(shares) == 0 else None,
        })  # fmt: skip
    return sections


def draw_grid(grid: Grid, trained: Trained | None) -> Markup:
    """Draw the median of every cell, and a frame around the cells of training.

    Neighbouring cells of one colour are one rectangle; the lowest line comes first.
    """
    digits, rows = grid.digits, list[list[tuple[int, int, int]]]()
    cell, stride = GRID_SIDE / len(digits), math.ceil(len(digits) / NAMED_LENGTHS)
    for shares in reversed(median_cells(grid.exact_match)):
        runs = [(level, len(list(group))) for level, group in groupby(map(band, shares))]
        starts = accumulate((width for _, width in runs), initial=0)
        rows.append([(x, width, level) for x, (level, width) in zip(starts, runs, strict=False)])
    first, second = trained.cells(digits) if trained else ([], [])
    frame = None
    if first and second:
        top = GRID_SIDE - (first[-1] + 1) * cell
        frame = (second[0] * cell, top, len(second) * cell, len(first) * cell)
    places = range(stride - 1, len(digits), stride)
    names = [(f"{digits[i]:,}", (i + 0.5) * cell) for i in places]
    return render(
        "drawings/grid.svg", side=GRID_SIDE, cell=cell, rows=rows, names=names, frame=frame
    )


# Paths of vectors.


def trails_section(folder: Path, run: RunData) -> dict[str, Any] | None:
    """Return how vectors moved over training, from a run's `history/`; None if it kept none.

    A layout has the paths of its digits and operators, a program those of its answer digits, whose
    role is named. Each plane has the members' titles and drawings; beside them are the drawing of
    the loss, and the data of the script.
    """
    if not (folder / "history").is_dir():
        return None
    layout, role = read_layout(folder), ""
    if isinstance(layout, ProgramLayout):
        role, tokens = next(iter(layout.machine.formats.values())).answer.role, layout.digits
    else:
        tokens = digits_and_signs(layout, run.trained)
    moments = checkpoints.moments(folder / "history", np.array(tokens))
    if moments is None:
        return None

    steps, tables = moments
    names = [layout.characters[token] for token in tokens]
    planes = dict[str, list[tuple[str, Markup]]]()
    for plane in PLANES:
        planes[plane] = []
        for member in range(tables.shape[1]):
            paths = trace_paths(tables[:, member], plane)
            planes[plane].append((paths.title(member), draw_trails(paths, names, member)))
    losses, curve = list[float | None]([None] * len(steps)), None
    if loss := by_step(curves(run.metrics, "loss")):
        middle = [ends.median for ends in loss.values()]
        at_steps = np.interp(steps, [*loss], middle, left=math.nan)
        losses = [None if math.isnan(value) else float(f"{value:.3g}") for value in at_steps]
    pairs = zip(steps, losses, strict=True)
    points = np.array([(float(step), math.log(value)) for step, value in pairs if value])
    if len(points) > 1:
        low, spread = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-9)
        scaled = (points - low) / spread * (SIZE - 2 * MARGIN) + MARGIN
        placed = np.rint(np.stack([scaled[:, 0], SIZE - scaled[:, 1]], axis=1)).astype(int)
        curve = render("drawings/loss.svg", size=SIZE, points=placed.tolist())
    data = {"steps": steps, "losses": losses}
    return {"planes": planes, "loss": curve, "role": role, "data": data}


def draw_trails(trails: VectorPaths, names: Sequence[str], member: int) -> Markup:
    """Draw a member's paths, with one scale for both directions."""
    paths: Float[np.ndarray, "names moments two"] = trails.paths
    low, high = paths.min(axis=(0, 1)), paths.max(axis=(0, 1))
    scale = (SIZE - 2 * MARGIN) / max(float((high - low).max()), 1e-9)
    placed = np.rint((paths - (low + high) / 2) * scale * (1, -1) + SIZE / 2).astype(int)
    by_name = list(zip(names, placed.tolist(), strict=True))
    title = trails.title(member)
    return render("drawings/trails.svg", size=SIZE, title=title, paths=by_name)


def trails_files(section: dict[str, Any]) -> dict[str, Markup]:
    """Return one drawing of all members for each plane, by the name of its file."""
    files = dict[str, Markup]()
    for plane, members in section["planes"].items():
        loss = [("loss by step, logarithmic", section["loss"])] if section["loss"] else []
        name = "trails" if plane == "dimensions" else f"trails-{plane}"
        files[name] = render("drawings/sheet.svg", size=SIZE, drawings=[*loss, *members])
    return files
