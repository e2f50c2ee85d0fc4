"""Learned positions and layer norms as transformers' `GPT2LMHeadModel`.

Biases that a recipe lacks are zeros. An MLP-only layer has attention with zero matrices, which adds
nothing. The scale of a tied head moves into the last norm.
"""

from typing import Any

from curta.config.positions import Learned, Randomised
from curta.config.recipe import Recipe
from curta.export.base import weights_of
from curta.export.huggingface.model_class import (
    ConstantTensor,
    FileTensors,
    ModelClass,
    WeightTensor,
    first,
    lacking_in_library,
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

    def tensors(self, model: Transformer) -> FileTensors:
        config, weights = model.config, weights_of(model)
        width, wide = config.width, config.mlp_width
        tensors: list[WeightTensor | ConstantTensor] = [
            WeightTensor("transformer.wte.weight", ("tokens",)),
            WeightTensor("transformer.wpe.weight", (_position_table(weights),)),
        ]
        if model.head is not None:
            tensors.append(WeightTensor("lm_head.weight", ("head",), transposed=True))

        def add(
            name: str,
            sources: tuple[str, ...],
            shape: tuple[int, ...],
            value: float = 0.0,
            block: int | None = None,
            factor: float = 1.0,
            exists: bool = True,
        ) -> None:
            """Add a tensor of these weights, or of one number if the model or layer lacks them."""
            if exists and all(source in weights for source in sources):
                tensors.append(WeightTensor(name, sources, block, factor=factor))
            else:
                tensors.append(ConstantTensor(name, shape, value))

        scale = tied_scale(model)
        add("transformer.ln_f.weight", ("gain",), (width,), scale, factor=scale)
        add("transformer.ln_f.bias", ("gain_bias",), (width,), factor=scale)
        projections = ("attention.query", "attention.key", "attention.value")
        biases = tuple(f"{name}_bias" for name in projections)
        layer_tensors: list[tuple[str, tuple[str, ...], tuple[int, ...], float]] = [
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
        for block in range(config.num_layers):
            for name, sources, shape, value in layer_tensors:
                attends = block < config.num_attention_layers or sources[0].startswith("mlp.")
                add(f"transformer.h.{block}.{name}", sources, shape, value, block, exists=attends)
        return tensors


def _position_table(weights: dict[str, Any]) -> str:
    """Return the weight that holds the vectors of positions."""
    return next(name for name in weights if name.startswith("positions."))
