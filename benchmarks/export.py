"""What the PyTorch side of a comparison is given: Curta's weights and batches.

Runs Curta's own writer, so that both sides train on the same texts; the PyTorch
process itself then needs no JAX, whose thread pool would share its cores.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.layouts import ShapeBounds, Text
from curta.layouts.base import Batch, completion_batch
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model.positions.vectors import LearnedEncoding
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.problems import task_sizes, tasks
from curta.training import records, trainer

from .configurations import CONFIGURATIONS
from .torch_model import IGNORED

Arrays = dict[str, np.ndarray]


def save(name: str, folder: str, count: int) -> None:
    """Writes what a PyTorch worker reads for `count` batches of a configuration."""
    recipe = CONFIGURATIONS[name].recipe()
    save_file(arrays_of(recipe, member(recipe)), Path(folder) / "weights.safetensors")
    every = draw_batches(recipe, count)
    stacked = {name: np.stack([each[name] for each in every]) for name in every[0]}
    save_file(stacked, Path(folder) / "batches.safetensors")


def member(recipe: Recipe) -> Transformer:
    """Curta's model before its first step."""
    stacked = trainer.init(recipe, layout_of(recipe), jnp.array([0]))
    return jax.tree.map(lambda leaf: leaf[0], stacked.model)


def draw_batches(recipe: Recipe, count: int) -> list[Arrays]:
    """The fields of so many PyTorch batches, as Curta draws them for training."""
    if not isinstance(recipe.positions, Window):
        return [
            {
                "tokens": np.asarray(batch.tokens, np.int64),
                "queries": np.asarray(batch.queries, np.int64),
                "targets": np.where(batch.scored, batch.goals, IGNORED).astype(np.int64),
            }
            for batch in text_batches(recipe, count)
        ]
    # the windows that the first seed is shown
    data, _ = records.training_data(recipe, layout_of(recipe), [0])
    data = data._replace(by_member=jax.tree.map(lambda column: column[0], data.by_member))
    batches = []
    for key in keys(count):
        chosen = trainer.draw_windows(data, key, recipe.training.batch)
        rows, targets = (np.asarray(column)[chosen].astype(np.int64) for column in data.shared)
        batches.append({"rows": rows, "targets": targets})
    return batches


def keys(count: int) -> jax.Array:
    return jax.random.split(jax.random.key(1), count)


def bounds(recipe: Recipe) -> ShapeBounds:
    (task,) = recipe.tasks
    return layout_of(recipe).bounds(task.operator, task_sizes.widest(task))


def text_batches(recipe: Recipe, count: int) -> list[Batch]:
    """Training batches as Curta draws and writes them, padded for both sides."""
    layout, (task,), shape = layout_of(recipe), recipe.tasks, bounds(recipe)

    @jax.jit
    def draw(key: jax.Array) -> Text:
        return layout.tokens(task.operator, tasks.draw(task, key, recipe.training.batch), shape)

    texts = [draw(key) for key in keys(count)]
    return [completion_batch(text, layout.where(text), shape) for text in texts]


def arrays_of(recipe: Recipe, model: Transformer) -> Arrays:
    """A model's weights, and under a window the tables of its tokens and windows."""
    arrays, layout = weights(model), layout_of(recipe)
    if isinstance(model.positions, WindowEncoding):
        assert isinstance(layout, ProgramLayout)
        assert recipe.model.compositional_embeddings
        arrays["composition"] = np.asarray(layout.composition(), np.float32)
        arrays["role"] = np.asarray(layout.machine.role, np.int64)
        arrays["has_cell"] = np.asarray(model.positions.has_cell())
    return arrays


def weights(tree: Transformer) -> Arrays:
    """A model's weights, or their gradients, by the names that PyTorch gives them."""
    assert tree.head is not None
    named: dict[str, Any] = {
        "tokens.weight": tree.tokens, "norm.weight": tree.gain, "head.weight": tree.head.T,
    }  # fmt: skip
    if isinstance(tree.positions, LearnedEncoding):
        named["places.weight"] = tree.positions.table
    for number in range(tree.config.num_attention_layers):
        layer = jax.tree.map(lambda leaf, n=number: leaf[n], tree.attention)
        columns = [layer.query.T, layer.key.T, layer.value.T]
        named[f"attention.{number}.qkv.weight"] = np.concatenate(columns)
        named[f"attention.{number}.out.weight"] = layer.out.T
        named[f"attention.{number}.norm.weight"] = layer.gain
        if isinstance(tree.positions, WindowEncoding):
            named[f"attention.{number}.bias"] = tree.positions.layers[number]
    for number in range(tree.config.num_layers):
        layer = jax.tree.map(lambda leaf, n=number: leaf[n], tree.mlp)
        named[f"feedforward.{number}.up.weight"] = layer.up.T
        named[f"feedforward.{number}.down.weight"] = layer.down.T
        named[f"feedforward.{number}.norm.weight"] = layer.gain
    return {name: np.ascontiguousarray(array) for name, array in named.items() if array is not None}
