"""Learned positions and layer norms as transformers' `GPT2LMHeadModel`.

Curta's models have no biases: GPT-2's are zeros. A block that does not attend has attention
whose matrices are zeros, so it adds nothing. The scale of a tied head stands in the last norm.
"""

from typing import Any

from curta.config.positions import Learned, Randomised
from curta.config.recipe import Recipe
from curta.export.huggingface.base import Family, first, shared, tied_scale
from curta.export.huggingface.parts import Constant, Part, Parts, weights_of
from curta.model.transformer import Transformer

ACTIVATIONS = {"gelu": "gelu_new", "relu": "relu", "relu2": "relu2", "silu": "silu"}


class GPT2(Family):
    kind = "gpt2"
    architecture = "GPT2LMHeadModel"

    def lacks(self, recipe: Recipe) -> str | None:
        design, positions = recipe.model, recipe.positions
        learned = isinstance(positions, Learned) or (
            isinstance(positions, Randomised) and positions.of == "learned"
        )
        return first(
            {
                f"positions.name {positions.name!r}": not learned,
                "model.norm 'rms'": design.norm == "rms",
                "model.gated": design.gated,
                f"model.key_value_heads {design.remembered}": design.remembered != design.heads,
                **shared(recipe),
            }
        )

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        design = model.settings
        return {
            "n_positions": len(weights_of(model)[_table(model)]),
            "n_embd": design.width,
            "n_layer": design.blocks,
            "n_head": design.heads,
            "n_inner": design.width * design.mlp_factor,
            "activation_function": ACTIVATIONS[design.activation],
            "layer_norm_epsilon": 1e-6,
            "scale_attn_weights": design.attention_scale,
            "embd_pdrop": design.dropout,
            "resid_pdrop": design.dropout,
            "attn_pdrop": 0.0,
        }

    def parts(self, model: Transformer) -> Parts:
        blocks = [part for block in range(model.settings.blocks) for part in _block(model, block)]
        ends = [
            Part("transformer.wte.weight", ("tokens",)),
            Part("transformer.wpe.weight", (_table(model),)),
            *_norm(model, "transformer.ln_f", "gain", factor=tied_scale(model)),
        ]
        if model.head is not None:
            ends.append(Part("lm_head.weight", ("head",), turned=True))
        return [*ends, *blocks]


def _block(model: Transformer, block: int) -> list[Part | Constant]:
    design, h = model.settings, f"transformer.h.{block}"
    width, wide = design.width, design.width * design.mlp_factor
    kept = ("attention.query", "attention.key", "attention.value")
    attends = block < design.attending
    attention: list[Part | Constant] = [
        *_norm(model, f"{h}.ln_1", "attention.gain" if attends else None, block),
        Part(f"{h}.attn.c_attn.weight", kept, block),
        Part(f"{h}.attn.c_proj.weight", ("attention.out",), block),
    ]
    idle: list[Part | Constant] = [
        *_norm(model, f"{h}.ln_1", None),
        Constant(f"{h}.attn.c_attn.weight", (width, 3 * width)),
        Constant(f"{h}.attn.c_proj.weight", (width, width)),
    ]
    return [
        *(attention if attends else idle),
        Constant(f"{h}.attn.c_attn.bias", (3 * width,)),
        Constant(f"{h}.attn.c_proj.bias", (width,)),
        *_norm(model, f"{h}.ln_2", "mlp.gain", block),
        Part(f"{h}.mlp.c_fc.weight", ("mlp.up",), block),
        Constant(f"{h}.mlp.c_fc.bias", (wide,)),
        Part(f"{h}.mlp.c_proj.weight", ("mlp.down",), block),
        Constant(f"{h}.mlp.c_proj.bias", (width,)),
    ]


def _norm(
    model: Transformer, name: str, gain: str | None, block: int | None = None, factor: float = 1.0
) -> list[Part | Constant]:
    """A norm's gain, ones where there is none, and its bias, which Curta's norms have not."""
    width = model.settings.width
    gained = gain is not None and model.settings.norm != "plain"
    weight = (
        Part(f"{name}.weight", (gain or "",), block, factor=factor)
        if gained
        else Constant(f"{name}.weight", (width,), factor)
    )
    return [weight, Constant(f"{name}.bias", (width,))]


def _table(model: Transformer) -> str:
    """The weight that holds the vectors of positions."""
    return next(name for name in weights_of(model) if name.startswith("positions."))
