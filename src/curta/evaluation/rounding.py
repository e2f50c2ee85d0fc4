"""Bounds on how far rounding can move the margins of a model's answers.

Every number of a pass is rounded. A sum of n products is off by at most n u / (1 - n u) of the
sum of their sizes, in any order (Higham, Accuracy and Stability of Numerical Algorithms, section
3.1), with u = 2^-24 in single precision. Gradients tell how much of an error at each place reaches
the margin; the bound is the sum of all of them, as if no two cancelled. So it holds, to first
order, for any program in single precision, pages and exports included. Exponentials and roots
count as accurate to FUNCTION units.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.evaluation.scoring import in_blocks
from curta.model.layers import ACTIVATIONS
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer, index_tree
from curta.training.windows import WindowRows, WindowTargets

UNIT = 2.0**-24
"""Largest relative error of one rounding."""

FUNCTION = 8
"""Units by which an exponential or a root may be off."""

BLOCK = 2048

COVERED = {
    "embedding": ("table",),
    "norm": ("rms",),
    "norm_placement": ("pre",),
    "norm_epsilon": (1e-6,),
    "final_norm": (True,),
    "biases": ((),),
    "activation": ("relu", "relu2"),
    "gated": (False,),
    "attention_scale": (True,),
    "num_kv_heads": (None,),
    "tie_embeddings": (False,),
    "weight_sharing": ((),),
}
"""Settings of the designs that are covered here."""


class Sites:
    """Places where errors arise: `errors` are added there, `sizes` are their largest sizes."""

    def __init__(self, errors: list[Array] | None = None) -> None:
        self.errors, self.sizes = errors, list[Array]()

    def __call__(self, value: Array, size: Array) -> Float[Array, "..."]:
        """Return the value plus the next error, if there are errors, and record its size.

        >>> Sites([jnp.array([0.5])])(jnp.array([2.0]), jnp.array([0.75])).tolist()
        [2.5]
        """
        self.sizes.append(jnp.broadcast_to(size, value.shape))
        if self.errors is None:
            return value
        return value + self.errors[len(self.sizes) - 1]

    def product(
        self, x: Float[Array, "*batch inputs"], weight: Float[Array, "inputs outputs"]
    ) -> Float[Array, "*batch outputs"]:
        """Return a matrix product; weights have no error.

        1 * 1 - 2 * 1 is -1, off by at most 2 u / (1 - 2 u) of 1 + 2, u = UNIT.
        """
        return self(x @ weight, _gamma(len(weight)) * (jnp.abs(x) @ jnp.abs(weight)))

    def sum(self, x: Array, change: Array) -> Float[Array, "..."]:
        return self(x + change, UNIT * jnp.abs(x + change))


def unbounded(model: Transformer) -> str | None:
    """Return the setting for which there is no bound here; None if there is a bound."""
    config = model.config
    fields = (f for f, values in COVERED.items() if getattr(config, f) not in values)
    field = next(fields, None)
    return None if field is None else f"model.{field} {getattr(config, field)!r}"


def bounds(
    model: Transformer, rows: WindowRows, targets: WindowTargets
) -> Float[np.ndarray, " windows"]:
    """Return how far rounding can move each margin of one member from its exact value.

    A margin is the right token's logit minus the largest other one; a third token with a smaller
    logit and larger rounding errors is not covered.
    """
    return in_blocks(partial(_bounds, model), rows, targets, (BLOCK,))[0]


@jax.jit
def _bounds(
    model: Transformer, rows: Int[Array, "windows cells"], targets: Int[Array, " windows"]
) -> tuple[Array]:
    """Compute the sizes of errors in one pass, and in another the slopes of the margin.

    An error of at most 0.1 with slope -2 moves the margin by at most 0.2.
    """
    sites = Sites()
    logits = _logits(model, rows, sites)
    right = jax.nn.one_hot(targets, logits.shape[1])
    rival = jnp.argmax(jnp.where(right > 0, -jnp.inf, logits), axis=1)
    direction = right - jax.nn.one_hot(rival, logits.shape[1])

    def total(errors: list[Array]) -> Array:
        return jnp.sum(_logits(model, rows, Sites(errors)) * direction)

    slopes = jax.grad(total)([jnp.zeros_like(size) for size in sites.sizes])
    moved = [
        jnp.sum((jnp.abs(slope) * size).reshape(len(rows), -1), axis=1)
        for slope, size in zip(slopes, sites.sizes, strict=True)
    ]
    return (jnp.sum(jnp.stack(moved), axis=0),)


def _logits(model: Transformer, rows: Int[Array, "windows cells"], sites: Sites) -> Array:
    """Return logits as `logits_of_windows`, with every cell computed separately and all errors."""
    config, layout, positions = model.config, model.layout, model.positions
    assert isinstance(positions, WindowEncoding)
    # The vector of each cell's token is a sum of at most four parts and a role.
    vectors, size = model.tokens, jnp.abs(model.tokens)
    if config.compositional_embeddings:
        mix = jnp.asarray(layout.composition())
        vectors, size = mix @ vectors, mix @ size
    if model.roles is not None:
        roles = model.roles[layout.machine.role]
        vectors, size = vectors + roles, size + jnp.abs(roles)
    x = sites(vectors[rows], _gamma(6) * size[rows])

    # One query meets the keys of all cells; an empty square has a key and a value of zeros.
    attention, cells = index_tree(model.attention, 0), rows.shape[1]
    h = _normed(x, attention.gain, sites)
    split = (*rows.shape, config.heads, config.head_dim)
    there = rows[..., None, None] < len(layout.characters)
    query = sites.product(h[:, 0], attention.query).reshape(len(rows), 1, *split[2:])
    key, value = (
        jnp.where(there, sites.product(h, w).reshape(split), 0.0)
        for w in (attention.key, attention.value)
    )
    bias = positions.table(positions.layers[0])[jnp.asarray(layout.machine.role)[rows[:, 0]]]
    scale = config.head_dim**-0.5
    scores = jnp.sum(query * key, axis=-1) * scale + bias
    size = _gamma(config.head_dim + 3) * scale * jnp.sum(jnp.abs(query * key), axis=-1)
    scores = sites(scores, size + UNIT * jnp.abs(scores))
    weights = jax.nn.softmax(scores, axis=1)
    weights = sites(weights, (2 * FUNCTION + 2 * cells) * UNIT * weights)
    taken = jnp.sum(weights[..., None] * value, axis=1)
    size = _gamma(cells) * jnp.sum(weights[..., None] * jnp.abs(value), axis=1)
    taken = sites(taken, size).reshape(len(rows), -1)
    x = sites.sum(x[:, 0], sites.product(taken, attention.out))

    for block in range(config.num_layers):
        mlp = index_tree(model.mlp, block)
        inner = sites.product(_normed(x, mlp.gain, sites), mlp.up)
        inner = ACTIVATIONS[config.activation](inner)
        inner = sites(inner, UNIT * jnp.abs(inner))
        x = sites.sum(x, sites.product(inner, mlp.down))
    assert model.head is not None
    return sites.product(_normed(x, model.gain, sites), model.head)


def _normed(
    x: Float[Array, "*batch width"], gain: Float[Array, " width"] | None, sites: Sites
) -> Float[Array, "*batch width"]:
    """Scale to root mean square 1 and apply a gain: 3, 4 becomes 0.85, 1.13.

    A relative error of the sum of squares is halved by the root.
    """
    y = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)
    y = y if gain is None else y * jnp.expand_dims(gain, tuple(range(y.ndim - 1)))
    return sites(y, (_gamma(x.shape[-1] + 3) / 2 + (FUNCTION + 3) * UNIT) * jnp.abs(y))


def _gamma(count: int) -> float:
    """Return the relative error of a sum of `count` products.

    >>> round(_gamma(3) / UNIT, 3)
    3.0
    """
    return count * UNIT / (1 - count * UNIT)
