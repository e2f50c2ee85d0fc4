"""Where the vectors of the digits lie, and the way they came.

The last vectors are projected onto the two directions in which they vary most (principal
components, by singular value decomposition of the centred table); earlier ones, and those
that training began with, are drawn in the same plane. Each member has a plane of its own.
They are those of the run's history, if it has one, and else those of the kept checkpoints.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from .. import checkpoints, history
from ..layouts import layout_named
from ..planes import principal
from ..report.pictures import Panel
from .base import Finding, Probe, Row
from .subject import Subject

DIGITS = "0123456789"

Tables = Float[np.ndarray, "moments members digits width"]


@dataclass(frozen=True)
class Tokens(Probe):
    name: ClassVar[str] = "tokens"
    summary: ClassVar[str] = "the vectors of the digits in a plane, and how they moved"

    def examine(self, subject: Subject) -> Finding:
        steps, tables = remembered(subject) or checkpointed(subject)
        rows, panels = [], []
        for number, member in enumerate(subject.members):
            mine = tables[:, number]
            plane = principal(mine[-1])
            paths = np.stack([plane.project(table) for table in mine])
            rows += _rows(member, steps, paths)
            panels.append(_panel(member, plane.share, paths))
        shows = (
            f"The vectors of the digits in the plane in which those at step {steps[-1]:,} vary"
            f" most, each from its random start over {len(steps) - 1:,} later moments of training."
        )
        return Finding(COLUMNS, rows, {"shows": shows, "panels": panels})


COLUMNS = ("member", "step", "digit", "x", "y")


def remembered(subject: Subject) -> tuple[list[int], Tables] | None:
    """Steps and digits' vectors of the run's history; None if it has none."""
    layout = layout_named(subject.run.recipe.layout)
    found = history.moments(subject.run.folder.history, layout.encode(DIGITS))
    if found is None:
        return None
    steps, tables = found
    return steps, tables[:, np.array(subject.members)]


def checkpointed(subject: Subject) -> tuple[list[int], Tables]:
    """Steps and digits' vectors of the random start and of the checkpoints."""
    steps = [0, *checkpoints.steps(subject.run.folder.checkpoints)]
    digits = subject.layout.encode(DIGITS)
    models = (subject.of(subject.run.at(step)).stacked for step in steps)
    return steps, np.stack([history.vectors(stacked)[:, digits] for stacked in models])


def _rows(member: int, steps: list[int], paths: Float[np.ndarray, "steps digits two"]) -> list[Row]:
    return [
        {"member": member, "step": step, "digit": digit, "x": float(x), "y": float(y)}
        for step, points in zip(steps, paths, strict=True)
        for digit, (x, y) in zip(DIGITS, points, strict=True)
    ]


def _panel(member: int, share: float, paths: Float[np.ndarray, "steps digits two"]) -> Panel:
    return {
        "form": "paths",
        "title": f"member {member}: {share:.0%} of variance",
        "names": list(DIGITS),
        "paths": [path.tolist() for path in np.swapaxes(paths, 0, 1)],
    }
