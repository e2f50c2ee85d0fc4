"""Optimisers: each does what its definition says, to the weights it is meant for."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from curta.config.sections import SGD, AdamW, Muon, OptimizerSettings
from curta.layouts import layout_named
from curta.model.transformer import Transformer
from curta.training.optimizers import HyperParams, schedule, transformation
from tests import tiny

LAYOUT = layout_named("coupled")
MODEL = tiny.drawn(tiny.dense(model__num_layers=2, model__num_attention_layers=1), LAYOUT)
STEADY: dict[str, Any] = {"clip": 0.0, "schedule": "constant", "warmup": 0.0}
PLAIN = SGD(momentum=0.0, **STEADY)


def gradients(seed: int) -> Transformer:
    """Something of the model's shape to be treated as its gradient."""
    keys = iter(jax.random.split(jax.random.key(seed), len(jax.tree.leaves(MODEL))))
    return jax.tree.map(lambda leaf: jax.random.normal(next(keys), leaf.shape), MODEL)


def updates(
    settings: OptimizerSettings, rate: float, decay: float, *by_step: Transformer
) -> list[Any]:
    """The updates that follow from these gradients, one after the other."""

    @jax.jit
    def run(hyperparams: HyperParams, by_step: Any) -> list[Any]:
        chain = transformation(settings, hyperparams, 10)
        state, results = chain.init(MODEL), []
        for gradient in by_step:
            update, state = chain.update(gradient, state, MODEL)
            results.append(update)
        return results

    return run(HyperParams(jnp.float32(rate), jnp.float32(decay)), by_step)


def close(results: Any, expected: Any) -> None:
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7), results, expected
    )


# The learning rate over time.


def factor(settings: OptimizerSettings, step: int, steps: int) -> float:
    return float(schedule(settings, jnp.int32(step), steps))


@pytest.mark.parametrize("course", ["cosine", "linear", "constant"])
def test_the_rate_warms_up_linearly_and_ends_at_its_final_share(course: Any) -> None:
    settings = AdamW(schedule=course, warmup=0.1, final=0.25)
    assert [factor(settings, step, 100) for step in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert factor(settings, 100, 100) == pytest.approx(1.0 if course == "constant" else 0.25)
    halfway = {"cosine": 0.625, "linear": 0.625, "constant": 1.0}[course]
    assert factor(settings, 55, 100) == pytest.approx(halfway)


# Each optimiser against its definition.


def test_sgd_goes_down_the_gradient_and_its_momentum_by_hand() -> None:
    first, second = gradients(1), gradients(2)
    results = updates(replace(PLAIN, momentum=0.5), 0.1, 0.0, first, second)
    close(results[0], jax.tree.map(lambda g: -0.1 * g, first))
    close(results[1], jax.tree.map(lambda g, h: -0.1 * (0.5 * g + h), first, second))


def test_adamw_by_hand() -> None:
    """Two steps of the textbook's Adam, with decoupled weight decay."""
    settings = AdamW(**STEADY)
    by_step = [gradients(1), gradients(2)]
    results = updates(settings, 0.1, 0.01, *by_step)

    def textbook(weight: Any, g: Any, h: Any) -> Any:
        mean = (0.9 * 0.1 * g + 0.1 * h) / (1 - 0.9**2)
        square = (0.98 * 0.02 * g**2 + 0.02 * h**2) / (1 - 0.98**2)
        return -0.1 * (mean / (jnp.sqrt(square) + 1e-8) + 0.01 * weight)

    close(results[1], jax.tree.map(textbook, MODEL, *by_step))


def test_muon_treats_the_matrices_of_blocks_and_leaves_the_rest_to_adamw() -> None:
    """Optax gives Muon's AdamW the look-ahead (Nesterov) that Muon itself has."""
    settings = Muon(**STEADY)
    (update,) = updates(settings, 0.1, 0.01, gradients(1))
    adamw = optax.adamw(0.1, b1=0.9, b2=settings.beta2, weight_decay=0.01, nesterov=True)
    with jax.numpy_dtype_promotion("standard"):
        expected, _ = adamw.update(gradients(1), adamw.init(MODEL), MODEL)
    others = {
        jax.tree_util.keystr(path)
        for (path, leaf), by_adamw in zip(
            jax.tree.leaves_with_path(update), jax.tree.leaves(expected), strict=True
        )
        if not np.allclose(leaf, by_adamw, rtol=1e-3)
    }
    matrices = {f".attention.{name}" for name in ("query", "key", "value", "out")}
    assert others == matrices | {".mlp.up", ".mlp.down"}


def test_clipping_shortens_a_long_gradient_and_leaves_a_short_one() -> None:
    gradient = gradients(1)
    norm = sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(gradient)) ** 0.5
    (clipped,) = updates(replace(PLAIN, clip=norm / 4), 1.0, 0.0, gradient)
    close(clipped, jax.tree.map(lambda g: -g / 4, gradient))
    (whole,) = updates(replace(PLAIN, clip=norm * 4), 1.0, 0.0, gradient)
    close(whole, jax.tree.map(jnp.negative, gradient))


def test_rates_of_members_take_effect_member_by_member() -> None:
    hyperparams = HyperParams(jnp.array([0.1, 0.3]), jnp.array([0.0, 0.5]))
    settings, gradient = AdamW(**STEADY), gradients(1)

    @jax.jit
    @jax.vmap
    def step(hyperparams: HyperParams) -> Any:
        chain = transformation(settings, hyperparams, 10)
        return chain.update(gradient, chain.init(MODEL), MODEL)[0]

    both = step(hyperparams)
    for member, (rate, decay) in enumerate([(0.1, 0.0), (0.3, 0.5)]):
        (alone,) = updates(settings, rate, decay, gradient)
        close(jax.tree.map(lambda leaf, m=member: leaf[m], both), alone)
