"""A window as a mask over all pairs: the same logits as by way of its table."""

from functools import partial

import jax
import numpy as np
import pytest

import tiny
from curta import recipe as recipes
from curta.export.masked import masked
from curta.layouts import Room, Text, layout_named
from curta.model import Transformer
from curta.operations import OPERATIONS
from curta.problems import Problem
from curta.recipe import Recipe

WINDOWS = [name for name in recipes.names() if recipes.load(name).positions.name == "window"]


def small(name: str) -> Recipe:
    """A shipped recipe with hardly any weights; its layout and window are its own."""
    changes = {"model.width": 16, "model.heads": 2, "model.mlp_factor": 1, "model.blocks": 3}
    return recipes.parse(recipes.with_overrides(recipes.read(name), changes), where=name)


def problems(of: Recipe, operator: str) -> list[Problem]:
    """Of different lengths, with a carry, with equal operands."""
    count = min(OPERATIONS[operator].most or 3, layout_named(of.layout).most or 3)
    operands = [(97, 5, 8), (10, 98, 11), (7, 7, 7)]
    return [Problem(operator, values[:count]) for values in operands]


@partial(jax.jit, static_argnames="room")
def both(model: Transformer, text: Text, room: Room) -> tuple[jax.Array, jax.Array]:
    """Logits by way of the table, and of the mask."""
    where = model.layout.where(text)
    table = model(text.tokens, where, tiny.every_index(text), room)
    return table, masked(model).everywhere(text.tokens, where, room)


@pytest.mark.parametrize("name", WINDOWS)
def test_logits_are_those_of_the_table(name: str) -> None:
    of = small(name)
    layout = layout_named(of.layout)
    model = tiny.drawn(of, layout)
    for task in of.tasks:
        asked = problems(of, task.operator)
        room = layout.room(task.operator, (2,) * len(asked[0].operands))
        text = tiny.text(layout, asked, room.total)
        table, mask = map(np.asarray, both(model, text, room))
        for ours, found, length in zip(table, mask, np.asarray(text.lengths), strict=True):
            np.testing.assert_allclose(found[:length], ours[:length], atol=1e-5, rtol=0)


def test_every_token_the_same_way_as_the_scored_ones() -> None:
    """Block after block, as exports take it, or only where a loss is: one model."""
    of = tiny.with_encoding("rope", model__attending=2, model__loops=2, model__inject="block")
    layout = layout_named(of.layout)
    model = tiny.drawn(of, layout)
    room = tiny.room(layout, 4)
    text = tiny.text(layout, tiny.random_sums(3, 4), room.total)
    where = layout.where(text)
    ours = model(text.tokens, where, tiny.every_index(text), room)
    found = jax.jit(lambda model: model.everywhere(text.tokens, where, room))(model)
    np.testing.assert_allclose(np.asarray(found), np.asarray(ours), atol=1e-5, rtol=0)
