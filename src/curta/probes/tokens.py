"""The embeddings of digits and operators in a plane, and their paths over training.

By default the plane is the first two dimensions, as in the source of the digit encoder. With
`principal`, final vectors are projected onto the two directions in which they vary most (principal
components, by singular value decomposition of the centred table); earlier vectors are drawn in
the same plane. Each member has its own plane. Vectors come from the run's history if it has one,
else from its checkpoints.

A layout has the digits and operators of its problems, and =. A program has ten tokens of the
answer that differ in their digit alone; where embeddings are composed, they differ as the vectors
of the digits do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from curta.probes.base import Finding, Probe, Row, option
from curta.probes.pictures import Panel, Paths
from curta.problems.operations import OPERATIONS

if TYPE_CHECKING:
    from curta.layouts import Layout
    from curta.probes.subject import Subject

PLANES = {"dimensions": "dimensions 0 and 1", "principal": "principal components"}
"""Planes in which paths are drawn, and their titles."""


@dataclass(frozen=True)
class TokenPaths(Probe):
    name: ClassVar[str] = "tokens"
    summary: ClassVar[str] = "the vectors of digits and signs in a plane, and how they moved"

    plane: str = option(
        "dimensions", "dimensions (0 and 1), or principal (components)", str, choices=(*PLANES,)
    )

    def examine(self, subject: Subject) -> Finding:
        layout = subject.layout
        tokens = layout.digits
        if subject.run.recipe.layout is not None:
            tokens = digits_and_signs(layout, [task.operator for task in subject.tasks])
        names = [layout.characters[token] for token in tokens]
        steps, tables = subject.vectors(tokens)
        rows, panels = list[Row](), list[Panel]()
        for number, member in enumerate(subject.members):
            mine = trace_paths(tables[:, number], self.plane)
            paths = mine.paths.tolist()
            panels.append(Paths(form="paths", title=mine.title(member), names=names, paths=paths))
            for moment, step in enumerate(steps):
                for token, (x, y) in zip(names, mine.paths[:, moment].tolist(), strict=True):
                    rows.append({"member": member, "step": step, "token": token, "x": x, "y": y})
        kind = "digits" if len(names) == len(layout.digits) else "digits and signs"
        shows = (
            f"The vectors of the {kind}, {PLANES[self.plane]}, each from its random start over"
            f" {len(steps) - 1:,} later moments of training."
        )
        return Finding.of(rows, shows, panels)


def digits_and_signs(layout: Layout, operators: Iterable[str]) -> list[int]:
    """Return the tokens of the digits, of these operators, and of `=`, where a layout has them."""
    marks = [OPERATIONS[operator].mark for operator in operators]
    signs = [sign for sign in dict.fromkeys((*marks, "=")) if sign in layout.characters]
    return layout.digits + [layout.code(sign) for sign in signs]


class VectorPaths(NamedTuple):
    """The paths of a member's vectors in a plane, which holds `share` of the final variance."""

    paths: Float[np.ndarray, "names moments two"]
    plane: str
    share: float

    def title(self, member: int) -> str:
        return f"member {member}, {PLANES[self.plane]}: {self.share:.0%} of variance"


def trace_paths(
    tables: Float[np.ndarray, "moments names width"], plane: str = "dimensions"
) -> VectorPaths:
    """Return the paths of vectors over training: in dimensions 0 and 1, or principal components.

    Principal components are those of the last moment. The sign of an axis is arbitrary; for vectors
    of width 1 the second direction is zero.

    >>> tables = np.array([[[0.0, 0, 0], [4, 0, 0]], [[1, 0, 0], [4, 3, 4]]])
    >>> trace_paths(tables).paths.tolist(), round(trace_paths(tables).share, 2)
    ([[[0.0, 0.0], [1.0, 0.0]], [[4.0, 0.0], [4.0, 3.0]]], 0.53)
    >>> trace_paths(tables, "principal").share
    1.0
    """
    centre = tables[-1].mean(axis=0)
    variance = ((tables[-1] - centre) ** 2).sum(axis=0)
    if plane == "principal":
        _, sizes, directions = np.linalg.svd(tables[-1] - centre, full_matrices=False)
        tables, variance = (tables - centre) @ directions.T, sizes**2
    two = np.pad(tables, ((0, 0), (0, 0), (0, 1)))[..., :2]
    return VectorPaths(np.swapaxes(two, 0, 1), plane, float(variance[:2].sum() / variance.sum()))
