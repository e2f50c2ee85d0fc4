"""What the PyTorch side of a comparison is given: Curta's sizes, weights and batches.

Runs Curta's own writer, so that both sides train on the same texts; the PyTorch
process itself then needs no JAX, whose thread pool would share its cores.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from curta import training
from curta.batches import padded
from curta.layouts import Layout, Room, Text, Where, layout_named
from curta.model import Transformer
from curta.positions.window import WindowEncoding
from curta.recipe import Recipe

from .configurations import CONFIGURATIONS
from .torch_model import IGNORED, Size

Arrays = dict[str, np.ndarray]


def save(name: str, folder: Path, count: int) -> None:
    """Writes what a PyTorch worker reads for `count` batches of a configuration."""
    recipe = CONFIGURATIONS[name].recipe()
    model = member(recipe)
    settings = {
        "size": dataclasses.asdict(size(recipe, model)),
        "optimizer": dataclasses.asdict(recipe.optimizer),
        "steps": recipe.training.steps,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    save_file(weights(model), folder / "weights.safetensors")
    made = [batch(model, recipe, text) for text in texts(recipe, count)]
    stacked = {name: np.stack([each[name] for each in made]) for name in made[0]}
    save_file(stacked, folder / "batches.safetensors")


def member(recipe: Recipe, seed: int = 0) -> Transformer:
    """Curta's model before its first step."""
    stacked = training.init(recipe, jnp.array([seed]))
    return jax.tree.map(lambda leaf: leaf[0], stacked.model)


def room(recipe: Recipe) -> Room:
    (task,) = recipe.tasks
    return layout_named(recipe.layout).room(task.operator, task.widest)


def texts(recipe: Recipe, count: int) -> list[Text]:
    """Training batches as Curta draws and writes them."""
    layout, (task,) = layout_named(recipe.layout), recipe.tasks

    @jax.jit
    def one(key: jax.Array) -> Text:
        drawn = task.draw(key, recipe.training.batch)
        return layout.tokens(task.operator, drawn, room(recipe))

    return [one(key) for key in jax.random.split(jax.random.key(1), count)]


def batch(model: Transformer, recipe: Recipe, text: Text) -> Arrays:
    """The fields of a PyTorch `Batch`."""
    layout = layout_named(recipe.layout)
    where = layout.where(text)
    given = padded(text, where, room(recipe))
    arrays = {
        "tokens": np.asarray(given.tokens),
        "queries": np.asarray(given.queries),
        "targets": np.where(given.scored, given.goals, IGNORED),
    }
    if model.kinds is not None:
        arrays["kinds"] = np.maximum(where.kind, 0)[:, :-1]
    if isinstance(model.positions, WindowEncoding):
        arrays["neighbours"] = _neighbours(model.positions, layout, where, arrays["queries"])
    return {name: array.astype(np.int64) for name, array in arrays.items()}


def _neighbours(
    positions: WindowEncoding, layout: Layout, where: Where, queries: np.ndarray
) -> np.ndarray:
    """For each query and key the number of (kind, displacement), or one past the last."""
    (near,) = positions.near
    kind, place = np.asarray(where.kind)[:, :-1], np.asarray(where.coordinates)[:, :-1, 0]
    asked = np.take_along_axis(place, queries, axis=1)
    apart = place[:, None, :] - asked[:, :, None]
    visible = np.arange(kind.shape[1]) <= queries[:, :, None]
    links = np.full(apart.shape, len(near))
    for number, (which, (displacement,)) in enumerate(near):
        wild = bool(layout.kinds[which].wild)
        near = (kind[:, None, :] == which) & ((apart == displacement) | wild)
        links = np.where(near & visible, number, links)
    return links


def size(recipe: Recipe, model: Transformer) -> Size:
    """Curta's sizes as those of the PyTorch model, which has only the default design."""
    shared = {field.name for field in dataclasses.fields(Size)}
    given: dict[str, Any] = dataclasses.asdict(recipe.model)
    fields = {name: value for name, value in given.items() if name in shared}
    layout = layout_named(recipe.layout)
    biases = getattr(model.positions, "biases", None)
    return Size(
        **fields | {"kinds": len(layout.kinds) if model.kinds is not None else 0},
        vocabulary=len(layout.characters),
        positions=recipe.positions.name,
        position_rows=getattr(recipe.positions, "length", 0),
        neighbours=0 if biases is None else biases.shape[-1],
    )


def weights(tree: Transformer) -> Arrays:
    """A model's weights, or their gradients, by the names that PyTorch gives them."""
    named = {"tokens.weight": tree.tokens, "norm.gain": tree.gain}
    named |= {"kinds.weight": tree.kinds, "places.weight": getattr(tree.positions, "table", None)}
    named |= {"head.weight": None if tree.head is None else tree.head.T}
    biases = getattr(tree.positions, "biases", None)
    for number in range(tree.settings.attending):
        attention = jax.tree.map(lambda leaf, n=number: leaf[n], tree.attention)
        named |= _attention(attention, number)
        named |= {f"attention.{number}.bias": None if biases is None else biases[number]}
    for number in range(tree.settings.blocks):
        named |= _feedforward(jax.tree.map(lambda leaf, n=number: leaf[n], tree.mlp), number)
    return {name: np.ascontiguousarray(array) for name, array in named.items() if array is not None}


def _attention(weight: Any, number: int) -> dict[str, Any]:
    return {
        f"attention.{number}.qkv.weight": np.concatenate(
            [weight.query.T, weight.key.T, weight.value.T]
        ),
        f"attention.{number}.out.weight": weight.out.T,
        f"attention.{number}.norm.gain": weight.gain,
    }


def _feedforward(weight: Any, number: int) -> dict[str, Any]:
    return {
        f"feedforward.{number}.up.weight": weight.up.T,
        f"feedforward.{number}.down.weight": weight.down.T,
        f"feedforward.{number}.norm.gain": weight.gain,
    }
