"""The plane in which vectors vary most, and their paths there or in two dimensions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from curta.probes.pictures import Paths

Table = Float[np.ndarray, "vectors width"]


class Plane(NamedTuple):
    """Two directions through a point, and the share of the variance that they hold."""

    centre: Float[np.ndarray, " width"]
    directions: Float[np.ndarray, "width two"]
    share: float

    def project(self, table: Table) -> Float[np.ndarray, "vectors two"]:
        return (table - self.centre) @ self.directions


def principal(table: Table) -> Plane:
    """The plane in which the rows of a table vary most; the sign of an axis means nothing.

    Of vectors of width 1 the second direction is zero.

    >>> principal(np.array([[0.0, 0, 0], [4, 0, 0], [0, 2, 0], [4, 2, 0]])).share
    1.0
    """
    centre = table.mean(axis=0)
    _, sizes, directions = np.linalg.svd(table - centre, full_matrices=False)
    variance = sizes**2
    two = np.zeros((table.shape[1], 2), directions.dtype)
    two[:, : len(directions)] = directions[:2].T
    return Plane(centre, two, float(variance[:2].sum() / variance.sum()))


class Ways(NamedTuple):
    """The paths of a member's vectors in a plane, which holds `share` of the final variance."""

    paths: Float[np.ndarray, "names moments two"]
    plane: str
    share: float

    def title(self, member: int) -> str:
        return f"member {member}, {PLANES[self.plane]}: {self.share:.0%} of variance"

    def panel(self, member: int, names: Sequence[str]) -> Paths:
        return {
            "form": "paths",
            "title": self.title(member),
            "names": list(names),
            "paths": self.paths.tolist(),
        }


PLANES = {"dimensions": "dimensions 0 and 1", "principal": "principal components"}
"""Planes in which paths are drawn, and their titles."""


def ways(tables: Float[np.ndarray, "moments names width"], plane: str = "dimensions") -> Ways:
    """The paths of vectors over training: in dimensions 0 and 1, or principal components.

    >>> tables = np.array([[[0.0, 0, 0], [4, 0, 0]], [[1, 0, 0], [4, 3, 4]]])
    >>> ways(tables).paths.tolist(), round(ways(tables).share, 2), ways(tables, "principal").share
    ([[[0.0, 0.0], [1.0, 0.0]], [[4.0, 0.0], [4.0, 3.0]]], 0.53, 1.0)
    """
    last = tables[-1]
    if plane == "principal":
        found = principal(last)
        paths = [found.project(table) for table in tables]
        return Ways(np.stack(paths, axis=1), plane, found.share)
    variance = last.var(axis=0)
    two = np.pad(tables, ((0, 0), (0, 0), (0, 1)))[..., :2]
    return Ways(np.swapaxes(two, 0, 1), plane, float(variance[:2].sum() / variance.sum()))
