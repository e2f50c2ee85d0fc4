"""Models as transformers' own `GPT2LMHeadModel` and `LlamaForCausalLM`.

Biases that a recipe lacks are zeros. An MLP-only layer has attention with zero matrices, which adds
nothing, and a feed-forward without a gate becomes Llama's with a gate of 1: zero weights, and a
bias of one. The scale of a tied head moves into the last norm, and a query of unscaled attention is
multiplied in advance.
"""

import math
from dataclasses import replace
from typing import Any

from curta.config.positions import Learned, Randomised, RoPE
from curta.config.recipe import Recipe
from curta.export.base import weights_of
from curta.export.huggingface.model_class import FileTensor, ModelClass, tensors_of
from curta.model.positions.rope import RoPEEncoding
from curta.model.transformer import Transformer


def _refusals(recipe: Recipe) -> dict[str, bool]:
    """Return what neither class supports."""
    config = recipe.model
    return {
        "model.role_embeddings": config.role_embeddings,
        "model.compositional_embeddings": config.compositional_embeddings,
        f"model.num_recurrences {config.num_recurrences}": config.num_recurrences > 1,
        f"model.input_injection {config.input_injection!r}": config.input_injection != "none",
        f"model.norm_placement {config.norm_placement!r}": config.norm_placement != "pre",
        "model.final_norm False": not config.final_norm,
    }


def _tied_scale(model: Transformer) -> float:
    """Return the factor of a tied head's logits, which moves into the last norm's gain."""
    config = model.config
    return config.width**-0.5 if config.tie_embeddings and config.tied_scale else 1.0


class GPT2(ModelClass):
    """Learned positions and layer norms."""

    kind = "gpt2"
    architecture = "GPT2LMHeadModel"

    def refusals(self, recipe: Recipe) -> dict[str, bool]:
        config, positions = recipe.model, recipe.positions
        learned = isinstance(positions, Learned) or (
            isinstance(positions, Randomised) and positions.of == "learned"
        )
        return {
            f"positions.name {positions.name!r}": not learned,
            "model.norm 'rms'": config.norm == "rms",
            "model.gated": config.gated,
            "model.biases 'head'": "head" in config.biases,
            "model.dropout_sites 'mlp'": config.dropout > 0 and "mlp" in config.dropout_sites,
            f"model.num_kv_heads {config.kv_heads}": config.kv_heads != config.heads,
            **_refusals(recipe),
        }

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config = model.config
        names = {"gelu": "gelu_new", "gelu_erf": "gelu"}  # of the library
        dropout = dict.fromkeys(config.dropout_sites, config.dropout)
        (positions,) = weights_of(model.positions).values()
        return {
            "n_positions": len(positions),
            "n_embd": config.width,
            "n_layer": config.num_layers,
            "n_head": config.heads,
            "n_inner": config.mlp_width,
            "activation_function": names.get(config.activation, config.activation),
            "layer_norm_epsilon": config.norm_epsilon,
            "scale_attn_weights": config.attention_scale,
            "embd_pdrop": dropout.get("embedding", 0.0),
            "resid_pdrop": dropout.get("output", 0.0),
            "attn_pdrop": dropout.get("attention", 0.0),
        }

    def tensors(self, model: Transformer) -> list[FileTensor]:
        config, scale = model.config, _tied_scale(model)
        width, wide = config.width, config.mlp_width
        table = next(name for name in weights_of(model) if name.startswith("positions."))
        tensors = [
            FileTensor("transformer.wte.weight", ("tokens",)),
            FileTensor("transformer.wpe.weight", (table,)),
            FileTensor("lm_head.weight", ("head",), transposed=True),
        ]
        matrices = {  # by name, and name in the library: weights, inputs, outputs
            "attn.c_attn": (
                ("attention.query", "attention.key", "attention.value"),
                width,
                3 * width,
            ),
            "attn.c_proj": (("attention.out",), width, width),
            "mlp.c_fc": (("mlp.up",), width, wide),
            "mlp.c_proj": (("mlp.down",), wide, width),
        }
        for name, (weights, inputs, outputs) in matrices.items():
            biases, name = (
                tuple(f"{weight}_bias" for weight in weights),
                f"transformer.h.{{}}.{name}",
            )
            tensors.append(FileTensor(f"{name}.weight", weights, shape=(inputs, outputs)))
            tensors.append(FileTensor(f"{name}.bias", biases, shape=(outputs,)))
        norms = {
            "transformer.ln_f": ("gain", scale),
            "transformer.h.{}.ln_1": ("attention.gain", 1.0),
            "transformer.h.{}.ln_2": ("mlp.gain", 1.0),
        }
        for name, (gain, factor) in norms.items():
            row = FileTensor(f"{name}.weight", (gain,), False, factor, (width,), factor)
            bias = replace(row, name=f"{name}.bias", weights=(f"{gain}_bias",), value=0.0)
            tensors += [row, bias]
        return tensors_of(model, tensors)


class Llama(ModelClass):
    """Rotary positions and RMS norms."""

    kind = "llama"
    architecture = "LlamaForCausalLM"

    def refusals(self, recipe: Recipe) -> dict[str, bool]:
        config, positions = recipe.model, recipe.positions
        inexact = not config.attention_scale and math.frexp(config.head_dim**0.5)[0] != 0.5
        return {
            f"positions.name {positions.name!r}": not isinstance(positions, RoPE),
            "positions.over 'heads'": isinstance(positions, RoPE) and positions.over == "heads",
            "model.biases": bool(config.biases),
            f"model.norm {config.norm!r}": config.norm != "rms",
            f"model.dropout {config.dropout}": config.dropout > 0,
            f"no model.attention_scale, {config.head_dim} features": inexact,
            **_refusals(recipe),
        }

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config, positions = model.config, model.positions
        assert isinstance(positions, RoPEEncoding)
        names = {"gelu": "gelu_pytorch_tanh", "gelu_erf": "gelu"}  # of the library
        return {
            "hidden_size": config.width,
            "intermediate_size": config.mlp_width,
            "num_hidden_layers": config.num_layers,
            "num_attention_heads": config.heads,
            "num_key_value_heads": config.kv_heads,
            "head_dim": config.head_dim,
            "hidden_act": names.get(config.activation, config.activation),
            "mlp_bias": not config.gated,
            "attention_bias": False,
            "rms_norm_eps": config.norm_epsilon,
            "rope_parameters": {"rope_type": "default", "rope_theta": positions.base},
        }

    def tensors(self, model: Transformer) -> list[FileTensor]:
        config = model.config
        width, wide, kv_width = config.width, config.mlp_width, config.kv_heads * config.head_dim
        scale = 1.0 if config.attention_scale else config.head_dim**0.5
        tensors = [
            FileTensor("model.embed_tokens.weight", ("tokens",)),
            FileTensor("model.norm.weight", ("gain",), factor=_tied_scale(model)),
            FileTensor("lm_head.weight", ("head",), transposed=True),
        ]
        layer = "model.layers.{}."
        norms = {"input_layernorm": "attention.gain", "post_attention_layernorm": "mlp.gain"}
        tensors += [
            FileTensor(f"{layer}{name}.weight", (gain,), shape=(width,), value=1.0)
            for name, gain in norms.items()
        ]
        matrices = {  # the weight, its factor, and its shape where a layer lacks it
            "self_attn.q_proj": ("attention.query", scale, (width, width)),
            "self_attn.k_proj": ("attention.key", 1.0, (kv_width, width)),
            "self_attn.v_proj": ("attention.value", 1.0, (kv_width, width)),
            "self_attn.o_proj": ("attention.out", 1.0, (width, width)),
            "mlp.gate_proj": ("mlp.gate" if config.gated else "mlp.up", 1.0, ()),
            "mlp.down_proj": ("mlp.down", 1.0, ()),
            "mlp.up_proj": ("mlp.up" if config.gated else "none", 1.0, (wide, width)),
        }
        tensors += [
            FileTensor(f"{layer}{name}.weight", (weight,), True, factor, shape)
            for name, (weight, factor, shape) in matrices.items()
        ]
        biases = {"gate_proj": (wide, 0.0), "up_proj": (wide, 1.0), "down_proj": (width, 0.0)}
        if not config.gated:  # the other factor is 1: weights of zero, a bias of one
            tensors += [
                FileTensor(f"{layer}mlp.{name}.bias", ("none",), shape=(size,), value=value)
                for name, (size, value) in biases.items()
            ]
        return tensors_of(model, tensors)
