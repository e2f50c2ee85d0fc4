"""Which values of a site an intervention selects."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from curta.config.errors import UserError, unknown
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.inspection import AXES, kind
from curta.probes.inside.interventions import Chosen, Intervention, several
from curta.probes.inside.texts import Texts
from curta.programs.machine.machine import neighbour_name

Mask = Bool[np.ndarray, "..."]

ITSELF = "itself"
"""The name of a window's first cell."""


class Scene(NamedTuple):
    """What is selected from: texts, and which cell of each query's window each key fills."""

    layout: Layout
    texts: Texts
    cells: Int[np.ndarray, "problems positions positions"] | None


def selected(scene: Scene, intervention: Intervention, shape: Sequence[int]) -> Mask:
    """A mask that broadcasts to (problems, *shape), `shape` that of the site in one text.

    Raises UserError for a selection that the site does not have, an index beyond its axis, and a
    name that there is not; a selection may be empty, as long as it is one.
    """
    site = intervention.site
    axes = AXES[kind(site)]
    sizes = dict(zip(axes, (len(scene.texts.lengths), *shape), strict=True))
    places = "query" if "query" in axes else "position"
    found = _along({"problem": 0, places: 1}, scene.texts.there, axes)
    for name, wanted in intervention.where.items():
        if name in axes:
            found = found & _indices(site, name, sizes[name], wanted, axes)
            continue
        named = _named(scene, places, axes)
        if name not in named:
            raise unknown(f"selection of {site}", name, [*axes, *named])
        found = found & named[name](wanted)
    return found


def _indices(site: str, axis: str, size: int, wanted: Chosen, axes: Sequence[str]) -> Mask:
    """Those of an axis, by their numbers."""
    for one in several(wanted):
        if not isinstance(one, int) or not 0 <= one < size:
            raise UserError(f"{site} has {axis} 0 to {size - 1}, not {one}")
    return _along({axis: 0}, np.isin(np.arange(size), several(wanted)), axes)


def _named(scene: Scene, places: str, axes: Sequence[str]) -> dict[str, Callable[[Chosen], Mask]]:
    """What selects by names at a site with these axes."""
    if places not in axes:
        return {}
    found: dict[str, Callable[[Chosen], Mask]] = {
        "role": lambda wanted: _along({"problem": 0, places: 1}, _of_roles(scene, wanted), axes)
    }
    if places != "query":
        return found
    found["key_role"] = lambda wanted: _along(
        {"problem": 0, "key": 1}, _of_roles(scene, wanted), axes
    )
    if scene.cells is not None:
        keys = {"problem": 0, "query": 1, "key": 2}
        found["neighbour"] = lambda wanted: _along(keys, _of_neighbours(scene, wanted), axes)
    return found


def _along(of: dict[str, int], mask: Mask, axes: Sequence[str]) -> Mask:
    """A mask over some of the axes, in their order, with 1 on the others.

    >>> _along({"key": 0}, np.array([True, False]), ("problem", "query", "key")).shape
    (1, 1, 2)
    """
    shape = [mask.shape[of[axis]] if axis in of else 1 for axis in axes]
    return mask.reshape(shape)


def _of_roles(scene: Scene, wanted: Chosen) -> Bool[np.ndarray, "problems positions"]:
    names = [role.name for role in scene.layout.roles]
    for one in several(wanted):
        if one not in names:
            raise unknown("role", one, names)
    numbers = [names.index(str(one)) for one in several(wanted)]
    return np.isin(scene.texts.roles, numbers)


def neighbours(layout: Layout) -> dict[str, Int[np.ndarray, " roles"]]:
    """The neighbours that any role's window has, by name: the cell of each role, -1 for none."""
    assert isinstance(layout, ProgramLayout)
    found = {ITSELF: np.zeros(len(layout.roles), int)}
    for number, role in enumerate(layout.roles):
        for cell, neighbour in enumerate(layout.windows.get(role.name, ()), 1):
            name = neighbour_name(layout.axes, neighbour)
            found.setdefault(name, np.full(len(layout.roles), -1))[number] = cell
    return found


def seen_as(scene: Scene, name: str) -> Bool[np.ndarray, "problems queries keys"]:
    """Where a key is the neighbour of this name to a query."""
    assert scene.cells is not None
    cell = np.where(scene.texts.roles >= 0, neighbours(scene.layout)[name][scene.texts.roles], -1)
    return scene.cells == cell[..., None]


def _of_neighbours(scene: Scene, wanted: Chosen) -> Bool[np.ndarray, "problems queries keys"]:
    known = neighbours(scene.layout)
    for one in several(wanted):
        if one not in known:
            raise unknown("neighbour", one, known)
    return np.logical_or.reduce([seen_as(scene, str(one)) for one in several(wanted)])
