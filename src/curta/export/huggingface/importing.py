"""Import an exported folder, possibly fine-tuned and saved again, as a member of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.flax

from curta.config import files
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.export.base import Exported
from curta.export.huggingface.model_class import ModelClass, read_tensors
from curta.layouts import Layout, layout_named
from curta.layouts.texts import layout_of_machine
from curta.model import recipes
from curta.programs.machine import store
from curta.programs.user.run_snapshot import formats_known
from curta.training import trainer

FORMAT = 1
"""Version of Curta's entry in config.json; newer versions are refused."""

TIED = ("lm_head.weight", "head.weight")
"""Names of a second copy of the embedding where the head is tied."""


def read_folder(folder: Path, classes: Mapping[str, ModelClass]) -> Exported:
    """Return the member in a folder; UserError if there is none that fits its recipe."""
    place = repr(str(folder))
    # the cache of the Hugging Face Hub has links to its files
    config = files.read_json((folder / "config.json").resolve(), f"folder {place}")
    origin = config.get("curta")
    if not isinstance(origin, dict):
        raise UserError(f"{place} was not exported by Curta: config.json says no recipe")
    kind = str(config.get("model_type"))
    if kind not in classes:
        raise UserError(f"model_type {kind!r} is none that Curta writes: {', '.join(classes)}")
    fields = {"format": int, "run": str, "seed": int, "recipe": dict, "former": dict}
    for name, expected in fields.items():
        if not isinstance(origin.get(name), expected):
            raise UserError(f"config.json in {place} is damaged: curta.{name} is missing")
    if origin["format"] > FORMAT:
        raise UserError(
            f"{place} was made by a newer version (format {origin['format']}): update curta"
        )
    layout, recipe = _layout_and_recipe(origin, place)
    state = jax.eval_shape(lambda: trainer.init(recipe, layout, jnp.zeros(1, jnp.int32)))
    blank = jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:], np.float32), state.model)
    path = folder / "model.safetensors"
    try:  # NumPy's reader knows no bfloat16
        values = {
            name: np.asarray(tensor, np.float32)
            for name, tensor in safetensors.flax.load_file(path).items()
        }
    except (OSError, safetensors.SafetensorError) as error:
        raise UserError(f"cannot read {str(path)!r}: {error}") from None
    tensors = classes[kind].tensors(blank)
    if blank.config.tie_embeddings:
        values = {name: value for name, value in values.items() if name not in TIED}
    try:
        if further := sorted(set(values) - {tensor.name for tensor in tensors}):
            raise UserError(f"it has {further[0]} besides")
        model = read_tensors(tensors, values, blank, origin["former"])
    except UserError as error:
        raise UserError(f"{place} is no model of its recipe: {error}") from None
    return Exported(origin["run"], origin["seed"], recipe, model)


def _layout_and_recipe(about: Mapping[str, Any], place: str) -> tuple[Layout, Recipe]:
    """Return the recipe and its layout; a program's layout comes from the exported machine."""
    where, machine = f"config.json in {place}", about.get("machine")
    if isinstance(machine, dict):
        formats_known(store.load(machine, where)[0])
    recipes.check_kept(about["recipe"], f"the recipe in {place}")
    recipe = recipes.parse(about["recipe"], f"the recipe in {place}")
    if recipe.layout is not None:
        return layout_named(recipe.layout), recipe
    if not isinstance(machine, dict):
        raise UserError(f"{where} is damaged: curta.machine is missing")
    return layout_of_machine(recipe, *store.load(machine, where), where), recipe
