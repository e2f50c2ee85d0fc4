"""How the weights of a model are drawn before its first step, by `model.init`."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax

from curta.config.model import ModelConfig
from curta.model.deferred_init import Normal, is_normal

if TYPE_CHECKING:
    from curta.model.transformer import Transformer

ADDING = (".attention.out", ".mlp.down")
"""Matrices whose outputs are added to the state."""


def described(model: "Transformer") -> "Transformer":
    """A model whose weights are still to be drawn, described as its recipe has them.

    Source of gpt2: Radford et al., Language Models are Unsupervised Multitask Learners, 2019, as
    in transformers' `GPT2PreTrainedModel`; of torch: the defaults of `nn.Linear`, `nn.Embedding`;
    of torch_encoder: `nn.TransformerEncoder`, which copies its first layer.
    """
    describe, config = _DESCRIBED[model.config.init], model.config

    def one(path: tuple[Any, ...], leaf: Any) -> Any:
        return describe(config, jax.tree_util.keystr(path), leaf)

    return jax.tree_util.tree_map_with_path(one, model, is_leaf=is_normal)


def _as_they_are(config: ModelConfig, name: str, leaf: Any) -> Any:
    return leaf


def _alike(config: ModelConfig, name: str, leaf: Any) -> Any:
    return Normal(leaf.shape, config.init_std) if is_normal(leaf) else leaf


def _gpt2(config: ModelConfig, name: str, leaf: Any) -> Any:
    by = (2 * config.num_layers) ** -0.5 if name in ADDING else 1.0
    return Normal(leaf.shape, by * config.init_std) if is_normal(leaf) else leaf


def _torch(config: ModelConfig, name: str, leaf: Any) -> Any:
    """A uniform number up to b has deviation b / the root of 3."""
    if not name.startswith((".attention", ".mlp", ".head")) or ".gain" in name or ".after" in name:
        return leaf
    deviation = 3**-0.5 * (config.mlp_width if ".down" in name else config.width) ** -0.5
    if is_normal(leaf):
        return replace(leaf, scale=leaf.scale * 3**-0.5, uniform=True)
    return Normal(leaf.shape, deviation, uniform=True) if name.endswith("_bias") else leaf


def _torch_encoder(config: ModelConfig, name: str, leaf: Any) -> Any:
    """Xavier of a packed matrix of width x 3 width: its deviation is the root of 2 / (4 width)."""
    if name.startswith(".attention") and name.endswith("_bias"):
        return leaf
    found = _torch(config, name, leaf)
    if not is_normal(found) or not name.startswith((".attention", ".mlp")):
        return found
    if name in (".attention.query", ".attention.key", ".attention.value"):
        found = replace(found, scale=(2 * config.width) ** -0.5)
    return replace(found, alike=True)


def _ladder(config: ModelConfig, name: str, leaf: Any) -> Any:
    scale = {".tokens": 0.25, ".head": 1.0}.get(name)
    return replace(leaf, scale=scale) if scale and is_normal(leaf) else leaf


_DESCRIBED: dict[str, Callable[[ModelConfig, str, Any], Any]] = {
    "fan_in": _as_they_are,
    "normal": _alike,
    "gpt2": _gpt2,
    "torch": _torch,
    "torch_encoder": _torch_encoder,
    "ladder": _ladder,
}
