"""Forward passes of all members over texts, with named values recorded and replaced."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.evaluation import teacher_forcing
from curta.evaluation.scoring import Models
from curta.layouts import Layout, ShapeBounds, Text
from curta.model.inspection import Change, recorded
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.probes.inside.texts import Texts, shown_to

Values = Mapping[str, Float[np.ndarray, "members problems *rest"]]
"""The values of sites."""

Changes = Mapping[str, Change]
"""What is changed, by site: a mask (problems, ...), and values (members, problems, ...)."""

Shape = tuple[int, ...]


def shapes(models: Models, bounds: ShapeBounds) -> dict[str, Shape]:
    """The shape of every site in one text of one member, in the order of the pass."""
    layout, found = models.layout, dict[str, Shape]()

    def look(model: Transformer, tokens: Array, count: Array) -> None:
        text = Text(tokens, count, count)
        values = recorded(model, *shown_to(layout, model.config, text, bounds), bounds)
        found.update({site: value.shape[1:] for site, value in values.items()})

    one = jax.ShapeDtypeStruct((1,), jnp.int32)
    tokens = jax.ShapeDtypeStruct((1, bounds.total), jnp.int32)
    jax.eval_shape(look, models.member(0), tokens, one)
    return found


def passed(
    models: Models, texts: Texts, bounds: ShapeBounds, sites: frozenset[str], changes: Changes
) -> Values:
    """The values of these sites in all texts."""
    parts = [*pieces(models, texts, bounds, sites, changes)]
    return {site: np.concatenate([part[site] for part in parts], axis=1) for site in sites}


def pieces(
    models: Models, texts: Texts, bounds: ShapeBounds, sites: frozenset[str], changes: Changes
) -> Iterator[dict[str, np.ndarray]]:
    """The same, texts batch by batch, as many at once as fit the caches."""
    call = partial(_pass, layout=models.layout, bounds=bounds, sites=sites)
    own = {site: _of_each(change.values, models.members) for site, change in changes.items()}
    for rows, count in _batches(len(texts.lengths), bounds):
        masks = {site: _rows(change.mask, 0, rows) for site, change in changes.items()}
        values = {site: _rows(value, 1, rows) for site, value in own.items()}
        found = call(models.stacked, texts.part(rows).given, masks, values)
        yield {site: np.asarray(value)[:, :count] for site, value in found.items()}


def _of_each(values: Any, members: int) -> np.ndarray:
    """Values with an axis of members, where one stands for all."""
    found: np.ndarray = np.broadcast_to(values, (members, *values.shape[1:]))
    return found


def _batches(count: int, bounds: ShapeBounds) -> Iterator[tuple[Int[np.ndarray, " rows"], int]]:
    """Rows of each batch, the last filled up with its own, and how many of them are new."""
    most = 1 << max(0, (teacher_forcing.BUDGET // bounds.total**2).bit_length() - 1)
    size = min(most, 1 << (count - 1).bit_length())
    for start in range(0, count, size):
        rows = np.arange(start, min(start + size, count))
        yield np.resize(rows, size), len(rows)


def _rows(array: Any, axis: int, rows: Int[np.ndarray, " rows"]) -> np.ndarray:
    """Those of the problems, unless one stands for all."""
    found = np.asarray(array)
    return found if found.shape[axis] == 1 else np.take(found, rows, axis=axis)


@partial(jax.jit, static_argnames=("layout", "bounds", "sites"))
def _pass(
    stacked: Transformer,
    text: Text,
    masks: Mapping[str, Array],
    values: Mapping[str, Array],
    *,
    layout: Layout,
    bounds: ShapeBounds,
    sites: frozenset[str],
) -> dict[str, Array]:
    tokens, where = shown_to(layout, stacked.config, text, bounds)

    def one(given: tuple[Transformer, Mapping[str, Array]]) -> dict[str, Array]:
        model, own = given
        changes = {site: Change(masks[site], own[site]) for site in own}
        return recorded(model, tokens, where, bounds, sites, changes)

    return jax.lax.map(one, (stacked, values))


def cells(
    models: Models, texts: Texts, bounds: ShapeBounds
) -> Int[np.ndarray, "problems positions positions"] | None:
    """Which cell of each query's window each key fills; None without a window.

    Cell 0 is the query itself, the others are its role's neighbours in their order; a number that
    is no cell stands for what the query does not see.
    """
    if not isinstance(models.stacked.positions, WindowEncoding):
        return None
    return np.asarray(_cells(models.member(0), texts.given, models.layout, bounds))


@partial(jax.jit, static_argnames=("layout", "bounds"))
def _cells(model: Transformer, text: Text, layout: Layout, bounds: ShapeBounds) -> Array:
    assert isinstance(model.positions, WindowEncoding)
    where = shown_to(layout, model.config, text, bounds)[1]
    seen = model.positions.visible_keys(model.positions.index(where, bounds), where)
    return model.positions.cell_of_keys(seen)
