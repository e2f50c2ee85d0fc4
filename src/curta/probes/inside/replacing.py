"""Which values of a site an intervention selects, and what replaces them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from curta.config.errors import UserError, unknown
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.inspection import AXES, SiteChange, kind
from curta.probes.inside.interventions import ITSELF, Intervention, Selection, as_list
from curta.probes.inside.texts import Texts, aligned
from curta.programs.machine.machine import neighbour_name

Mask = Bool[np.ndarray, "..."]


class Scene(NamedTuple):
    """Texts to select from, and which cell of each query's window each key fills.

    Cell 0 is the query itself, the others are its role's neighbours in order; a number that is no
    cell stands for what the query does not see.
    """

    layout: Layout
    texts: Texts
    cells: Int[np.ndarray, "problems queries keys"] | None


class Donors(NamedTuple):
    """Texts from which values are taken, each once."""

    texts: Texts
    values: Mapping[str, Float[np.ndarray, "members texts *axes"]]
    problem_rows: Int[np.ndarray, " problems"]
    """The row of each problem."""
    source_rows: Mapping[str, int]
    """The row of each problem that an intervention names as its source."""


def selected(scene: Scene, intervention: Intervention, shape: Sequence[int]) -> Mask:
    """Return a mask that broadcasts to (problems, *shape), with the site's `shape` in one text.

    Raises UserError for an axis or a name that the site does not have, and for an index beyond its
    axis; a mask may be empty.
    """
    site, texts, layout = intervention.site, scene.texts, scene.layout
    axes = AXES[kind(site)]
    sizes = dict(zip(axes, (len(texts.lengths), *shape), strict=True))
    places = "query" if "query" in axes else "position"

    def along(mask: Mask, *names: str) -> Mask:
        """The mask of these axes, with 1 on the others: ("key",) of 5 becomes (1, 1, 1, 5)."""
        return mask.reshape([mask.shape[names.index(a)] if a in names else 1 for a in axes])

    def of_roles(chosen: Selection) -> Bool[np.ndarray, "problems positions"]:
        names = [role.name for role in layout.roles]
        for item in as_list(chosen):
            if item not in names:
                raise unknown("role", item, names)
        return np.isin(texts.roles, [names.index(str(item)) for item in as_list(chosen)])

    def of_neighbours(chosen: Selection) -> Bool[np.ndarray, "problems queries keys"]:
        names_of_neighbours = neighbours(layout)
        for item in as_list(chosen):
            if item not in names_of_neighbours:
                raise unknown("neighbour", item, names_of_neighbours)
        return np.logical_or.reduce([sees(scene, str(item)) for item in as_list(chosen)])

    selectors = ["role"] if places in axes else []
    selectors += ["key_role"] if places == "query" else []
    selectors += ["neighbour"] if places == "query" and scene.cells is not None else []
    mask = along(texts.present, "problem", places)
    for name, chosen in intervention.where.items():
        if name in axes:
            for index in as_list(chosen):
                if not isinstance(index, int) or not 0 <= index < sizes[name]:
                    raise UserError(f"{site} has {name} 0 to {sizes[name] - 1}, not {index}")
            mask = mask & along(np.isin(np.arange(sizes[name]), as_list(chosen)), name)
        elif name not in selectors:
            raise unknown(f"selection of {site}", name, [*axes, *selectors])
        elif name == "neighbour":
            mask = mask & along(of_neighbours(chosen), "problem", "query", "key")
        else:
            mask = mask & along(of_roles(chosen), "problem", places if name == "role" else "key")
    return mask


def neighbours(layout: Layout) -> dict[str, Int[np.ndarray, " roles"]]:
    """Return the neighbours in any role's window, by name: their cell by role, or -1."""
    assert isinstance(layout, ProgramLayout)
    cells = {ITSELF: np.zeros(len(layout.roles), int)}
    for number, role in enumerate(layout.roles):
        for cell, neighbour in enumerate(layout.windows.get(role.name, ()), 1):
            name = neighbour_name(layout.axes, neighbour)
            cells.setdefault(name, np.full(len(layout.roles), -1))[number] = cell
    return cells


def sees(scene: Scene, name: str) -> Bool[np.ndarray, "problems queries keys"]:
    """Return where a key is the neighbour of this name for a query."""
    assert scene.cells is not None
    roles = scene.texts.roles
    cell = np.where(roles >= 0, neighbours(scene.layout)[name][roles], -1)
    return scene.cells == cell[..., None]


def changes(
    interventions: Sequence[Intervention],
    scene: Scene,
    donors: Donors,
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, SiteChange]:
    """Return the change at each site; of several interventions on a value, the last counts."""
    by_site = dict[str, SiteChange]()
    for intervention in interventions:
        mask = selected(scene, intervention, shapes[intervention.site])
        if intervention.how == "zero":
            change = SiteChange(mask, np.zeros((1,) * (mask.ndim + 1), np.float32))
        elif intervention.how == "mean":
            change = _role_means(intervention.site, mask, scene.texts, donors)
        else:
            change = _transplant(intervention, mask, scene, donors)
        if intervention.site in by_site:
            before, here = by_site[intervention.site], np.asarray(change.mask)
            values = np.where(here[None], change.values, before.values)
            change = SiteChange(np.asarray(before.mask) | here, values)
        by_site[intervention.site] = change
    return by_site


def _role_means(site: str, mask: Mask, texts: Texts, donors: Donors) -> SiteChange:
    """Replace values by the mean over all tokens of the same role in all problems.

    Tokens of a role that no problem has keep their values.
    """
    if "position" not in AXES[kind(site)]:
        raise UserError(
            f"{site} has no mean: its queries see different keys; zero, resample, patch"
        )
    problem_texts = donors.texts.rows(donors.problem_rows)
    values = donors.values[site][:, donors.problem_rows][:, problem_texts.present]
    roles = problem_texts.roles[problem_texts.present]
    means = np.zeros((len(values), *texts.roles.shape, *values.shape[2:]), np.float32)
    has = np.isin(texts.roles, roles)
    for role in np.unique(roles):
        means[:, texts.roles == role] = values[:, roles == role].mean(axis=1)[:, None]
    return SiteChange(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), means)


def _transplant(edit: Intervention, mask: Mask, scene: Scene, donors: Donors) -> SiteChange:
    """Replace values by those of the corresponding tokens in the source, or in other problems."""
    count = len(donors.problem_rows)
    if edit.source is not None:
        rows = np.full(count, donors.source_rows[edit.source])
    elif count < 2:
        raise UserError(f"{edit}: give several problems, from which others' values are drawn")
    else:
        step = np.random.default_rng(edit.seed).integers(1, count, count)
        rows = donors.problem_rows[(np.arange(count) + step) % count]
    places = aligned(scene.layout, scene.texts, donors.texts, rows)
    values, has, index = donors.values[edit.site][:, rows], places >= 0, np.maximum(places, 0)
    if "position" in AXES[kind(edit.site)]:
        index = index.reshape(1, *index.shape, *(1,) * (values.ndim - 3))
        moved = np.take_along_axis(values, index, axis=2)
        return SiteChange(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), moved)
    # attention weights (members, problems, heads, queries, keys): both queries and keys move
    moved = np.take_along_axis(values, index[None, :, None, :, None], axis=3)
    moved = np.take_along_axis(moved, index[None, :, None, None, :], axis=4)
    return SiteChange(mask & has[:, None, :, None] & has[:, None, None], moved)
