"""Where the vectors of the digits lie, and the way they came.

The vectors of the newest checkpoint are projected onto the two directions in which they
vary most (principal components, by singular value decomposition of the centred table);
those of earlier checkpoints, and those that training began with, are drawn in the same
plane. Each member has a plane of its own.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from .. import checkpoints
from ..evaluation import Models
from ..report.pictures import Panel
from .base import Finding, Probe, Row
from .subject import Subject

DIGITS = "0123456789"

Table = Float[np.ndarray, "digits width"]


class Plane(NamedTuple):
    """Two directions through a point, and the share of the variance that they hold."""

    centre: Float[np.ndarray, " width"]
    directions: Float[np.ndarray, "width two"]
    share: float

    def project(self, table: Table) -> Float[np.ndarray, "digits two"]:
        return (table - self.centre) @ self.directions


@dataclass(frozen=True)
class Tokens(Probe):
    name: ClassVar[str] = "tokens"
    summary: ClassVar[str] = "the vectors of the digits in a plane, and how they moved"

    def examine(self, subject: Subject) -> Finding:
        steps = [0, *checkpoints.steps(subject.run.folder.checkpoints)]
        history = np.stack([vectors(subject.of(subject.run.at(step))) for step in steps])
        rows, panels = [], []
        for number, member in enumerate(subject.members):
            mine = history[:, number]
            plane = principal(mine[-1])
            paths = np.stack([plane.project(table) for table in mine])
            rows += _rows(member, steps, paths)
            panels.append(_panel(member, plane.share, paths))
        shows = (
            "The vectors of the digits in the plane in which those of the newest checkpoint vary"
            f" most, each from its random start over the checkpoints at steps {steps[1:]}."
        )
        return Finding(COLUMNS, rows, {"shows": shows, "panels": panels})


COLUMNS = ("member", "step", "digit", "x", "y")


def vectors(models: Models) -> Float[np.ndarray, "members digits width"]:
    """The vector of each digit in each member."""
    every = np.asarray(jax.vmap(lambda one: one.characters())(models.stacked))
    return every[:, models.layout.encode(DIGITS)]


def principal(table: Table) -> Plane:
    """The plane in which the rows of a table vary most; the sign of an axis means nothing."""
    centre = table.mean(axis=0)
    _, sizes, directions = np.linalg.svd(table - centre, full_matrices=False)
    variance = sizes**2
    return Plane(centre, directions[:2].T, float(variance[:2].sum() / variance.sum()))


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
