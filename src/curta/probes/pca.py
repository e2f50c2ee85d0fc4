"""The plane in which vectors vary most, where others lie in it, and the ways of vectors there."""

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
    """The ways of a member's vectors in the plane in which its last ones vary most.

    `share` is how much of their variance the plane holds.
    """

    paths: Float[np.ndarray, "names moments two"]
    share: float

    def title(self, member: int) -> str:
        return f"member {member}: {self.share:.0%} of variance"

    def panel(self, member: int, names: Sequence[str]) -> Paths:
        return {
            "form": "paths",
            "title": self.title(member),
            "names": list(names),
            "paths": self.paths.tolist(),
        }


def ways(tables: Float[np.ndarray, "moments names width"]) -> Ways:
    """The ways of vectors from moment to moment."""
    plane = principal(tables[-1])
    return Ways(np.stack([plane.project(table) for table in tables], axis=1), plane.share)
