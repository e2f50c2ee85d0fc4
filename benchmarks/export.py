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

from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.layouts import ShapeBounds, Text
from curta.layouts.batches import Batch, completion_batch
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model.positions.vectors import LearnedEncoding
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.problems import task_sizes, tasks
from curta.training import records, trainer

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
    every = draw_batches(recipe, count)
    stacked = {name: np.stack([each[name] for each in every]) for name in every[0]}
    save_file(stacked, folder / "batches.safetensors")


def member(recipe: Recipe, seed: int = 0) -> Transformer:
    """Curta's model before its first step."""
    stacked = trainer.init(recipe, layout_of(recipe), jnp.array([seed]))
    return jax.tree.map(lambda leaf: leaf[0], stacked.model)


def draw_batches(recipe: Recipe, count: int) -> list[Arrays]:
    """The fields of so many PyTorch batches, as Curta draws them for training."""
    keys = jax.random.split(jax.random.key(1), count)
    if isinstance(recipe.positions, Window):
        return windows(recipe, keys)
    return [arrays(batch(recipe, text)) for text in texts(recipe, keys)]


def windows(recipe: Recipe, keys: jax.Array) -> list[Arrays]:
    """Batches of the windows that the first seed is shown."""
    data, _ = records.training_data(recipe, layout_of(recipe), [0])
    by_member = jax.tree.map(lambda column: column[0], data.by_member)
    size, batches = recipe.training.batch, []
    for key in keys:
        chosen = trainer.draw_windows(data._replace(by_member=by_member), key, size)
        rows, targets = (np.asarray(column)[chosen].astype(np.int64) for column in data.shared)
        batches.append({"rows": rows, "targets": targets})
    return batches


def bounds(recipe: Recipe) -> ShapeBounds:
    (task,) = recipe.tasks
    return layout_of(recipe).bounds(task.operator, task_sizes.widest(task))


def texts(recipe: Recipe, keys: jax.Array) -> list[Text]:
    """Training batches as Curta draws and writes them."""
    layout, (task,) = layout_of(recipe), recipe.tasks

    @jax.jit
    def draw(key: jax.Array) -> Text:
        drawn = tasks.draw(task, key, recipe.training.batch)
        return layout.tokens(task.operator, drawn, bounds(recipe))

    return [draw(key) for key in keys]


def batch(recipe: Recipe, text: Text) -> Batch:
    """A text padded for both sides, so that both compute the same."""
    return completion_batch(text, layout_of(recipe).where(text), bounds(recipe))


def arrays(text_batch: Batch) -> Arrays:
    """The fields of a PyTorch `Batch`."""
    columns = {
        "tokens": np.asarray(text_batch.tokens),
        "queries": np.asarray(text_batch.queries),
        "targets": np.where(text_batch.scored, text_batch.goals, IGNORED),
    }
    return {name: array.astype(np.int64) for name, array in columns.items()}


def size(recipe: Recipe, model: Transformer) -> Size:
    """Curta's sizes as those of the PyTorch model, which has only the default design."""
    shared = {field.name for field in dataclasses.fields(Size)}
    settings: dict[str, Any] = dataclasses.asdict(recipe.model)
    fields = {name: value for name, value in settings.items() if name in shared}
    layout = layout_of(recipe)
    plain = Size(
        **fields,
        vocabulary=len(layout.characters),
        positions=recipe.positions.name,
        position_rows=getattr(recipe.positions, "length", 0),
    )
    if not isinstance(model.positions, WindowEncoding):
        return plain
    assert isinstance(layout, ProgramLayout)
    assert recipe.model.compositional_embeddings
    role, has_cell = layout.machine.role.tolist(), model.positions.has_cell().tolist()
    return dataclasses.replace(
        plain, composition=layout.composition().tolist(), role=role, has_cell=has_cell
    )


def weights(tree: Transformer) -> Arrays:
    """A model's weights, or their gradients, by the names that PyTorch gives them."""
    named = {"tokens.weight": tree.tokens, "norm.weight": tree.gain}
    if isinstance(tree.positions, LearnedEncoding):
        named |= {"places.weight": tree.positions.table}
    assert tree.head is not None
    named |= {"head.weight": tree.head.T}
    for number in range(tree.config.num_attention_layers):
        attention = jax.tree.map(lambda leaf, n=number: leaf[n], tree.attention)
        named |= _attention(attention, number)
        if isinstance(tree.positions, WindowEncoding):
            named |= {f"attention.{number}.bias": tree.positions.layers[number]}
    for number in range(tree.config.num_layers):
        named |= _feedforward(jax.tree.map(lambda leaf, n=number: leaf[n], tree.mlp), number)
    return {name: np.ascontiguousarray(array) for name, array in named.items() if array is not None}


def _attention(weight: Any, number: int) -> dict[str, Any]:
    return {
        f"attention.{number}.qkv.weight": np.concatenate(
            [weight.query.T, weight.key.T, weight.value.T]
        ),
        f"attention.{number}.out.weight": weight.out.T,
        f"attention.{number}.norm.weight": weight.gain,
    }


def _feedforward(weight: Any, number: int) -> dict[str, Any]:
    return {
        f"feedforward.{number}.up.weight": weight.up.T,
        f"feedforward.{number}.down.weight": weight.down.T,
        f"feedforward.{number}.norm.weight": weight.gain,
    }
