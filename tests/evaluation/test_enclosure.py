"""The margins of every state in a ball lie between the bounds."""

import numpy as np
import pytest

from curta.evaluation.balls import Ball, exact
from curta.evaluation.enclosure import Feedforward, margins


def drawn(squared: bool) -> Feedforward:
    rng = np.random.default_rng(3)
    up, down, logits = (rng.standard_normal(shape) for shape in ((2, 6), (6, 2), (2, 10)))
    return Feedforward(up, down, exact(logits), squared)


def true_margins(after: Feedforward, state: np.ndarray, target: np.ndarray) -> np.ndarray:
    logits = (state + after.activate(state @ after.up) @ after.down) @ after.logits.middle
    right = logits[np.arange(len(target)), target]
    logits[np.arange(len(target)), target] = -np.inf
    return right - logits.max(axis=1)


@pytest.mark.parametrize("squared", [False, True])
def test_margins_of_states_in_a_ball_are_within_the_bounds(squared: bool) -> None:
    rng, after = np.random.default_rng(0), drawn(squared)
    target = rng.integers(0, 10, 200)
    state = Ball(rng.standard_normal((200, 2)) * 3, rng.uniform(0, 0.5, (200, 2)))
    sure, possible = margins(after, state, target)
    for _ in range(100):
        inner = state.middle + rng.uniform(-1, 1, state.radius.shape) * state.radius
        found = true_margins(after, inner, target)
        assert (sure <= found).all()
        assert (found <= possible).all()


@pytest.mark.parametrize("squared", [False, True])
def test_bounds_of_a_point_are_apart_by_rounding_only(squared: bool) -> None:
    rng, after = np.random.default_rng(0), drawn(squared)
    target, state = rng.integers(0, 10, 50), rng.standard_normal((50, 2))
    sure, possible = margins(after, exact(state), target)
    np.testing.assert_allclose(sure, true_margins(after, state, target), atol=1e-3)
    assert (possible - sure).max() < 1e-3


def test_a_token_that_is_likelier_everywhere_is_told() -> None:
    after = drawn(False)
    state = np.array([[1.0, 2.0]])
    logits = (state + after.activate(state @ after.up) @ after.down) @ after.logits.middle
    sure, possible = margins(after, exact(state), logits.argmin(axis=1))
    assert (sure < 0).all()
    assert (possible < 0).all()
