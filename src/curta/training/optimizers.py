"""Optimisers and learning rate schedules, from optax.

Learning rate and weight decay are arrays with one value for each member, so changing them does not
recompile; all other settings are constants of the compiled program.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree
from optax.contrib import MuonDimensionNumbers

from curta.config.sections import SGD, Adam, AdamW, Muon, OptimizerSettings
from curta.model.transformer import Transformer


class HyperParams(NamedTuple):
    """The settings of an optimiser that may differ between members."""

    learning_rate: Float[Array, ""]
    """The peak of the learning rate."""
    weight_decay: Float[Array, ""] | None
    """The weight decay; None if the optimiser has none."""

    @classmethod
    def of(cls, settings: OptimizerSettings) -> "HyperParams":
        """Return the values in a recipe's settings."""
        decay = getattr(settings, "weight_decay", None)
        return cls(
            jnp.float32(settings.learning_rate), None if decay is None else jnp.float32(decay)
        )


REPAIR_RATE = 0.1
"""Peak learning rate of a round of repair, as a share of that of training."""


def schedule(
    settings: OptimizerSettings, step: Int[Array, ""], *ends: int, round_steps: int = 0
) -> Float[Array, ""]:
    """Return the factor of the learning rate: linear warm-up, then constant, linear or cosine.

    An extended training has several `ends`. Up to each, the factor is that of a training that ends
    there. Rounds of repair of `round_steps` each may follow: in each, the factor rises towards
    REPAIR_RATE over a tenth of the steps and falls linearly to 0.

    >>> settings, steps = AdamW(warmup=0.2), jnp.array([0, 1, 6, 10])
    >>> [round(float(schedule(settings, step, 10)), 2) for step in steps]
    [0.5, 1.0, 0.5, 0.0]
    >>> [round(float(schedule(settings, step, 10, 20)), 2) for step in steps]
    [0.5, 1.0, 0.5, 0.69]
    """
    *earlier, last = ends
    factor = _warmup_and_decay(settings, step, last)
    for end in reversed(earlier):
        factor = jnp.where(step < end, _warmup_and_decay(settings, step, end), factor)
    if round_steps:
        at = jnp.asarray((step - last) % round_steps, jnp.float32)
        rises, falls = 10.0 * (at + 1) / round_steps, 1.0 - at / round_steps
        factor = jnp.where(step < last, factor, REPAIR_RATE * jnp.minimum(1.0, rises) * falls)
    return factor


def _warmup_and_decay(
    settings: OptimizerSettings, step: Int[Array, ""], steps: int
) -> Float[Array, ""]:
    """Return the factor at a step of a training of `steps` steps."""
    warm = max(1.0, settings.warmup * steps)
    step = jnp.asarray(step, jnp.float32)
    progress = jnp.clip((step - warm) / max(1.0, steps - warm), 0.0, 1.0)
    decay = {
        "constant": jnp.ones_like(progress),
        "linear": 1.0 - progress,
        "cosine": 0.5 * (1.0 + jnp.cos(jnp.pi * progress)),
    }
    factor = settings.final + (1.0 - settings.final) * decay[settings.schedule]
    return jnp.minimum(1.0, (step + 1) / warm) * factor


def transformation(
    settings: OptimizerSettings, hyperparams: HyperParams, *ends: int, round_steps: int = 0
) -> optax.GradientTransformation:
    """Return the optimiser with its schedule, after gradient clipping if there is any."""

    def rate(step: Array) -> Array:
        factor = schedule(settings, step, *ends, round_steps=round_steps)
        return hyperparams.learning_rate * factor

    decay = hyperparams.weight_decay
    match settings:
        case SGD():
            optimizer = optax.sgd(rate, momentum=settings.momentum or None)
        case Adam():
            optimizer = optax.adam(rate, b1=settings.beta1, b2=settings.beta2)
        case AdamW():
            optimizer = optax.adamw(rate, b1=settings.beta1, b2=settings.beta2, weight_decay=decay)
        case Muon():
            # AdamW updates embeddings, head, gains and biases. Both have Nesterov momentum and
            # the same learning rate: Muon's updates are scaled to the size of Adam's.
            optimizer = optax.contrib.muon(
                rate,
                beta=settings.momentum,
                weight_decay=decay,
                adam_b1=settings.beta1,
                adam_b2=settings.beta2,
                adam_weight_decay=decay,
                consistent_rms=0.2,
                muon_weight_dimension_numbers=matrices,
            )
    clipping = [optax.clip_by_global_norm(settings.clip)] if settings.clip else []
    return optax.chain(*clipping, optimizer)


def matrices(model: Transformer) -> PyTree:
    """Mark the weights that Muon updates: matrices of blocks, stacked along their first axis."""
    stacked = MuonDimensionNumbers(reduction_axis=1, output_axis=2)

    def mark(path: tuple[jax.tree_util.KeyEntry, ...], leaf: Array) -> MuonDimensionNumbers | None:
        in_block = jax.tree_util.keystr(path[:1]) in (".attention", ".mlp")
        return stacked if in_block and leaf.ndim == 3 else None

    return jax.tree_util.tree_map_with_path(mark, model)
