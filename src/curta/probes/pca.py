"""The plane in which vectors vary most, and where others lie in it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

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

    >>> principal(np.array([[0.0, 0, 0], [4, 0, 0], [0, 2, 0], [4, 2, 0]])).share
    1.0
    """
    centre = table.mean(axis=0)
    _, sizes, directions = np.linalg.svd(table - centre, full_matrices=False)
    variance = sizes**2
    return Plane(centre, directions[:2].T, float(variance[:2].sum() / variance.sum()))
