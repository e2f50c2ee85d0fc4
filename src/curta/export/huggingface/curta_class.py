"""Every other decoder as Curta's own class, `modeling_curta.py`, which travels with the model.

Weights are written unchanged. Roles and coordinates follow from the tokens by the layout's tables;
a program's machine is included to write prompts and read answers.
"""

import dataclasses
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np

from curta.config.recipe import Recipe
from curta.export.base import layout_table, part_indices, weights_of
from curta.export.bundle import bundled
from curta.export.huggingface.model_class import FileTensor, ModelClass, tensors_of
from curta.model.positions.biases import THRESHOLD, buckets
from curta.model.transformer import Transformer

POSITIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "learned": lambda encoding: {},
    "nope": lambda encoding: {},
    "sinusoidal": lambda encoding: {"width": encoding.width},
    # outside of training, indices are those of the text
    "randomised": lambda encoding: (
        {"kind": "learned"}
        if weights_of(encoding)
        else {"kind": "sinusoidal", "base": encoding.vectors.base, "width": encoding.vectors.width}
    ),
    "rope": lambda encoding: {"kind": "nope"} if encoding.over_heads else {},
    "alibi": lambda encoding: {"slopes": None if weights_of(encoding) else encoding.fixed},
    "t5": lambda encoding: {
        "buckets": buckets(len(encoding.table), encoding.max_distance).tolist()
    },
    "fire": lambda encoding: {"least": THRESHOLD},
    "abacus": lambda encoding: {},
    "coupled": lambda encoding: {},
    "position-coupling": lambda encoding: {"kind": "coupled"},
    "window": lambda encoding: {
        "near": encoding.layout.machine.neighbours(encoding.layout.windows)
    },
}
"""The supported encodings, and what the class needs of them besides their settings."""


class CurtaClass(ModelClass):
    kind = "curta"
    architecture = "CurtaForCausalLM"

    def refusals(self, recipe: Recipe) -> dict[str, bool]:
        name, config = recipe.positions.name, recipe.model
        tied = config.compositional_embeddings and config.tie_embeddings
        return {
            f"positions.name {name!r}": name not in POSITIONS,
            "model.compositional_embeddings with model.tie_embeddings": tied,
        }

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config, settings = model.config, dataclasses.asdict(recipe.positions)
        kind, weights = settings["name"], weights_of(model.positions)
        shapes = {name.rpartition(".")[2]: list(each.shape) for name, each in weights.items()}
        classes = {"AutoConfig": "CurtaConfig", "AutoModelForCausalLM": self.architecture}
        return {
            "auto_map": {auto: f"modeling_curta.{name}" for auto, name in classes.items()},
            "hidden_size": config.width,
            "num_hidden_layers": config.num_layers,
            "num_attention_heads": config.heads,
            "model": dataclasses.asdict(config),
            "positions": {
                "kind": kind,
                **settings,
                **POSITIONS[kind](model.positions),
                "weights": shapes,
            },
            "layout": layout_table(model.layout),
            "vectors": len(np.asarray(model.tokens)),
            "parts": part_indices(model.layout) if config.compositional_embeddings else None,
        }

    def tensors(self, model: Transformer) -> list[FileTensor]:
        """Return weights unchanged, except that torch transposes matrices.

        A bias is named after its weight: `gain_bias` is the norm's bias.
        """
        norms = {"gain": "norm", "after": "after"}
        tensors = [FileTensor("model.tokens.weight", ("tokens",))]
        for weight in weights_of(model):
            holder, _, leaf = weight.rpartition(".")
            of, _, bias = leaf.partition("_")
            if holder in ("attention", "mlp"):
                name = f"model.blocks.{{}}.{holder}.{norms.get(of, of)}.{bias or 'weight'}"
                tensors.append(FileTensor(name, (weight,), not bias and of not in norms))
            elif holder:
                tensors.append(FileTensor(f"model.positions.{leaf}", (weight,)))
        ends = {
            "roles": "model.roles.weight",
            "gain": "model.norm.weight",
            "gain_bias": "model.norm.bias",
            "head_bias": "head.bias",
            "head": "head.weight",
        }
        tensors += [FileTensor(name, (weight,), weight == "head") for weight, name in ends.items()]
        return tensors_of(model, tensors)

    def code(self) -> dict[str, str]:
        shipped = [f"{name}_curta.py" for name in ("modeling", "reading", "positions")]
        code = {name: (resources.files(__package__) / name).read_text("utf-8") for name in shipped}
        asking = bundled(f"{__package__}.asking_curta", "prompt", "answer")
        return code | {"asking_curta.py": asking}
