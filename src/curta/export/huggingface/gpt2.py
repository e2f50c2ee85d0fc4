"""Learned positions and layer norms as transformers' `GPT2LMHeadModel`.

Biases that a recipe lacks are zeros. An MLP-only layer has attention with zero matrices, which adds
nothing. The scale of a tied head moves into the last norm.
"""

from typing import Any

from curta.config.positions import Learned, Randomised
from curta.config.recipe import Recipe
from curta.export.base import Tensors, weights_of
from curta.export.huggingface.model_class import (
    FileTensor,
    ModelClass,
    first,
    lacking_in_library,
    layer_tensors,
    or_constant,
    tied_scale,
)
from curta.model.transformer import Transformer

ACTIVATIONS = {"gelu": "gelu_new", "gelu_erf": "gelu"}
"""Names in the library that differ from Curta's."""


class GPT2(ModelClass):
    kind = "gpt2"
    architecture = "GPT2LMHeadModel"

    def lacks(self, recipe: Recipe) -> str | None:
        config, positions = recipe.model, recipe.positions
        learned = isinstance(positions, Learned) or (
            isinstance(positions, Randomised) and positions.of == "learned"
        )
        return first(
            {
                f"positions.name {positions.name!r}": not learned,
                "model.norm 'rms'": config.norm == "rms",
                "model.gated": config.gated,
                "model.biases 'head'": "head" in config.biases,
                "model.dropout_sites 'mlp'": config.dropout > 0 and "mlp" in config.dropout_sites,
                f"model.num_kv_heads {config.kv_heads}": config.kv_heads != config.heads,
                **lacking_in_library(recipe),
            }
        )

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config, weights = model.config, weights_of(model)
        dropout = dict.fromkeys(config.dropout_sites, config.dropout)
        return {
            "n_positions": len(weights[_position_table(weights)]),
            "n_embd": config.width,
            "n_layer": config.num_layers,
            "n_head": config.heads,
            "n_inner": config.mlp_width,
            "activation_function": ACTIVATIONS.get(config.activation, config.activation),
            "layer_norm_epsilon": config.norm_epsilon,
            "scale_attn_weights": config.attention_scale,
            "embd_pdrop": dropout.get("embedding", 0.0),
            "resid_pdrop": dropout.get("output", 0.0),
            "attn_pdrop": dropout.get("attention", 0.0),
        }

    def tensors(self, model: Transformer) -> list[FileTensor]:
        config, weights, scale = model.config, weights_of(model), tied_scale(model)
        width, wide = config.width, config.mlp_width
        tensors = [
            FileTensor("transformer.wte.weight", ("tokens",)),
            FileTensor("transformer.wpe.weight", (_position_table(weights),)),
        ]
        if model.head is not None:
            tensors.append(FileTensor("lm_head.weight", ("head",), transposed=True))
        norm = [
            FileTensor("transformer.ln_f.weight", ("gain",), None, False, scale, (width,), scale),
            FileTensor("transformer.ln_f.bias", ("gain_bias",), None, False, scale, (width,)),
        ]
        tensors += [or_constant(row, weights) for row in norm]
        projections = ("attention.query", "attention.key", "attention.value")
        biases = tuple(f"{name}_bias" for name in projections)
        rows: list[tuple[str, tuple[str, ...], tuple[int, ...], float]] = [
            ("ln_1.weight", ("attention.gain",), (width,), 1.0),
            ("ln_1.bias", ("attention.gain_bias",), (width,), 0.0),
            ("attn.c_attn.weight", projections, (width, 3 * width), 0.0),
            ("attn.c_attn.bias", biases, (3 * width,), 0.0),
            ("attn.c_proj.weight", ("attention.out",), (width, width), 0.0),
            ("attn.c_proj.bias", ("attention.out_bias",), (width,), 0.0),
            ("ln_2.weight", ("mlp.gain",), (width,), 1.0),
            ("ln_2.bias", ("mlp.gain_bias",), (width,), 0.0),
            ("mlp.c_fc.weight", ("mlp.up",), (width, wide), 0.0),
            ("mlp.c_fc.bias", ("mlp.up_bias",), (wide,), 0.0),
            ("mlp.c_proj.weight", ("mlp.down",), (wide, width), 0.0),
            ("mlp.c_proj.bias", ("mlp.down_bias",), (width,), 0.0),
        ]
        layers = [
            FileTensor(name, sources, shape=shape, value=value)
            for name, sources, shape, value in rows
        ]
        return tensors + layer_tensors(model, "transformer.h", layers)


def _position_table(weights: Tensors) -> str:
    """Return the weight that holds the vectors of positions."""
    return next(name for name in weights if name.startswith("positions."))
