"""Rotary positions and RMS norms as transformers' `LlamaForCausalLM`.

A feed-forward without a gate is Llama's with one that is 1: weights of zero, a bias of one. A
MLP-only layer has attention whose matrices are zeros. The scale of a tied head
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

ACTIVATIONS = {"gelu": "gelu_pytorch_tanh", "gelu_erf": "gelu"}
"""Names of the library that are not ours."""


class Llama(Family):
    kind = "llama"
    architecture = "LlamaForCausalLM"

    def lacks(self, recipe: Recipe) -> str | None:
        config, positions = recipe.model, recipe.positions
        inexact = not config.attention_scale and math.frexp(config.head_dim**0.5)[0] != 0.5
        return first(
            {
                f"positions.name {positions.name!r}": not isinstance(positions, RoPE),
                "positions.over 'heads'": isinstance(positions, RoPE) and positions.over == "heads",
                "model.biases": bool(config.biases),
                f"model.norm {config.norm!r}": config.norm != "rms",
                f"model.dropout {config.dropout}": config.dropout > 0,
                f"no model.attention_scale, {config.head_dim} features": inexact,
                **shared(recipe),
            }
        )

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config, positions = model.config, model.positions
        assert isinstance(positions, RoPEEncoding)
        return {
            "hidden_size": config.width,
            "intermediate_size": config.mlp_width,
            "num_hidden_layers": config.num_layers,
            "num_attention_heads": config.heads,
            "num_key_value_heads": config.kv_heads,
            "head_dim": config.head_dim,
            "hidden_act": ACTIVATIONS.get(config.activation, config.activation),
            "mlp_bias": not config.gated,
            "attention_bias": False,
            "rms_norm_eps": config.norm_epsilon,
            "rope_parameters": {"rope_type": "default", "rope_theta": positions.base},
        }

    def parts(self, model: Transformer) -> Parts:
        config = model.config
        found: list[Part | Constant] = [
            Part("model.embed_tokens.weight", ("tokens",)),
            Part("model.norm.weight", ("gain",), factor=tied_scale(model)),
        ]
        if model.head is not None:
            found.append(Part("lm_head.weight", ("head",), turned=True))
        for block in range(config.num_layers):
            found += (
                _attention(model, block)
                if block < config.num_attention_layers
                else _idle(model, block)
            )
            found += _feedforward(model, block)
        return found


def _attention(model: Transformer, block: int) -> list[Part | Constant]:
    config, layer = model.config, f"model.layers.{block}"
    scale = 1.0 if config.attention_scale else config.head_dim**0.5
    named = {"q": ("query", scale), "k": ("key", 1.0), "v": ("value", 1.0), "o": ("out", 1.0)}
    return [
        Part(f"{layer}.input_layernorm.weight", ("attention.gain",), block),
        *(
            Part(f"{layer}.self_attn.{letter}_proj.weight", (f"attention.{name}",), block, True, by)
            for letter, (name, by) in named.items()
        ),
    ]


def _idle(model: Transformer, block: int) -> list[Part | Constant]:
    config, layer = model.config, f"model.layers.{block}"
    width, kept = config.width, config.kv_heads * config.head_dim
    rows = {"q": width, "k": kept, "v": kept, "o": width}
    return [
        Constant(f"{layer}.input_layernorm.weight", (width,), 1.0),
        *(
            Constant(f"{layer}.self_attn.{letter}_proj.weight", (count, width))
            for letter, count in rows.items()
        ),
    ]


def _feedforward(model: Transformer, block: int) -> list[Part | Constant]:
    config, layer = model.config, f"model.layers.{block}"
    mlp, width, wide = f"{layer}.mlp", config.width, config.mlp_width
    outer: list[Part | Constant] = [
        Part(f"{layer}.post_attention_layernorm.weight", ("mlp.gain",), block),
        Part(f"{mlp}.down_proj.weight", ("mlp.down",), block, turned=True),
    ]
    if config.gated:
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
