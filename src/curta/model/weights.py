"""Weights: described first and then drawn all at once, shared, and cast for a training step.

A model is built with `Normal` in place of random weights, and may have values of NumPy
for others; `draw` fills the random ones in from a single draw. One draw compiles in a
tenth of the time of one per weight. A model learns only what its recipe does not share; `unshared`
writes the rest out, as blocks, proofs and exports read it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from curta.config.model import ModelConfig

if TYPE_CHECKING:
    from curta.model.layers import MLP, Attention
    from curta.model.transformer import Transformer

Tree = TypeVar("Tree")


@dataclass(frozen=True)
class Normal:
    """A weight that is still to be drawn: with mean 0 and this deviation, normal or uniform."""

    shape: tuple[int, ...]
    scale: float
    uniform: bool = False
    alike: bool = False
    """Whether all along the first axis, which is that of blocks, get the same numbers."""

    @property
    def drawn_shape(self) -> tuple[int, ...]:
        return self.shape[1:] if self.alike else self.shape


if TYPE_CHECKING:
    Weight = Array
else:
    Weight = Float[Array | np.ndarray, "..."] | Normal
"""A weight, its initial value in NumPy, or the description that `draw` is to fill in."""


def normal(*shape: int, scale: float) -> Any:
    """A description to stand where an array of this shape will be."""
    return Normal(shape, scale)


def constant(values: object) -> Any:
    """Values to stand where an array of them will be."""
    return np.asarray(values, np.float32)


def draw(tree: Tree, key: PRNGKeyArray) -> Tree:
    """`tree` with every `Normal` replaced by an array, and NumPy's arrays by JAX's."""
    leaves, structure = jax.tree.flatten(tree, is_leaf=is_normal)
    if not leaves:
        return tree
    sizes = [int(np.prod(leaf.drawn_shape)) if is_normal(leaf) else 0 for leaf in leaves]
    values = jnp.split(jax.random.normal(key, (sum(sizes),)), np.cumsum(sizes)[:-1])
    filled = [
        _scaled(leaf, part) if is_normal(leaf) else jnp.asarray(leaf)
        for leaf, part in zip(leaves, values, strict=True)
    ]
    return jax.tree.unflatten(structure, filled)


def _scaled(leaf: Normal, values: Float[Array, " size"]) -> Float[Array, "..."]:
    """Standard normal numbers as the leaf describes them.

    The share of normal numbers below each is uniform: of -1, 0 and 1 it is 0.16, 0.5 and 0.84.
    """
    if leaf.uniform:
        values = 3**0.5 * jax.lax.erf(values * 2**-0.5)  # from -1 to 1, times the root of 3
    return jnp.broadcast_to(leaf.scale * values.reshape(leaf.drawn_shape), leaf.shape)


def is_normal(leaf: object) -> bool:
    return isinstance(leaf, Normal)


ADDING = (".attention.out", ".mlp.down")
"""Matrices whose outputs are added to the state."""


def describe(model: "Transformer") -> "Transformer":
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
    described = _torch(config, name, leaf)
    if not is_normal(described) or not name.startswith((".attention", ".mlp")):
        return described
    if name in (".attention.query", ".attention.key", ".attention.value"):
        described = replace(described, scale=(2 * config.width) ** -0.5)
    return replace(described, alike=True)


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


def first_arc() -> Any:
    """Radius, start and step before training; the weights around them differ from seed to seed."""
    return constant([3.0, 0.0, 0.15])


def arc_vectors(parameters: Float[Array, "3"], tokens: int) -> Float[Array, "tokens 2"]:
    """The vector of each token: all on an arc of a circle, by three parameters.

    Token i has the angle `start + i step`, in radians, and the length `radius`. On a short arc
    sums of vectors are nearly sums of digits.
    Source: AdderBoard, github.com/anadim/AdderBoard, the digit embedding of its smallest trained
    entries; the initial values are Curta's.

    >>> arc_vectors(jnp.array([2.0, 0.0, jnp.pi / 2]), 2).round(3).tolist()
    [[2.0, 0.0], [-0.0, 2.0]]
    """
    radius, start, step = parameters
    angles = start + step * jnp.arange(tokens, dtype=jnp.float32)
    return radius * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1)


def without_shared(config: ModelConfig, attention: "Attention") -> "Attention":
    """Attention without the weights that are made of others; with the angle that turns keys.

    Source: AdderBoard, github.com/anadim/AdderBoard, trained entries of a few dozen parameters.
    There one angle turns a head's whole key; here every pair of features by the same angle.
    """
    shared = config.weight_sharing
    turns = "key-query" in shared
    return replace(
        attention,
        key=None if turns else attention.key,
        value=None if "value-key" in shared else attention.value,
        out=None if {"out-query", "out-value"} & set(shared) else attention.out,
        gain=None if "norms" in shared else attention.gain,
        after=None if "norms" in shared else attention.after,
        turn=constant(np.zeros((config.num_attention_layers, 1))) if turns else None,
    )


def without_gains(config: ModelConfig, mlp: "MLP") -> "MLP":
    """Feed-forward weights; without gains where the last norm's are those of all norms."""
    return replace(mlp, gain=None, after=None) if "norms" in config.weight_sharing else mlp


def unshared(model: "Transformer") -> "Transformer":
    """A model that calculates the same, with every weight in its own place."""
    config = model.config
    if not config.weight_sharing:
        return model
    attention, mlp = model.attention, model.mlp
    key = turned(attention.query, attention.turn) if attention.key is None else attention.key
    value = key if attention.value is None else attention.value
    leaves = -value if "out-value" in config.weight_sharing else attention.query
    out = leaves.swapaxes(1, 2) if attention.out is None else attention.out
    attention = replace(attention, key=key, value=value, out=out, turn=None)
    if "norms" in config.weight_sharing:
        attention = replace(attention, **_gains(model, config.num_attention_layers))
        mlp = replace(mlp, **_gains(model, config.num_layers))
    return replace(model, attention=attention, mlp=mlp, config=replace(config, weight_sharing=()))


def turned(
    query: Float[Array, "blocks width features"], turn: Float[Array, "blocks 1"] | None
) -> Float[Array, "blocks width features"]:
    """Each pair of features turned by its block's angle, in radians.

    >>> turned(jnp.array([[[1.0, 0.0], [0.0, 2.0]]]), jnp.array([[jnp.pi / 2]])).round(3).tolist()
    [[[-0.0, 1.0], [-2.0, -0.0]]]
    """
    assert turn is not None
    pairs = query.reshape(*query.shape[:2], -1, 2)
    angle = turn[:, :, None]
    first, second = pairs[..., 0], pairs[..., 1]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    both = first * cos - second * sin, first * sin + second * cos
    return jnp.stack(both, axis=-1).reshape(query.shape)


def _gains(model: "Transformer", blocks: int) -> dict[str, Any]:
    """Gains of the norms of so many blocks, all of them the last norm's."""
    assert model.gain is not None
    gains, config = jnp.broadcast_to(model.gain, (blocks, model.config.width)), model.config
    after = gains if config.norms_after else None
    return {"gain": gains if config.norms_before else None, "after": after}


KEPT = ("positions", "gain", "after", "head", "gain_bias", "after_bias", "head_bias")
"""Weights that are not multiplied by activations in bfloat16."""


def cast(model: "Transformer", precision: Literal["float32", "bfloat16"]) -> "Transformer":
    """The model as it calculates in a training step; evaluations take it as it is, in float32.

    Activations have the dtype of the matrices that they are multiplied by, so a model calculates in
    bfloat16 once its matrices are cast. Parameters, their gradients and the optimizer's state stay
    float32: the cast is part of the step. So do the statistics and gains of norms, what encodings
    calculate, scores, softmax, logits and loss; but a tied head is rounded with the embeddings,
    which it is.
    Source: Micikevicius et al., arXiv 1710.03740; without loss scaling, since bfloat16 has
    float32's exponents.
    """
    if precision == "float32":
        return model
    return jax.tree_util.tree_map_with_path(_half, _written_out(model))


def _written_out(model: "Transformer") -> "Transformer":
    """The same with weights that follow from others, and vectors on an arc, in float32."""
    model = unshared(model)
    if model.config.embedding == "table":
        return model
    config = replace(model.config, embedding="table")
    return replace(model, tokens=model.characters(), config=config)


def _half(path: Sequence[Any], leaf: Array) -> Array:
    kept = any(getattr(part, "name", None) in KEPT for part in path)
    return leaf if kept else leaf.astype(jnp.bfloat16)
