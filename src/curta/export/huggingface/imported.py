"""A folder that was exported, and perhaps fine-tuned and saved again, as a member of a run."""

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
from curta.export.base import Exported, Tensors
from curta.export.huggingface import parts
from curta.export.huggingface.base import Family
from curta.layouts import Layout, layout_named
from curta.layouts.texts import stored
from curta.model import recipes
from curta.model.transformer import Transformer
from curta.programs.machine import store
from curta.programs.user.run_snapshot import formats_known
from curta.training import trainer

FORMAT = 1
"""Version of what config.json says of the run; a newer one is refused."""

TIED = ("lm_head.weight", "head.weight")
"""What may be written a second time where the head is tied."""


def read(folder: Path, families: Mapping[str, Family]) -> Exported:
    """The member that lies in a folder; UserError if none does, or it can be none any more."""
    config = _config(folder)
    about = _about(folder, config)
    if isinstance(about.get("machine"), dict):
        formats_known(store.load(about["machine"], f"config.json in {str(folder)!r}")[0])
    where = f"the recipe in {str(folder)!r}"
    recipes.check_kept(about["recipe"], where)
    recipe = recipes.parse(about["recipe"], where)
    family, blank = _family(config, families), _blank(recipe, _layout(folder, recipe, about))
    tensors = _tensors(folder / "model.safetensors")
    try:
        model = _model(family, blank, tensors, about["former"])
    except UserError as error:
        raise UserError(f"{str(folder)!r} is no model of its recipe: {error}") from None
    return Exported(about["run"], about["seed"], recipe, model)


def _model(
    family: Family, blank: Transformer, tensors: Tensors, former: Mapping[str, Any]
) -> Transformer:
    made = family.parts(blank)
    if blank.config.tie_embeddings:
        tensors = {name: tensor for name, tensor in tensors.items() if name not in TIED}
    further = sorted(set(tensors) - {part.name for part in made})
    if further:
        raise UserError(f"it has {further[0]} besides")
    return parts.read(made, tensors, blank, former)


def _config(folder: Path) -> dict[str, Any]:
    # the cache of the Hugging Face Hub has links to its files
    content = files.read_json((folder / "config.json").resolve(), f"folder {str(folder)!r}")
    if not isinstance(content.get("curta"), dict):
        raise UserError(f"{str(folder)!r} was not exported by Curta: config.json says no recipe")
    return content


def _family(config: dict[str, Any], families: Mapping[str, Family]) -> Family:
    kind = str(config.get("model_type"))
    if kind not in families:
        raise UserError(f"model_type {kind!r} is none that Curta writes: {', '.join(families)}")
    return families[kind]


def _about(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """What is said of the run, once it is sure that all of it is said."""
    about: dict[str, Any] = config["curta"]
    roles = {"format": int, "run": str, "seed": int, "recipe": dict, "former": dict}
    wrong = [name for name, kind in roles.items() if not isinstance(about.get(name), kind)]
    if wrong:
        raise UserError(f"config.json in {str(folder)!r} is damaged: curta.{wrong[0]} is missing")
    if about["format"] > FORMAT:
        raise UserError(
            f"{str(folder)!r} was made by a newer version (format {about['format']}): update curta"
        )
    return about


def _layout(folder: Path, recipe: Recipe, about: Mapping[str, Any]) -> Layout:
    """How its problems are written; of programs by the machine that came with it."""
    if recipe.layout is not None:
        return layout_named(recipe.layout)
    machine = about.get("machine")
    where = f"config.json in {str(folder)!r}"
    if not isinstance(machine, dict):
        raise UserError(f"{where} is damaged: curta.machine is missing")
    return stored(recipe, *store.load(machine, where), where)


def _blank(recipe: Recipe, layout: Layout) -> Transformer:
    """A model of the recipe with zeros for weights."""
    state = jax.eval_shape(lambda: trainer.init(recipe, layout, jnp.zeros(1, jnp.int32)))
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:], np.float32), state.model)


def _tensors(path: Path) -> Tensors:
    """All tensors of a file, in single precision."""
    try:
        found = safetensors.flax.load_file(path)  # NumPy's reader knows no bfloat16
        return {name: np.asarray(tensor, np.float32) for name, tensor in found.items()}
    except (OSError, safetensors.SafetensorError) as error:
        raise UserError(f"cannot read {str(path)!r}: {error}") from None
