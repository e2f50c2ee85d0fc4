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
from curta.export.huggingface.model_class import (
    FileTensor,
    ModelClass,
    first,
    lacking_everywhere,
)
from curta.layouts.program import ProgramLayout
from curta.model.positions.biases import THRESHOLD, buckets
from curta.model.transformer import Transformer

MODULE = "modeling_curta"

CODE = ("modeling", "reading", "positions", "asking")
"""The files `..._curta.py` that travel with a model."""

POSITIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "learned": lambda encoding: {},
    "nope": lambda encoding: {},
    "sinusoidal": lambda encoding: {"width": encoding.width},
    "randomised": lambda encoding: _randomised(encoding),
    "rope": lambda encoding: {"kind": "nope"} if encoding.over_heads else {},
    "alibi": lambda encoding: {"slopes": None if weights_of(encoding) else encoding.fixed},
    "t5": lambda encoding: {
        "buckets": buckets(len(encoding.table), encoding.max_distance).tolist()
    },
    "fire": lambda encoding: {"least": THRESHOLD},
    "abacus": lambda encoding: {},
    "coupled": lambda encoding: {},
    "position-coupling": lambda encoding: {"kind": "coupled"},
    "window": lambda encoding: {"near": _near(encoding.layout)},
}
"""The supported encodings, and what the class needs of them besides their settings."""


class CurtaClass(ModelClass):
    kind = "curta"
    architecture = "CurtaForCausalLM"

    def lacks(self, recipe: Recipe) -> str | None:
        name, config = recipe.positions.name, recipe.model
        return first(
            {
                f"positions.name {name!r}": name not in POSITIONS,
                **lacking_everywhere(recipe),
                "model.compositional_embeddings with model.tie_embeddings": (
                    config.compositional_embeddings and config.tie_embeddings
                ),
            }
        )

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config = model.config
        classes = {"AutoConfig": "CurtaConfig", "AutoModelForCausalLM": self.architecture}
        return {
            "auto_map": {auto: f"{MODULE}.{name}" for auto, name in classes.items()},
            "hidden_size": config.width,
            "num_hidden_layers": config.num_layers,
            "num_attention_heads": config.heads,
            "model": dataclasses.asdict(config),
            "positions": _positions(recipe, model),
            "layout": layout_table(model.layout),
            "vectors": len(np.asarray(model.tokens)),
            "parts": part_indices(model.layout) if config.compositional_embeddings else None,
        }

    def tensors(self, model: Transformer) -> list[FileTensor]:
        """Return weights unchanged, except that torch transposes matrices.

        A bias is named after its weight: `gain_bias` is the norm's bias.
        """
        config, names = model.config, {"gain": "norm", "after": "after"}
        tensors = [FileTensor("model.tokens.weight", ("tokens",))]
        for weight in weights_of(model):
            holder, _, leaf = weight.rpartition(".")
            of, _, bias = leaf.partition("_")
            if holder in ("attention", "mlp"):
                attention = holder == "attention"
                for block in range(config.num_attention_layers if attention else config.num_layers):
                    name = f"model.blocks.{block}.{holder}.{names.get(of, of)}.{bias or 'weight'}"
                    transposed = not bias and of not in names
                    tensors.append(FileTensor(name, (weight,), block, transposed))
            elif weight.startswith("positions."):
                tensors.append(FileTensor(f"model.positions.{leaf}", (weight,)))
        ends = {
            "roles": "model.roles.weight",
            "gain": "model.norm.weight",
            "gain_bias": "model.norm.bias",
            "head_bias": "head.bias",
            "head": "head.weight",
        }
        for weight, name in ends.items():
            if weight in weights_of(model):
                tensors.append(FileTensor(name, (weight,), transposed=weight == "head"))
        return tensors

    def code(self) -> dict[str, str]:
        shipped = [f"{name}_curta.py" for name in CODE]
        return {name: (resources.files(__package__) / name).read_text("utf-8") for name in shipped}


def _positions(recipe: Recipe, model: Transformer) -> dict[str, Any]:
    """Return the encoding's settings, the shapes of its weights, and its constants."""
    settings = dataclasses.asdict(recipe.positions)
    shapes = {
        name.rpartition(".")[2]: list(weight.shape)
        for name, weight in weights_of(model.positions).items()
    }
    further = POSITIONS[settings["name"]](model.positions)
    return {"kind": settings["name"]} | settings | further | {"weights": shapes}


def _randomised(encoding: Any) -> dict[str, Any]:
    """Return the settings outside of training, where indices are those of the text."""
    if weights_of(encoding):
        return {"kind": "learned"}
    return {"kind": "sinusoidal", "base": encoding.vectors.base, "width": encoding.vectors.width}


def _near(layout: ProgramLayout) -> list[list[tuple[int, list[int]]]]:
    """Return the neighbours of each role: roles by number, and their displacements."""
    numbers = {role.name: number for number, role in enumerate(layout.roles)}
    return [
        [(numbers[other], list(moved)) for other, moved in layout.windows.get(role.name, ())]
        for role in layout.roles
    ]
