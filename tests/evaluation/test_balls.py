"""Whatever single precision makes of a sum, in whatever order, lies in its ball."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.evaluation import balls
from curta.evaluation.balls import Ball, exact

SEEDS = st.integers(0, 10_000)


def single(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 10 ** rng.uniform(-2, 2)).astype(np.float32)


def holds(ball: Ball, found: np.ndarray) -> bool:
    return bool((np.abs(found.astype(np.float64) - ball.middle) <= ball.radius).all())


@given(SEEDS)
def test_sums_and_products_in_single_precision_are_in_the_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = single(rng, 3, 40), single(rng, 40, 2)
    order = rng.permutation(40)
    total = np.zeros((3, 2), np.float32)
    for number in order:
        total = total + x[:, number, None] * y[None, number]
    assert holds(balls.product(exact(x), exact(y)), total)
    assert holds(balls.added(*map(exact, x)), (x[2] + x[0]) + x[1])
    assert holds(balls.scaled(exact(x), exact(x)), x * x)


@given(SEEDS)
def test_numbers_within_operands_give_results_within_the_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = Ball(rng.standard_normal((3, 5)), rng.uniform(0, 1, (3, 5)))
    y = Ball(rng.standard_normal((5, 2)), rng.uniform(0, 1, (5, 2)))
    inner = [ball.middle + rng.uniform(-1, 1, ball.radius.shape) * ball.radius for ball in (x, y)]
    assert holds(balls.product(x, y), inner[0] @ inner[1])
    weights = np.exp(inner[0])
    assert holds(balls.softmax(x), weights / weights.sum(axis=-1, keepdims=True))
    assert holds(balls.wave(x, np.sin), np.sin(inner[0]))


@given(SEEDS)
def test_softmax_in_single_precision_is_in_the_ball(seed: int) -> None:
    scores = single(np.random.default_rng(seed), 4, 30)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    assert holds(balls.softmax(exact(scores)), weights / weights.sum(axis=-1, keepdims=True))


def test_a_ball_is_not_much_larger_than_rounding() -> None:
    shares = balls.softmax(exact([[0.0, 1.0, 2.0]]))
    assert shares.middle.sum() == pytest.approx(1)
    assert 2**-24 < (shares.radius / shares.middle).max() < 2**-18
