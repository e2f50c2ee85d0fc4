"""Weights: described first, then drawn all at once; shared, and cast for a training step.

A model is built with a `Normal` in place of each random weight and NumPy arrays in place of the
others. `draw` then fills in all random weights from a single draw, which compiles ten times faster
than a draw for each weight. A model stores only weights that are not shared; `unshared` adds the
others for code that reads them, such as proofs and exports.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from curta.config.sections import ModelConfig

if TYPE_CHECKING:
    from curta.model.layers import AttentionWeights
    from curta.model.transformer import Transformer

Tree = TypeVar("Tree")


@dataclass(frozen=True)
class Normal:
    """A random weight to be drawn later: mean 0, standard deviation `scale`, normal or uniform."""

    shape: tuple[int, ...]
    scale: float
    uniform: bool = False
    alike: bool = False
    """Whether all blocks, along the first axis, get the same numbers."""

    @property
    def drawn_shape(self) -> tuple[int, ...]:
        return self.shape[1:] if self.alike else self.shape


if TYPE_CHECKING:
    Weight = Array
else:
    Weight = Float[Array | np.ndarray, "..."] | Normal
"""A weight, its initial value in NumPy, or the description from which `draw` makes it."""


def normal(*shape: int, scale: float) -> Any:
    """Return a placeholder for a random weight of an encoding; each seed then draws its own.

    The numbers are normally distributed with mean 0.

    Example, in the method `build` of an encoding's settings::

        curta.normal(shape.num_attention_layers, shape.heads, scale=0.02)

    Args:
        shape: Shape of the array.
        scale: Standard deviation.
    """
    return Normal(shape, scale)


def constant(values: object) -> Any:
    """Return a placeholder for a float32 array with these initial values."""
    return np.asarray(values, np.float32)


def draw(tree: Tree, key: PRNGKeyArray) -> Tree:
    """Return `tree` with JAX arrays: every `Normal` is drawn, and NumPy arrays are converted."""
    leaves, structure = jax.tree.flatten(tree, is_leaf=is_normal)
    if not leaves:
        return tree
    sizes = [int(np.prod(leaf.drawn_shape)) if is_normal(leaf) else 0 for leaf in leaves]
    values = jnp.split(jax.random.normal(key, (sum(sizes),)), np.cumsum(sizes)[:-1])

    def fill(leaf: Any, numbers: Float[Array, " size"]) -> Array:
        if not is_normal(leaf):
            return jnp.asarray(leaf)
        if leaf.uniform:
            # The share of normal numbers below x is uniform: of -1, 0, 1 it is 0.16, 0.5, 0.84.
            numbers = 3**0.5 * jax.lax.erf(numbers * 2**-0.5)  # from -1 to 1, times sqrt(3)
        return jnp.broadcast_to(leaf.scale * numbers.reshape(leaf.drawn_shape), leaf.shape)

    return jax.tree.unflatten(structure, map(fill, leaves, values))


def is_normal(leaf: object) -> bool:
    return isinstance(leaf, Normal)


RESIDUAL_OUTPUTS = (".attention.out", ".mlp.down")
"""Matrices whose outputs are added to the state."""


def describe(model: "Transformer") -> "Transformer":
    """Return the model with descriptions of its weights as `model.init` says, not drawn yet.

    Source of gpt2: Radford et al., Language Models are Unsupervised Multitask Learners, 2019, as
    in transformers' `GPT2PreTrainedModel`; of torch: the defaults of `nn.Linear`, `nn.Embedding`;
    of torch_encoder: `nn.TransformerEncoder`, which copies its first layer.
    """
    config = model.config

    def describe_leaf(path: tuple[Any, ...], leaf: Any) -> Any:
        name, init = jax.tree_util.keystr(path), config.init
        if init in ("torch", "torch_encoder"):
            return _torch_leaf(config, name, leaf)
        if not is_normal(leaf) or init == "fan_in":
            return leaf
        if init == "ladder":
            return replace(leaf, scale={".tokens": 0.25, ".head": 1.0}.get(name, leaf.scale))
        scaled_down = init == "gpt2" and name in RESIDUAL_OUTPUTS
        factor = (2 * config.num_layers) ** -0.5 if scaled_down else 1.0
        return Normal(leaf.shape, factor * config.init_std)

    return jax.tree_util.tree_map_with_path(describe_leaf, model, is_leaf=is_normal)


def _torch_leaf(config: ModelConfig, name: str, leaf: Any) -> Any:
    """Describe one weight of a block or the head as PyTorch draws it.

    A uniform number up to b has deviation b / sqrt(3). The encoder draws queries, keys and values
    as one packed matrix, width x 3 width, whose Xavier deviation is sqrt(2 / (4 width)).
    """
    in_block, is_encoder = name.startswith((".attention", ".mlp")), config.init == "torch_encoder"
    is_bias = name.endswith("_bias")
    if not (in_block or name.startswith(".head")) or ".gain" in name or ".after" in name:
        return leaf
    if is_encoder and is_bias and name.startswith(".attention"):
        return leaf
    if is_normal(leaf):
        leaf = replace(leaf, scale=leaf.scale * 3**-0.5, uniform=True)
    elif is_bias:
        inputs = config.mlp_width if ".down" in name else config.width
        leaf = Normal(leaf.shape, 3**-0.5 * inputs**-0.5, uniform=True)
    if is_encoder and in_block and is_normal(leaf):
        if name in (".attention.query", ".attention.key", ".attention.value"):
            leaf = replace(leaf, scale=(2 * config.width) ** -0.5)
        leaf = replace(leaf, alike=True)
    return leaf


def arc_vectors(parameters: Float[Array, "3"], tokens: int) -> Float[Array, "tokens 2"]:
    """Return vectors on an arc of a circle: token i has angle `start + i step` (radians).

    `parameters` are radius, start and step. On a short arc, sums of vectors are nearly sums of
    digits.
    Source: AdderBoard, github.com/anadim/AdderBoard, the digit embedding of its smallest trained
    entries; the initial values are Curta's.

    >>> arc_vectors(jnp.array([2.0, 0.0, jnp.pi / 2]), 2).round(3).tolist()
    [[2.0, 0.0], [-0.0, 2.0]]
    """
    radius, start, step = parameters
    angles = start + step * jnp.arange(tokens, dtype=jnp.float32)
    return radius * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1)


def without_shared(config: ModelConfig, attention: "AttentionWeights") -> "AttentionWeights":
    """Return attention without the weights that are derived from others.

    Shared keys get an angle in their place. Source: AdderBoard, github.com/anadim/AdderBoard,
    trained entries of a few dozen parameters. There one angle rotates a head's whole key; here it
    rotates every pair of features.
    """
    shared = config.weight_sharing
    turns = "key-query" in shared
    return replace(
        attention,
        key=None if turns else attention.key,
        value=None if "value-key" in shared else attention.value,
        out=None if {"out-query", "out-value"} & set(shared) else attention.out,
        turn=constant(np.zeros((config.num_attention_layers, 1))) if turns else None,
    )


def unshared(model: "Transformer") -> "Transformer":
    """Return a model that computes the same function with no weight shared."""
    config = model.config
    if not config.weight_sharing:
        return model
    attention, mlp = model.attention, model.mlp
    key = rotate_pairs(attention.query, attention.turn) if attention.key is None else attention.key
    value = key if attention.value is None else attention.value
    source = -value if "out-value" in config.weight_sharing else attention.query
    out = source.swapaxes(1, 2) if attention.out is None else attention.out
    attention = replace(attention, key=key, value=value, out=out, turn=None)
    if "norms" in config.weight_sharing:
        attention = replace(attention, **_gains(model, config.num_attention_layers))
        mlp = replace(mlp, **_gains(model, config.num_layers))
    return replace(model, attention=attention, mlp=mlp, config=replace(config, weight_sharing=()))


def rotate_pairs(
    query: Float[Array, "blocks width features"], turn: Float[Array, "blocks 1"] | None
) -> Float[Array, "blocks width features"]:
    """Rotate each pair of features by its block's angle, in radians.

    >>> pairs, quarter = jnp.array([[[1.0, 0.0], [0.0, 2.0]]]), jnp.array([[jnp.pi / 2]])
    >>> rotate_pairs(pairs, quarter).round(3).tolist()
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
    """Return the gains of all norms of `blocks` blocks: copies of the last norm's gain."""
    assert model.gain is not None
    gains, config = jnp.broadcast_to(model.gain, (blocks, model.config.width)), model.config
    after = gains if config.norms_after else None
    return {"gain": gains if config.norms_before else None, "after": after}


FLOAT32_WEIGHTS = ("positions", "gain", "after", "head", "gain_bias", "after_bias", "head_bias")
"""Weights that stay float32 in mixed precision."""


def cast(model: "Transformer", precision: Literal["float32", "bfloat16"]) -> "Transformer":
    """Return the model in the precision of a training step; evaluations use float32.

    Activations take the dtype of the matrices they are multiplied by, so casting the matrices to
    bfloat16 is enough. Parameters, gradients and optimiser state stay float32, since the cast is
    part of the step. Norms, position encodings, scores, softmax, logits and loss stay float32, too;
    a tied head is rounded together with the embeddings.
    Source: Micikevicius et al., arXiv 1710.03740; without loss scaling, since bfloat16 has the
    exponents of float32.
    """
    if precision == "float32":
        return model
    # Derived weights and vectors on an arc are computed in float32 first.
    model = unshared(model)
    if model.config.embedding == "arc":
        config = replace(model.config, embedding="table")
        model = replace(model, tokens=model.characters(), config=config)

    def cast_leaf(path: Sequence[Any], leaf: Array) -> Array:
        stays = any(getattr(key, "name", None) in FLOAT32_WEIGHTS for key in path)
        return leaf if stays else leaf.astype(jnp.bfloat16)

    return jax.tree_util.tree_map_with_path(cast_leaf, model)
