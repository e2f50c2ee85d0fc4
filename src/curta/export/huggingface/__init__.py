"""A folder that the transformers library opens: weights, settings, tokenizer, card.

A recipe that GPT-2 or Llama expresses exactly becomes that class, and needs no code of its own;
every other decoder brings `modeling_curta.py` along. Nothing here needs torch. The recipe
stands in config.json, where it outlasts fine-tuning, so the folder comes back as a run.
"""

from pathlib import Path
from typing import Any

import safetensors.numpy

from curta.config import files
from curta.config.recipe import Recipe, as_table, dump
from curta.export.base import Exported, Exporter, Importer, machine_data
from curta.export.huggingface import parts, tokenizer
from curta.export.huggingface.base import Family
from curta.export.huggingface.card import card
from curta.export.huggingface.gpt2 import GPT2
from curta.export.huggingface.imported import FORMAT, read
from curta.export.huggingface.llama import Llama
from curta.export.huggingface.own import Own
from curta.export.onnx.refusals import limits
from curta.export.room import Room, prompt_rules, rooms
from curta.layouts import Layout

FAMILIES: dict[str, Family] = {family.kind: family for family in (GPT2(), Llama(), Own())}
"""By `model_type`; the first that lacks nothing is taken."""


class HuggingFace(Exporter, Importer):
    name = "huggingface"
    summary = "a folder for AutoModelForCausalLM and AutoTokenizer"
    file = "huggingface-{member}"

    def refuse(self, recipe: Recipe) -> str | None:
        reasons = [family.lacks(recipe) for family in FAMILIES.values()]
        return None if None in reasons else reasons[-1]

    def write(self, member: Exported, out: Path) -> None:
        write_as(family_of(member.recipe), member, out)

    def read(self, folder: Path) -> Exported:
        return read(folder, FAMILIES)


def write_as(family: Family, member: Exported, out: Path) -> None:
    """Writes the folder with this class, which must lack nothing of the recipe."""
    with files.new_folder(out) as folder:
        for name, content in _content(member, family).items():
            files.write(folder / name, content)


def family_of(recipe: Recipe) -> Family:
    """The class that expresses a recipe which is not refused."""
    return next(family for family in FAMILIES.values() if family.lacks(recipe) is None)


def _content(member: Exported, family: Family) -> dict[str, bytes | str]:
    """Every file of the folder."""
    recipe, model = member.recipe, member.model
    made, code = family.parts(model), family.code(model)
    held = rooms(recipe, model)
    config = _config(member, family, held)
    longest = max(room.tokens for room in held.values())
    generation = _ends(model.layout) | {"do_sample": False, "max_new_tokens": longest}
    return {
        "model.safetensors": safetensors.numpy.save(
            parts.write(made, model), metadata={"format": "pt"}
        ),
        "config.json": files.json_text(config),
        "generation_config.json": files.json_text(generation),
        "recipe.toml": dump(recipe),
        "README.md": card(member, family, made, config),
        **tokenizer.written(
            model.layout,
            limits(model).get("longest_text"),
            prompt_rules(model.layout, held),
            own=bool(code),
        ),
        **code,
    }


def _config(member: Exported, family: Family, held: dict[str, Room]) -> dict[str, Any]:
    """Settings of the class, and the run that it comes from."""
    model, made = member.model, family.parts(member.model)
    run = {
        "format": FORMAT,
        "run": member.run,
        "seed": member.seed,
        "recipe": as_table(member.recipe),
        "fixed": [part.name for part in made if isinstance(part, parts.Constant)],
        "former": parts.former(made, model),
        "machine": machine_data(model.layout, held),
    }
    return {
        "model_type": family.kind,
        "architectures": [family.architecture],
        "dtype": "float32",
        "vocab_size": len(model.layout.characters),
        "tie_word_embeddings": model.config.tie_embeddings,
        **_ends(model.layout),
        **family.config(member.recipe, model),
        "curta": run,
    }


def _ends(layout: Layout) -> dict[str, int | None]:
    return {"bos_token_id": None, "eos_token_id": layout.end, "pad_token_id": layout.end}
