"""What stands in the place of values: interventions as masks and arrays."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.config.errors import UserError
from curta.model.inspection import AXES, Change, kind
from curta.probes.inside.interventions import Intervention
from curta.probes.inside.passes import Shape, Values
from curta.probes.inside.selection import Mask, Scene, selected
from curta.probes.inside.texts import Texts, aligned


class Donors(NamedTuple):
    """Texts from which values are taken, each once."""

    texts: Texts
    values: Values
    given: Int[np.ndarray, " problems"]
    """The row of each given problem."""
    sources: Mapping[str, int]
    """The row of each problem that is named as a source."""


def changes(
    interventions: Sequence[Intervention],
    scene: Scene,
    donors: Donors,
    shapes: Mapping[str, Shape],
) -> dict[str, Change]:
    """What is changed at each site; of several interventions on a value the last counts.

    The scene's texts are those of the given problems, in whole or as far as they are written.
    """
    found = dict[str, Change]()
    for one in interventions:
        mask = selected(scene, one, shapes[one.site])
        change = _change(one, mask, scene, donors)
        found[one.site] = _over(found.get(one.site), change)
    return found


def _change(one: Intervention, mask: Mask, scene: Scene, donors: Donors) -> Change:
    if one.how == "zero":
        return Change(mask, np.zeros((1,) * (mask.ndim + 1), np.float32))
    values = donors.values[one.site]
    if one.how == "mean":
        return _means(one.site, mask, scene.texts, donors)
    rows = _rows(one, donors)
    places = aligned(scene.layout, scene.texts, donors.texts, rows)
    return _transplant(one.site, mask, values[:, rows], places)


def _means(site: str, mask: Mask, texts: Texts, donors: Donors) -> Change:
    """Of each role; tokens of a role that no given text has keep their values."""
    if "position" not in AXES[kind(site)]:
        raise UserError(
            f"{site} has no mean: its queries see different keys; zero, resample, patch"
        )
    given, values = donors.texts.part(donors.given), donors.values[site][:, donors.given]
    there = given.there
    roles, known = given.roles[there], values[:, there]
    means = np.zeros((len(values), *texts.roles.shape, *values.shape[3:]), np.float32)
    has = np.zeros(texts.roles.shape, bool)
    for role in np.unique(roles):
        mine = texts.roles == role
        means[:, mine] = known[:, roles == role].mean(axis=1)[:, None]
        has |= mine
    return Change(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), means)


def _rows(one: Intervention, donors: Donors) -> Int[np.ndarray, " problems"]:
    """From which row each given problem takes its values."""
    count = len(donors.given)
    if one.source is not None:
        return np.full(count, donors.sources[one.source])
    if count < 2:
        raise UserError(f"{one}: give several problems, from which others' values are drawn")
    step = np.random.default_rng(one.seed).integers(1, count, count)
    found: np.ndarray = donors.given[(np.arange(count) + step) % count]
    return found


def _transplant(
    site: str, mask: Mask, taken: np.ndarray, places: Int[np.ndarray, "problems positions"]
) -> Change:
    """The values of the corresponding tokens, of the text from which each problem takes them."""
    has = places >= 0
    if "position" in AXES[kind(site)]:
        index = places.reshape(1, *places.shape, *(1,) * (taken.ndim - 3))
        moved = np.take_along_axis(taken, np.maximum(index, 0), axis=2)
        return Change(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), moved)
    return Change(mask & has[:, None, :, None] & has[:, None, None], _both(taken, places))


def _both(
    weights: Float[np.ndarray, "members problems heads queries keys"],
    places: Int[np.ndarray, "problems positions"],
) -> Float[np.ndarray, "members problems heads queries keys"]:
    """Queries and keys both taken from other places."""
    index = np.maximum(places, 0)
    queries = np.take_along_axis(weights, index[None, :, None, :, None], axis=3)
    found: np.ndarray = np.take_along_axis(queries, index[None, :, None, None, :], axis=4)
    return found


def _over(earlier: Change | None, later: Change) -> Change:
    """Two changes of one site as one."""
    if earlier is None:
        return later
    values = np.where(np.asarray(later.mask)[None], later.values, earlier.values)
    return Change(np.asarray(earlier.mask) | np.asarray(later.mask), values)
