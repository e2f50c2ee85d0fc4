"""The classes of the transformers library: which recipes each supports, and how.

A class declares once which tensor of its file is which weight of a model; the file is written and
read by that table.

`GPT2LMHeadModel` and `LlamaForCausalLM` are the library's own. Biases that a recipe lacks are zeros
there. An MLP-only layer has attention with zero matrices, which adds nothing, and a feed-forward
without a gate becomes Llama's with a gate of 1: zero weights, and a bias of one. The scale of a
tied head moves into the last norm, and a query of unscaled attention is multiplied in advance.

Every other decoder is Curta's own class, `modeling_curta.py`, which travels with the model. Weights
are written unchanged. Roles and coordinates follow from the tokens by the layout's tables; a
program's machine is included to write prompts and read answers.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from importlib import resources
from typing import Any

import jax
import numpy as np

from curta.config.errors import UserError
from curta.config.positions import Learned, Randomised, RoPE
from curta.config.recipe import Recipe
from curta.export.base import Tensors, layout_table, weights_of
from curta.export.bundle import bundled
from curta.layouts import layout_named
from curta.model.positions.biases import THRESHOLD, buckets
from curta.model.positions.rope import RoPEEncoding
from curta.model.transformer import Transformer


@dataclass(frozen=True)
class FileTensor:
    """A tensor made of weights: joined side by side, transposed, and multiplied.

    With `{}` in its name there is one for each layer, with that layer's share of each weight. A
    tensor that no weight of the model determines is `fixed`.
    """

    name: str
    weights: tuple[str, ...]
    transposed: bool = False
    factor: float = 1.0
    layer: int | None = None
    fixed: np.ndarray | None = None

    def write(self, weights: Tensors) -> np.ndarray:
        if self.fixed is not None:
            return self.fixed
        joined = np.concatenate([self._share(weights[name]) for name in self.weights], axis=-1)
        tensor = joined * np.float32(self.factor)
        return np.ascontiguousarray(tensor.T if self.transposed else tensor)

    def read(self, tensor: np.ndarray, weights: Tensors) -> None:
        """Put the tensor's numbers into their places in `weights`.

        Raises UserError for another shape, or for another fixed tensor.
        """
        expected = self.write(weights)
        if tensor.shape != expected.shape:
            raise UserError(f"{self.name} has shape {tensor.shape}, not {expected.shape}")
        if self.fixed is not None:
            if not np.array_equal(tensor, expected):
                raise UserError(
                    f"{self.name} is not {expected.flat[0]:g} everywhere any more, and Curta's"
                    " models have no such weight: train without it (see the folder's README.md)"
                )
            return
        joined = (tensor.T if self.transposed else tensor) / np.float32(self.factor)
        widths = [self._share(weights[name]).shape[-1] for name in self.weights]
        shares = np.split(joined, np.cumsum(widths)[:-1], axis=-1)
        for name, share in zip(self.weights, shares, strict=True):
            self._share(weights[name])[...] = share

    def _share(self, weight: np.ndarray) -> np.ndarray:
        return weight if self.layer is None else weight[self.layer]


def tensors_of(
    model: Transformer, rows: Iterable[FileTensor], neutral: Tensors | None = None
) -> list[FileTensor]:
    """Return the tensors of these rows, one for each layer where they are of layers.

    Where the model lacks the weights, a tensor is fixed to the `neutral` ones, or left out if there
    are none. MLP-only layers are the last ones, and lack the weights of attention.
    """
    weights, tensors = weights_of(model), list[FileTensor]()
    for row in rows:
        for layer in range(model.config.num_layers) if "{}" in row.name else (None,):
            tensor = replace(row, name=row.name.format(layer), layer=layer)
            counts = [len(weights.get(name, ())) for name in row.weights]
            if min(counts) > (layer or 0):
                tensors.append(tensor)
            elif neutral and all(name in neutral for name in row.weights):
                tensors.append(replace(tensor, fixed=tensor.write(neutral)))
    return tensors


def read_tensors(tensors: Iterable[FileTensor], values: Tensors, blank: Transformer) -> Transformer:
    """Return the model of these tensors, structured as `blank`; UserError if they do not fit."""
    weights = {name: np.zeros_like(weight) for name, weight in weights_of(blank).items()}
    if further := sorted(values.keys() - {tensor.name for tensor in tensors}):
        raise UserError(f"it has {further[0]} besides")
    for each in tensors:
        if each.name not in values:
            raise UserError(f"{each.name} is missing")
        each.read(values[each.name], weights)
    return jax.tree.unflatten(jax.tree.structure(blank), list(weights.values()))


class ModelClass(ABC):
    """One class that `AutoModelForCausalLM` opens. Stateless; registered in `CLASSES`."""

    kind: str
    """Its `model_type`."""
    architecture: str
    """The name of the class."""

    @abstractmethod
    def refusals(self, recipe: Recipe) -> dict[str, bool]:
        """Return settings that the class does not support, and whether the recipe has them."""

    @abstractmethod
    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        """Return the model's entries in config.json; `n_positions` if texts are limited."""

    @abstractmethod
    def tensors(self, model: Transformer) -> list[FileTensor]:
        """Return every tensor of the file, with each weight in exactly one of them."""

    def code(self) -> dict[str, str]:
        """Return the Python files that accompany the class."""
        return {}

    def lacks(self, recipe: Recipe) -> str | None:
        """Return a setting of the recipe that the class does not support; None if there is none."""
        config = recipe.model
        endless = recipe.layout is not None and not layout_named(recipe.layout).end_sign
        refusals = self.refusals(recipe) | {
            "model.causal False (all of an answer is written at once)": not config.causal,
            f"layout {recipe.layout!r} (its texts have no end sign)": endless,
            f"model.embedding {config.embedding!r}": config.embedding != "table",
            f"model.qk_input {config.qk_input!r}": config.qk_input != "state",
            "model.norm 'none'": config.norm == "none",
            "model.weight_sharing": bool(config.weight_sharing),
        }
        return next((reason for reason, holds in refusals.items() if holds), None)


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


POSITIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "learned": lambda encoding: {},
    "nope": lambda encoding: {},
    "sinusoidal": lambda encoding: {"width": encoding.width},
    # except in training, indices count the tokens of the text
    "randomised": lambda encoding: (
        {"kind": "learned"}
        if weights_of(encoding)
        else {"kind": "sinusoidal", "base": encoding.vectors.base, "width": encoding.vectors.width}
    ),
    "rope": lambda encoding: {"kind": "nope"} if encoding.over_heads else {},
    "alibi": lambda encoding: {"slopes": None if weights_of(encoding) else encoding.fixed},
    "t5": lambda encoding: {
        "buckets": buckets(len(encoding.table), encoding.max_distance).tolist()
    },
    "fire": lambda encoding: {"least": THRESHOLD},
    "abacus": lambda encoding: {},
    "coupled": lambda encoding: {},
    "position-coupling": lambda encoding: {"kind": "coupled"},
    "window": lambda encoding: {
        "near": encoding.layout.machine.neighbours(encoding.layout.windows)
    },
}
"""The supported encodings, and what the class needs of them besides their settings."""


class CurtaClass(ModelClass):
    kind = "curta"
    architecture = "CurtaForCausalLM"

    def refusals(self, recipe: Recipe) -> dict[str, bool]:
        name, config = recipe.positions.name, recipe.model
        tied = config.compositional_embeddings and config.tie_embeddings
        return {
            f"positions.name {name!r}": name not in POSITIONS,
            "model.compositional_embeddings with model.tie_embeddings": tied,
        }

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        config, settings = model.config, asdict(recipe.positions)
        kind, weights = settings["name"], weights_of(model.positions)
        needs = POSITIONS[kind](model.positions)
        shapes = {name.rpartition(".")[2]: list(each.shape) for name, each in weights.items()}
        classes = {"AutoConfig": "CurtaConfig", "AutoModelForCausalLM": self.architecture}
        # the vectors whose sum is each token's vector
        token_parts = [np.flatnonzero(row).tolist() for row in model.layout.composition()]
        return {
            "auto_map": {auto: f"modeling_curta.{name}" for auto, name in classes.items()},
            "hidden_size": config.width,
            "num_hidden_layers": config.num_layers,
            "num_attention_heads": config.heads,
            "model": asdict(config),
            "positions": {"kind": kind, **settings, **needs, "weights": shapes},
            "layout": layout_table(model.layout),
            "vectors": len(np.asarray(model.tokens)),
            "parts": token_parts if config.compositional_embeddings else None,
        }

    def tensors(self, model: Transformer) -> list[FileTensor]:
        """Return weights unchanged, except that torch transposes matrices.

        A bias is named after its weight: `gain_bias` is the norm's bias.
        """
        norms = {"gain": "norm", "after": "after"}
        tensors = [FileTensor("model.tokens.weight", ("tokens",))]
        for weight in weights_of(model):
            holder, _, leaf = weight.rpartition(".")
            of, _, bias = leaf.partition("_")
            if holder in ("attention", "mlp"):
                name = f"model.blocks.{{}}.{holder}.{norms.get(of, of)}.{bias or 'weight'}"
                tensors.append(FileTensor(name, (weight,), not bias and of not in norms))
            elif holder:
                tensors.append(FileTensor(f"model.positions.{leaf}", (weight,)))
        ends = {
            "roles": "model.roles.weight",
            "gain": "model.norm.weight",
            "gain_bias": "model.norm.bias",
            "head_bias": "head.bias",
            "head": "head.weight",
        }
        tensors += [FileTensor(name, (weight,), weight == "head") for weight, name in ends.items()]
        return tensors_of(model, tensors)

    def code(self) -> dict[str, str]:
        shipped = [f"{name}_curta.py" for name in ("modeling", "reading", "positions")]
        code = {name: (resources.files(__package__) / name).read_text("utf-8") for name in shipped}
        asking = bundled(f"{__package__}.asking_curta", "prompt", "answer")
        return code | {"asking_curta.py": asking}
