"""Pages of models with random weights, and of shipped recipes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np

import tiny
from curta import recipe as recipes
from curta.layouts import Room, Text, layout_named
from curta.model import Transformer
from curta.page.assembled import render
from curta.page.folded import refuse
from curta.problems import Problem, parse
from curta.recipe import Recipe

PROBLEMS = {
    "addition": ["7+8", "99999+1", "123+98765", "0+0"],
    "subtraction": ["12-34", "1000-1", "5-5", "90210-1234"],
    "sums": ["1+22+333", "9+99", "7+70+700+7000"],
    "multiplication": ["12*34", "999*9", "0*57", "305*204"],
    "division": ["123//4", "9//12", "987%65", "0%7"],
    "sorting": ["sort 3,1,2", "sort 210,7,33,7", "sort 5"],
    "comparison": ["12<34", "34<12", "777<777", "9<10"],
    "copying": ["copy 123", "reverse 1200", "reverse 7"],
    "calculator": ["1+22+333", "12-34", "12*34", "123//4", "987%65"],
}
"""For each recipe that the page is for, some of its problems."""


def problems(name: str) -> list[Problem]:
    return [parse(text) for text in PROBLEMS[name]]


def drawn(recipe: Recipe) -> Transformer:
    """A model whose gains are not ones, as after training."""
    model = tiny.drawn(recipe, layout_named(recipe.layout))
    leaves, tree = jax.tree.flatten(model)
    keys = jax.random.split(jax.random.key(7), len(leaves))
    changed = [
        leaf * (1 + 0.2 * jax.random.normal(key, leaf.shape))
        for key, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, changed)


def shipped(name: str) -> tuple[Recipe, Transformer]:
    recipe = recipes.load(name)
    return recipe, drawn(recipe)


def page(folder: Path, recipe: Recipe, model: Transformer) -> Path:
    """The file of the page."""
    refuse(model)
    path = folder / "page.html"
    path.write_text(render(recipe, model, "made", 0), encoding="utf-8")
    return path


def logits(model: Transformer, asked: Sequence[Problem]) -> list[np.ndarray]:
    """By the Python model, for what follows each token of each written problem."""
    layout, rooms = model.layout, [_room(model, problem) for problem in asked]
    extents = [room.extents for room in rooms]
    room = replace(max(rooms, key=lambda room: room.total), extents=_widest(extents))
    text = tiny.text(layout, asked, room.total)
    found = np.asarray(_logits(model, text, room))
    return [line[:length] for line, length in zip(found, text.lengths.tolist(), strict=True)]


@partial(jax.jit, static_argnames="room")
def _logits(model: Transformer, text: Text, room: Room) -> jax.Array:
    return model(text.tokens, model.layout.where(text), tiny.every_index(text), room)


def _room(model: Transformer, problem: Problem) -> Room:
    return model.layout.room(problem.operator, [len(str(value)) for value in problem.operands])


def _widest(extents: list[tuple[tuple[int, int], ...]]) -> tuple[tuple[int, int], ...]:
    axes = zip(*extents, strict=True)
    return tuple((min(a for a, _ in axis), max(b for _, b in axis)) for axis in axes)
