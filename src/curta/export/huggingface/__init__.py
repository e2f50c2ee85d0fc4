"""A folder that the transformers library opens: weights, settings, tokenizer, card.

A recipe that GPT-2 or Llama expresses exactly becomes that class, and needs no further code; every
other decoder is exported with `modeling_curta.py`. Nothing here needs torch. The recipe is in
config.json, where it survives fine-tuning, so the folder can be imported as a run.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.flax
import safetensors.numpy

from curta.config import files
from curta.config.errors import UserError
from curta.config.recipe import Recipe, as_table, dump
from curta.export.base import (
    Exported,
    Exporter,
    limits,
    machine_data,
    rooms,
    weights_of,
)
from curta.export.huggingface.classes import GPT2, CurtaClass, Llama, ModelClass, read_tensors
from curta.export.huggingface.tokenizer import card, prompt_rules, tokenizer_files
from curta.layouts import layout_named
from curta.layouts.texts import layout_of_machine
from curta.model import recipes
from curta.programs.machine import store
from curta.programs.user.run_snapshot import formats_known
from curta.training import trainer

CLASSES: dict[str, ModelClass] = {
    model_class.kind: model_class for model_class in (GPT2(), Llama(), CurtaClass())
}
"""By `model_type`; the first class that supports the recipe is used."""

FORMAT = 1
"""Version of Curta's entry in config.json; newer versions are refused."""

TIED = ("lm_head.weight", "head.weight")
"""Names of a second copy of the embedding where the head is tied."""


class HuggingFace(Exporter):
    name = "huggingface"
    summary = "a folder for AutoModelForCausalLM and AutoTokenizer"
    file = "huggingface-{member}"

    def refuse(self, recipe: Recipe) -> str | None:
        reasons = [model_class.lacks(recipe) for model_class in CLASSES.values()]
        return None if None in reasons else reasons[-1]

    def write(self, member: Exported, out: Path) -> None:
        model_class = next(each for each in CLASSES.values() if each.lacks(member.recipe) is None)
        write_as(model_class, member, out)

    def read(self, folder: Path) -> Exported:
        """Return the member in an exported folder, possibly fine-tuned and saved again.

        Raises UserError for a folder that Curta did not write, and if no model of its recipe is
        there.
        """
        place = repr(str(folder))
        if folder.is_file():
            raise UserError(f"{place} is a file: give the folder that was exported")
        # the cache of the Hugging Face Hub has links to its files
        config = files.read_json((folder / "config.json").resolve(), f"folder {place}")
        origin, kind = config.get("curta"), str(config.get("model_type"))
        if not isinstance(origin, dict):
            raise UserError(f"{place} was not exported by Curta: config.json says no recipe")
        if kind not in CLASSES:
            raise UserError(f"model_type {kind!r} is none that Curta writes: {', '.join(CLASSES)}")
        fields = {"format": int, "run": str, "seed": int, "recipe": dict}
        for name, expected in fields.items():
            if not isinstance(origin.get(name), expected):
                raise UserError(f"config.json in {place} is damaged: curta.{name} is missing")
        if origin["format"] > FORMAT:
            raise UserError(
                f"{place} was made by a newer version (format {origin['format']}): update curta"
            )

        # The recipe, and its layout: a program's comes from the exported machine.
        where, machine = f"config.json in {place}", origin.get("machine")
        paper = store.load(machine, where) if isinstance(machine, dict) else None
        if paper is not None:
            formats_known(paper[0])
        recipes.check_kept(origin["recipe"], f"the recipe in {place}")
        recipe = recipes.parse(origin["recipe"], f"the recipe in {place}")
        if recipe.layout is not None:
            layout = layout_named(recipe.layout)
        elif paper is not None:
            layout = layout_of_machine(recipe, *paper, where)
        else:
            raise UserError(f"{where} is damaged: curta.machine is missing")

        state = jax.eval_shape(lambda: trainer.init(recipe, layout, jnp.zeros(1, jnp.int32)))
        blank = jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:], np.float32), state.model)
        tensors, path = CLASSES[kind].tensors(blank), folder / "model.safetensors"
        try:  # NumPy's reader knows no bfloat16
            values = {
                name: np.asarray(tensor, np.float32)
                for name, tensor in safetensors.flax.load_file(path).items()
                if not (blank.config.tie_embeddings and name in TIED)
            }
        except (OSError, safetensors.SafetensorError) as error:
            raise UserError(f"cannot read {str(path)!r}: {error}") from None
        try:
            model = read_tensors(tensors, values, blank)
        except UserError as error:
            raise UserError(f"{place} is no model of its recipe: {error}") from None
        return Exported(origin["run"], origin["seed"], recipe, model)


def write_as(model_class: ModelClass, member: Exported, out: Path) -> None:
    """Write the folder with this class, which must support the recipe."""
    recipe, model = member.recipe, member.model
    layout, tensors, weights = model.layout, model_class.tensors(model), weights_of(model)
    room_of = rooms(recipe, model)
    ends = {"bos_token_id": None, "eos_token_id": layout.end, "pad_token_id": layout.end}
    config: dict[str, Any] = {
        "model_type": model_class.kind,
        "architectures": [model_class.architecture],
        "dtype": "float32",
        "vocab_size": len(layout.characters),
        "tie_word_embeddings": model.config.tie_embeddings,
        **ends,
        **model_class.config(recipe, model),
        "curta": {  # where the model comes from, by which it comes back
            "format": FORMAT,
            "run": member.run,
            "seed": member.seed,
            "recipe": as_table(recipe),
            "fixed": [each.name for each in tensors if each.fixed is not None],
            "machine": machine_data(layout, room_of),
        },
    }
    longest = max(room.tokens for room in room_of.values())
    values = {each.name: each.write(weights) for each in tensors}
    contents: dict[str, bytes | str] = {
        "model.safetensors": safetensors.numpy.save(values, metadata={"format": "pt"}),
        "config.json": files.json_text(config),
        "generation_config.json": files.json_text(
            ends | {"do_sample": False, "max_new_tokens": longest}
        ),
        "recipe.toml": dump(recipe),
        "README.md": card(member, model_class, config),
        **tokenizer_files(layout, limits(model).get("longest_text"), prompt_rules(layout, room_of)),
        **model_class.code(),
    }
    with files.new_folder(out) as folder:
        for name, content in contents.items():
            files.write(folder / name, content)
