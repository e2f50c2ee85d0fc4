"""Rotary positions and RMS norms as transformers' `LlamaForCausalLM`.

A feed-forward without a gate becomes Llama's with a gate of 1: zero weights, and a bias of one. An
MLP-only layer has attention with zero matrices. The scale of a tied head moves into the last norm,
and a query of unscaled attention is multiplied in advance.
"""

import math
from typing import Any

from curta.config.positions import RoPE
from curta.config.recipe import Recipe
from curta.export.huggingface.model_class import (
    ConstantTensor,
    FileTensors,
    ModelClass,
    WeightTensor,
    first,
    lacking_in_library,
    tied_scale,
)
from curta.model.positions.rope import RoPEEncoding
from curta.model.transformer import Transformer

ACTIVATIONS = {"gelu": "gelu_pytorch_tanh", "gelu_erf": "gelu"}
"""Names in the library that differ from Curta's."""


class Llama(ModelClass):
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
                **lacking_in_library(recipe),
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

    def tensors(self, model: Transformer) -> FileTensors:
        config = model.config
        width, wide, kv_width = config.width, config.mlp_width, config.kv_heads * config.head_dim
        tensors: list[WeightTensor | ConstantTensor] = [
            WeightTensor("model.embed_tokens.weight", ("tokens",)),
            WeightTensor("model.norm.weight", ("gain",), factor=tied_scale(model)),
        ]
        if model.head is not None:
            tensors.append(WeightTensor("lm_head.weight", ("head",), transposed=True))
        scale = 1.0 if config.attention_scale else config.head_dim**0.5
        projections = {  # the weight, its factor, and its outputs
            "q": ("attention.query", scale, width),
            "k": ("attention.key", 1.0, kv_width),
            "v": ("attention.value", 1.0, kv_width),
            "o": ("attention.out", 1.0, width),
        }
        for block in range(config.num_layers):
            layer, mlp = f"model.layers.{block}", f"model.layers.{block}.mlp"
            attends, gain = block < config.num_attention_layers, f"{layer}.input_layernorm.weight"
            if attends:
                tensors.append(WeightTensor(gain, ("attention.gain",), block))
            else:
                tensors.append(ConstantTensor(gain, (width,), 1.0))
            for letter, (weight, factor, outputs) in projections.items():
                name = f"{layer}.self_attn.{letter}_proj.weight"
                if attends:
                    tensors.append(WeightTensor(name, (weight,), block, True, factor))
                else:
                    tensors.append(ConstantTensor(name, (outputs, width)))
            tensors += [
                WeightTensor(f"{layer}.post_attention_layernorm.weight", ("mlp.gain",), block),
                WeightTensor(f"{mlp}.down_proj.weight", ("mlp.down",), block, True),
            ]
            if config.gated:
                tensors += [
                    WeightTensor(f"{mlp}.gate_proj.weight", ("mlp.gate",), block, True),
                    WeightTensor(f"{mlp}.up_proj.weight", ("mlp.up",), block, True),
                ]
            else:  # the other factor is 1: weights of zero, a bias of one
                tensors += [
                    WeightTensor(f"{mlp}.gate_proj.weight", ("mlp.up",), block, True),
                    ConstantTensor(f"{mlp}.gate_proj.bias", (wide,)),
                    ConstantTensor(f"{mlp}.up_proj.weight", (wide, width)),
                    ConstantTensor(f"{mlp}.up_proj.bias", (wide,), 1.0),
                    ConstantTensor(f"{mlp}.down_proj.bias", (width,)),
                ]
        return tensors
