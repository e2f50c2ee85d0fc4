"""A folder that the transformers library opens: weights, settings, tokenizer, card.

A recipe that GPT-2 or Llama expresses exactly becomes that class, and needs no further code; every
other decoder is exported with `modeling_curta.py`. Nothing here needs torch. The recipe is in
config.json, where it survives fine-tuning, so the folder can be imported as a run.
"""

from pathlib import Path

import safetensors.numpy

from curta.config import files
from curta.config.recipe import Recipe, as_table, dump
from curta.export.base import Exported, Exporter, machine_data
from curta.export.huggingface import tokenizer
from curta.export.huggingface.card import card
from curta.export.huggingface.curta_class import CurtaClass
from curta.export.huggingface.gpt2 import GPT2
from curta.export.huggingface.importing import FORMAT, read_folder
from curta.export.huggingface.llama import Llama
from curta.export.huggingface.model_class import (
    ConstantTensor,
    ModelClass,
    former_weights,
    write_tensors,
)
from curta.export.onnx.graph import limits
from curta.export.room import prompt_rules, rooms

CLASSES: dict[str, ModelClass] = {
    model_class.kind: model_class for model_class in (GPT2(), Llama(), CurtaClass())
}
"""By `model_type`; the first class that supports the recipe is used."""


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
        """Return the member in an exported folder; UserError if none fits its recipe."""
        return read_folder(folder, CLASSES)


def write_as(model_class: ModelClass, member: Exported, out: Path) -> None:
    """Write the folder with this class, which must support the recipe."""
    recipe, model = member.recipe, member.model
    layout, tensors, code = model.layout, model_class.tensors(model), model_class.code()
    held = rooms(recipe, model)
    ends = {"bos_token_id": None, "eos_token_id": layout.end, "pad_token_id": layout.end}
    config = {
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
            "fixed": [each.name for each in tensors if isinstance(each, ConstantTensor)],
            "former": former_weights(tensors, model),
            "machine": machine_data(layout, held),
        },
    }
    longest = max(room.tokens for room in held.values())
    weights = write_tensors(tensors, model)
    contents: dict[str, bytes | str] = {
        "model.safetensors": safetensors.numpy.save(weights, metadata={"format": "pt"}),
        "config.json": files.json_text(config),
        "generation_config.json": files.json_text(
            ends | {"do_sample": False, "max_new_tokens": longest}
        ),
        "recipe.toml": dump(recipe),
        "README.md": card(member, model_class, tensors, config),
        **tokenizer.tokenizer_files(
            layout,
            limits(model).get("longest_text"),
            prompt_rules(layout, held),
            with_code=bool(code),
        ),
        **code,
    }
    with files.new_folder(out) as folder:
        for name, content in contents.items():
            files.write(folder / name, content)
