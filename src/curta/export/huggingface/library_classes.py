"""Models as transformers' own `GPT2LMHeadModel` and `LlamaForCausalLM`.

Biases that a recipe lacks are zeros. An MLP-only layer has attention with zero matrices, which adds
nothing, and a feed-forward without a gate becomes Llama's with a gate of 1: zero weights, and a
bias of one. The scale of a tied head moves into the last norm, and a query of unscaled attention is
multiplied in advance.
"""

import math
from typing import Any

import numpy as np

from curta.config.positions import Learned, Randomised, RoPE
from curta.config.recipe import Recipe
from curta.export.base import Tensors, weights_of
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


def _neutral(model: Transformer) -> Tensors:
    """Return weights that change nothing, in place of those that a recipe or a layer lacks.

    `mlp.one` makes the 1 that stands in for a gate.
    """
    layers, width = model.config.num_layers, model.config.width
    weights = weights_of(model)
    matrices = {name: each.shape[1:] for name, each in weights.items() if each.ndim == 3}
    matrices["mlp.one"] = matrices["mlp.up"]
    gains = {"gain": (width,), "attention.gain": (layers, width), "mlp.gain": (layers, width)}
    shapes = {name: (layers, *shape) for name, shape in matrices.items()}
    shapes |= {f"{name}_bias": (layers, shape[-1]) for name, shape in matrices.items()}
    shapes |= gains | {f"{name}_bias": shape for name, shape in gains.items()}
    ones = (*gains, "mlp.one_bias")
    return {name: np.full(shape, name in ones, np.float32) for name, shape in shapes.items()}


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
        table = next(name for name in weights_of(model) if name.startswith("positions."))
        layer, norm, scale = "transformer.h.{}.", "transformer.ln_f", _tied_scale(model)
        tensors = [
            FileTensor("transformer.wte.weight", ("tokens",)),
            FileTensor("transformer.wpe.weight", (table,)),
            FileTensor("lm_head.weight", ("head",), transposed=True),
            FileTensor(f"{norm}.weight", ("gain",), factor=scale),
            FileTensor(f"{norm}.bias", ("gain_bias",), factor=scale),
        ]
        of_layers = {
            "attn.c_attn": ("attention.query", "attention.key", "attention.value"),
            "attn.c_proj": ("attention.out",),
            "mlp.c_fc": ("mlp.up",),
            "mlp.c_proj": ("mlp.down",),
            "ln_1": ("attention.gain",),
            "ln_2": ("mlp.gain",),
        }
        for name, weights in of_layers.items():
            biases = tuple(f"{weight}_bias" for weight in weights)
            tensors.append(FileTensor(f"{layer}{name}.weight", weights))
            tensors.append(FileTensor(f"{layer}{name}.bias", biases))
        return tensors_of(model, tensors, _neutral(model))


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
        config, layer = model.config, "model.layers.{}."
        scale = 1.0 if config.attention_scale else config.head_dim**0.5
        gate, other = ("mlp.gate", "mlp.up") if config.gated else ("mlp.up", "mlp.one")
        tensors = [
            FileTensor("model.embed_tokens.weight", ("tokens",)),
            FileTensor("model.norm.weight", ("gain",), factor=_tied_scale(model)),
            FileTensor("lm_head.weight", ("head",), transposed=True),
            FileTensor(f"{layer}input_layernorm.weight", ("attention.gain",)),
            FileTensor(f"{layer}post_attention_layernorm.weight", ("mlp.gain",)),
            FileTensor(f"{layer}self_attn.q_proj.weight", ("attention.query",), True, scale),
        ]
        matrices = {
            "self_attn.k_proj": "attention.key",
            "self_attn.v_proj": "attention.value",
            "self_attn.o_proj": "attention.out",
            "mlp.gate_proj": gate,
            "mlp.up_proj": other,
            "mlp.down_proj": "mlp.down",
        }
        tensors += [
            FileTensor(f"{layer}{name}.weight", (weight,), transposed=True)
            for name, weight in matrices.items()
        ]
        if not config.gated:
            tensors += [
                FileTensor(f"{layer}{name}.bias", (f"{weight}_bias",))
                for name, weight in matrices.items()
                if name.startswith("mlp.")
            ]
        return tensors_of(model, tensors, _neutral(model))
