"""Rotary positions and RMS norms as transformers' `LlamaForCausalLM`.

A feed-forward without a gate is Llama's with one that is 1: weights of zero, a bias of one. A
block that does not attend has attention whose matrices are zeros. The scale of a tied head
stands in the last norm, and scores that are not divided are multiplied beforehand.
"""

import math
from typing import Any

from curta.config.positions import RoPE
from curta.config.recipe import Recipe
from curta.export.huggingface.base import Family, first, shared, tied_scale
from curta.export.huggingface.parts import Constant, Part, Parts
from curta.model.positions.rope import RoPEEncoding
from curta.model.transformer import Transformer

ACTIVATIONS = {"gelu": "gelu_pytorch_tanh", "relu": "relu", "relu2": "relu2", "silu": "silu"}


class Llama(Family):
    kind = "llama"
    architecture = "LlamaForCausalLM"

    def lacks(self, recipe: Recipe) -> str | None:
        design, positions = recipe.model, recipe.positions
        inexact = not design.attention_scale and math.frexp(design.features**0.5)[0] != 0.5
        return first(
            {
                f"positions.name {positions.name!r}": not isinstance(positions, RoPE),
                f"model.norm {design.norm!r}": design.norm != "rms",
                f"model.dropout {design.dropout}": design.dropout > 0,
                f"no model.attention_scale, {design.features} features": inexact,
                **shared(recipe),
            }
        )

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        design, positions = model.settings, model.positions
        assert isinstance(positions, RoPEEncoding)
        return {
            "hidden_size": design.width,
            "intermediate_size": design.width * design.mlp_factor,
            "num_hidden_layers": design.blocks,
            "num_attention_heads": design.heads,
            "num_key_value_heads": design.remembered,
            "head_dim": design.features,
            "hidden_act": ACTIVATIONS[design.activation],
            "mlp_bias": not design.gated,
            "attention_bias": False,
            "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_type": "default", "rope_theta": positions.base},
        }

    def parts(self, model: Transformer) -> Parts:
        design = model.settings
        found: list[Part | Constant] = [
            Part("model.embed_tokens.weight", ("tokens",)),
            Part("model.norm.weight", ("gain",), factor=tied_scale(model)),
        ]
        if model.head is not None:
            found.append(Part("lm_head.weight", ("head",), turned=True))
        for block in range(design.blocks):
            found += _attention(model, block) if block < design.attending else _idle(model, block)
            found += _feedforward(model, block)
        return found


def _attention(model: Transformer, block: int) -> list[Part | Constant]:
    design, layer = model.settings, f"model.layers.{block}"
    scale = 1.0 if design.attention_scale else design.features**0.5
    named = {"q": ("query", scale), "k": ("key", 1.0), "v": ("value", 1.0), "o": ("out", 1.0)}
    return [
        Part(f"{layer}.input_layernorm.weight", ("attention.gain",), block),
        *(
            Part(f"{layer}.self_attn.{letter}_proj.weight", (f"attention.{name}",), block, True, by)
            for letter, (name, by) in named.items()
        ),
    ]


def _idle(model: Transformer, block: int) -> list[Part | Constant]:
    design, layer = model.settings, f"model.layers.{block}"
    width, kept = design.width, design.remembered * design.features
    rows = {"q": width, "k": kept, "v": kept, "o": width}
    return [
        Constant(f"{layer}.input_layernorm.weight", (width,), 1.0),
        *(
            Constant(f"{layer}.self_attn.{letter}_proj.weight", (count, width))
            for letter, count in rows.items()
        ),
    ]


def _feedforward(model: Transformer, block: int) -> list[Part | Constant]:
    design, layer = model.settings, f"model.layers.{block}"
    mlp, width, wide = f"{layer}.mlp", design.width, design.width * design.mlp_factor
    outer: list[Part | Constant] = [
        Part(f"{layer}.post_attention_layernorm.weight", ("mlp.gain",), block),
        Part(f"{mlp}.down_proj.weight", ("mlp.down",), block, turned=True),
    ]
    if design.gated:
        return [
            *outer,
            Part(f"{mlp}.gate_proj.weight", ("mlp.gate",), block, turned=True),
            Part(f"{mlp}.up_proj.weight", ("mlp.up",), block, turned=True),
        ]
    return [
        *outer,
        Part(f"{mlp}.gate_proj.weight", ("mlp.up",), block, turned=True),
        Constant(f"{mlp}.gate_proj.bias", (wide,)),
        Constant(f"{mlp}.up_proj.weight", (wide, width)),
        Constant(f"{mlp}.up_proj.bias", (wide,), 1.0),
        Constant(f"{mlp}.down_proj.bias", (width,)),
    ]
