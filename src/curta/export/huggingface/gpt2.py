"""Learned positions and layer norms as transformers' `GPT2LMHeadModel`.

Biases that a recipe does without are zeros. An MLP-only layer has attention
whose matrices are zeros, so it adds nothing. The scale of a tied head stands in the last norm.
"""

from typing import Any

from curta.config.positions import Learned, Randomised
from curta.config.recipe import Recipe
from curta.export.base import weights_of
from curta.export.huggingface.base import Family, first, shared, tied_scale
from curta.export.huggingface.parts import Constant, Part, Parts
from curta.model.transformer import Transformer

ACTIVATIONS = {"gelu": "gelu_new", "gelu_erf": "gelu"}
"""Names of the library that are not ours."""


class GPT2(Family):
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
                **shared(recipe),
            }
        )

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config = model.config
        dropout = dict.fromkeys(config.dropout_sites, config.dropout)
        return {
            "n_positions": len(weights_of(model)[_table(model)]),
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

    def parts(self, model: Transformer) -> Parts:
        blocks = [part for block in range(model.config.num_layers) for part in _block(model, block)]
        ends = [
            Part("transformer.wte.weight", ("tokens",)),
            Part("transformer.wpe.weight", (_table(model),)),
            *_norm(model, "transformer.ln_f", "gain", factor=tied_scale(model)),
        ]
        if model.head is not None:
            ends.append(Part("lm_head.weight", ("head",), turned=True))
        return [*ends, *blocks]


def _block(model: Transformer, block: int) -> list[Part | Constant]:
    attends, h = block < model.config.num_attention_layers, f"transformer.h.{block}"
    width, wide = model.config.width, model.config.mlp_width
    return [
        *(_attention(model, h, block) if attends else _idle(model, h)),
        *_norm(model, f"{h}.ln_2", "mlp.gain", block),
        Part(f"{h}.mlp.c_fc.weight", ("mlp.up",), block),
        _bias(model, f"{h}.mlp.c_fc.bias", ("mlp.up_bias",), block, wide),
        Part(f"{h}.mlp.c_proj.weight", ("mlp.down",), block),
        _bias(model, f"{h}.mlp.c_proj.bias", ("mlp.down_bias",), block, width),
    ]


def _attention(model: Transformer, h: str, block: int) -> list[Part | Constant]:
    width, kept = model.config.width, ("attention.query", "attention.key", "attention.value")
    biases = tuple(f"{name}_bias" for name in kept)
    return [
        *_norm(model, f"{h}.ln_1", "attention.gain", block),
        Part(f"{h}.attn.c_attn.weight", kept, block),
        _bias(model, f"{h}.attn.c_attn.bias", biases, block, 3 * width),
        Part(f"{h}.attn.c_proj.weight", ("attention.out",), block),
        _bias(model, f"{h}.attn.c_proj.bias", ("attention.out_bias",), block, width),
    ]


def _idle(model: Transformer, h: str) -> list[Part | Constant]:
    """Attention that adds nothing: GPT-2 has it in every block."""
    width = model.config.width
    return [
        *_norm(model, f"{h}.ln_1", None),
        Constant(f"{h}.attn.c_attn.weight", (width, 3 * width)),
        Constant(f"{h}.attn.c_attn.bias", (3 * width,)),
        Constant(f"{h}.attn.c_proj.weight", (width, width)),
        Constant(f"{h}.attn.c_proj.bias", (width,)),
    ]


def _norm(
    model: Transformer, name: str, gain: str | None, block: int | None = None, factor: float = 1.0
) -> list[Part | Constant]:
    """A norm's gain and bias, ones and zeros where there are none."""
    width, bias = model.config.width, f"{gain}_bias"
    gained = gain is not None and model.config.norm != "plain"
    weight = (
        Part(f"{name}.weight", (gain or "",), block, factor=factor)
        if gained
        else Constant(f"{name}.weight", (width,), factor)
    )
    if bias not in weights_of(model):
        return [weight, Constant(f"{name}.bias", (width,))]
    return [weight, Part(f"{name}.bias", (bias,), block, factor=factor)]


def _bias(
    model: Transformer, name: str, weights: tuple[str, ...], block: int, size: int
) -> Part | Constant:
    """Biases of these names, side by side; zeros where the model has none."""
    if weights[0] in weights_of(model):
        return Part(name, weights, block)
    return Constant(name, (size,))


def _table(model: Transformer) -> str:
    """The weight that holds the vectors of positions."""
    return next(name for name in weights_of(model) if name.startswith("positions."))
