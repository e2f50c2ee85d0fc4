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
    FileTensor,
    ModelClass,
    first,
    lacking_in_library,
    layer_tensors,
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

    def tensors(self, model: Transformer) -> list[FileTensor]:
        config = model.config
        width, wide, kv_width = config.width, config.mlp_width, config.kv_heads * config.head_dim
        tensors = [
            FileTensor("model.embed_tokens.weight", ("tokens",)),
            FileTensor("model.norm.weight", ("gain",), factor=tied_scale(model)),
        ]
        if model.head is not None:
            tensors.append(FileTensor("lm_head.weight", ("head",), transposed=True))
        scale = 1.0 if config.attention_scale else config.head_dim**0.5
        matrices = {  # the weight, its factor, and its shape where a layer lacks it
            "self_attn.q_proj": ("attention.query", scale, (width, width)),
            "self_attn.k_proj": ("attention.key", 1.0, (kv_width, width)),
            "self_attn.v_proj": ("attention.value", 1.0, (kv_width, width)),
            "self_attn.o_proj": ("attention.out", 1.0, (width, width)),
            "mlp.gate_proj": ("mlp.gate" if config.gated else "mlp.up", 1.0, ()),
            "mlp.down_proj": ("mlp.down", 1.0, ()),
        }
        if config.gated:
            matrices["mlp.up_proj"] = ("mlp.up", 1.0, ())
        layers = [
            FileTensor("input_layernorm.weight", ("attention.gain",), shape=(width,), value=1.0),
            FileTensor("post_attention_layernorm.weight", ("mlp.gain",)),
        ]
        for name, (weight, factor, shape) in matrices.items():
            layers.append(
                FileTensor(f"{name}.weight", (weight,), transposed=True, factor=factor, shape=shape)
            )
        if not config.gated:  # the other factor is 1: weights of zero, a bias of one
            layers += [
                FileTensor("mlp.gate_proj.bias", (), shape=(wide,)),
                FileTensor("mlp.up_proj.weight", (), shape=(wide, width)),
                FileTensor("mlp.up_proj.bias", (), shape=(wide,), value=1.0),
                FileTensor("mlp.down_proj.bias", (), shape=(width,)),
            ]
        return tensors + layer_tensors(model, "model.layers", layers)
