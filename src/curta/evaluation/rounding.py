"""How far rounding can move the margins of a model's answers.

Every number of a pass is rounded. A sum of n products is off by at most n u / (1 - n u) of the
sum of their sizes, in whatever order it is taken (Higham, Accuracy and Stability of Numerical
Algorithms, section 3.1), u = 2^-24 in single precision. Gradients say how much of an error at
each place arrives in the margin; the bound is the sum of all of them, as if no two ever
cancelled. So it holds, to first order, for any program that calculates in single precision:
pages and exports included. Exponentials and roots count as right to FUNCTION units.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.evaluation.memo import in_blocks
from curta.layouts.program import ProgramLayout
from curta.model.layers import ACTIVATIONS
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer, index_tree

UNIT = 2.0**-24
"""Largest relative error of one rounding."""

FUNCTION = 8
"""Units by which an exponential or a root may be off."""

BLOCK = 2048

KNOWN = {
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
"""Designs that are followed here."""


class Sites:
    """Places where errors arise: `errors` are added there, `sizes` are how large they can be."""

    def __init__(self, errors: list[Array] | None = None) -> None:
        self.errors, self.sizes = errors, list[Array]()

    def __call__(self, value: Array, size: Array) -> Float[Array, "..."]:
        """The value with the next error added to it, if there are errors; its size is kept.

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
        """A matrix product; weights are without error.

        1 * 1 - 2 * 1 is -1, off by at most 2 u / (1 - 2 u) of 1 + 2, u = UNIT.
        """
        return self(x @ weight, _gamma(len(weight)) * (jnp.abs(x) @ jnp.abs(weight)))


class Margins(NamedTuple):
    margin: Float[np.ndarray, " windows"]
    """The right token's logit less the largest other one's."""
    bound: Float[np.ndarray, " windows"]
    """How far rounding can move that difference from what it is in exact arithmetic, here or
    elsewhere; of a third token, with a smaller logit and more rounding, it says nothing."""


def unbounded(model: Transformer) -> str | None:
    """The setting for which there is no bound here; None if there is one."""
    config = model.config
    found = (f for f, values in KNOWN.items() if getattr(config, f) not in values)
    field = next(found, None)
    return None if field is None else f"model.{field} {getattr(config, field)!r}"


def margins(
    model: Transformer, rows: Int[np.ndarray, "windows cells"], targets: Int[np.ndarray, " windows"]
) -> Margins:
    """Margins of one member, and bounds on what rounding does to them.

    Logits 5, 3, 4 with the first right: a margin of 1, and the bound is on how far it moves.
    """
    return Margins(*in_blocks(partial(_margins, model), rows, targets, (BLOCK,)))


@jax.jit
def _margins(
    model: Transformer, rows: Int[Array, "windows cells"], targets: Int[Array, " windows"]
) -> tuple[Array, Array]:
    """Once for the sizes of errors, and once for slopes: how much of each error arrives.

    An error of at most 0.1 whose slope is -2 moves the margin by at most 0.2.
    """
    sites = Sites()
    logits = _logits(model, rows, sites)
    right = jax.nn.one_hot(targets, logits.shape[1])
    rival = jnp.argmax(jnp.where(right > 0, -jnp.inf, logits), axis=1)
    wanted = right - jax.nn.one_hot(rival, logits.shape[1])

    def total(errors: list[Array]) -> Array:
        return jnp.sum(_logits(model, rows, Sites(errors)) * wanted)

    slopes = jax.grad(total)([jnp.zeros_like(size) for size in sites.sizes])
    moved = [
        jnp.sum((jnp.abs(slope) * size).reshape(len(rows), -1), axis=1)
        for slope, size in zip(slopes, sites.sizes, strict=True)
    ]
    return jnp.sum(logits * wanted, axis=1), jnp.sum(jnp.stack(moved), axis=0)


def _logits(model: Transformer, rows: Int[Array, "windows cells"], sites: Sites) -> Array:
    """As `logits_of_windows`, every cell calculated for itself, with errors at all places."""
    config, attention = model.config, index_tree(model.attention, 0)
    x = _vectors(model, rows, sites)
    h = _normed(x, attention.gain, sites)
    split = (*rows.shape, config.heads, config.head_dim)
    there = rows[..., None, None] < len(model.layout.characters)
    query = sites.product(h[:, 0], attention.query).reshape(len(rows), 1, *split[2:])
    key, value = (
        jnp.where(there, sites.product(h, w).reshape(split), 0.0)
        for w in (attention.key, attention.value)
    )
    taken = _attended(model, rows, (query, key, value), sites)
    x = _added(x[:, 0], sites.product(taken, attention.out), sites)
    for block in range(config.num_layers):
        mlp = index_tree(model.mlp, block)
        inner = sites.product(_normed(x, mlp.gain, sites), mlp.up)
        inner = ACTIVATIONS[config.activation](inner)
        inner = sites(inner, UNIT * jnp.abs(inner))
        x = _added(x, sites.product(inner, mlp.down), sites)
    assert model.head is not None
    return sites.product(_normed(x, model.gain, sites), model.head)


def _vectors(model: Transformer, rows: Int[Array, "windows cells"], sites: Sites) -> Array:
    """The vector of each cell's token: the sum of at most four parts and a role."""
    assert isinstance(model.layout, ProgramLayout)
    parts = jnp.asarray(model.layout.composition()) if model.config.compositional_embeddings else None
    table = model.tokens if parts is None else parts @ model.tokens
    size = jnp.abs(model.tokens) if parts is None else parts @ jnp.abs(model.tokens)
    if model.roles is not None:
        roles = model.roles[model.layout.machine.role]
        table, size = table + roles, size + jnp.abs(roles)
    return sites(table[rows], _gamma(6) * size[rows])


def _attended(
    model: Transformer, rows: Int[Array, "windows cells"], heads: tuple[Array, ...], sites: Sites
) -> Array:
    """What each query (windows, width) takes from its cells: weights 3/4, 1/4 of values 4, 8: 5."""
    assert isinstance(model.positions, WindowEncoding)
    assert isinstance(model.layout, ProgramLayout)
    (query, key, value), machine = heads, model.layout.machine
    features, scale = query.shape[-1], query.shape[-1] ** -0.5
    bias = model.positions.table(model.positions.layers[0])[jnp.asarray(machine.role)[rows[:, 0]]]
    scores = jnp.sum(query * key, axis=-1) * scale + bias
    size = _gamma(features + 3) * scale * jnp.sum(jnp.abs(query * key), axis=-1)
    scores = sites(scores, size + UNIT * jnp.abs(scores))
    weights = jax.nn.softmax(scores, axis=1)
    weights = sites(weights, (2 * FUNCTION + 2 * rows.shape[1]) * UNIT * weights)
    taken = jnp.sum(weights[..., None] * value, axis=1)
    sizes = _gamma(rows.shape[1]) * jnp.sum(weights[..., None] * jnp.abs(value), axis=1)
    return sites(taken, sizes).reshape(len(rows), -1)


def _normed(
    x: Float[Array, "*batch width"], gain: Float[Array, " width"] | None, sites: Sites
) -> Float[Array, "*batch width"]:
    """Root mean square 1, times a gain: of 3, 4 it is 0.85, 1.13.

    A sum of squares loses half as much under a root.
    """
    y = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)
    y = y if gain is None else y * jnp.expand_dims(gain, tuple(range(y.ndim - 1)))
    return sites(y, (_gamma(x.shape[-1] + 3) / 2 + (FUNCTION + 3) * UNIT) * jnp.abs(y))


def _added(x: Array, change: Array, sites: Sites) -> Float[Array, "..."]:
    return sites(x + change, UNIT * jnp.abs(x + change))


def _gamma(count: int) -> float:
    """What a sum of so many products can be off by, as a share of the sum of their sizes.

    >>> round(_gamma(3) / UNIT, 3)
    3.0
    """
    return count * UNIT / (1 - count * UNIT)
