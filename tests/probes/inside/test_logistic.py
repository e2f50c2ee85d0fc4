"""Logistic regression, held against its definition."""

import numpy as np
import pytest
from curta.probes.inside.logistic import Scale, fitted, penalised, told
from hypothesis import given, settings
from hypothesis import strategies as st


def drawn(seed: int, examples: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(examples, features)), rng.random(examples) < 0.4


def loss(features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """By plain loops."""
    each = [
        np.log1p(np.exp(-(x @ weights) if true else x @ weights))
        for x, true in zip(features, labels, strict=True)
    ]
    return float(sum(each) + sum(weights**2) / 2)


@given(st.integers(0, 100), st.integers(2, 30), st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_no_other_weights_have_a_lower_loss(seed: int, examples: int, features: int) -> None:
    x, y = drawn(seed, examples, features)
    weights = fitted(x, y)
    least = loss(x, y, weights)
    assert penalised(x, y, weights) == pytest.approx(least)
    for direction in np.random.default_rng(seed).normal(size=(10, features)):
        for length in (1.0, 0.01):
            assert loss(x, y, weights + length * direction) > least


def test_a_single_feature_of_ones_is_solved_by_hand() -> None:
    """Of 10 examples 7 are true: 10 / (1 + exp(-w)) - 7 + w = 0 at the weight."""
    (weight,) = fitted(np.ones((10, 1)), np.arange(10) < 7)
    assert 10 / (1 + np.exp(-weight)) - 7 + weight == pytest.approx(0, abs=1e-4)


def test_what_can_be_told_apart_is_and_weights_stay_finite() -> None:
    x = np.concatenate([np.full((50, 1), -1000.0), np.full((50, 1), 1000.0)])
    scaled = Scale(x)(x)
    weights = fitted(scaled, x[:, 0] > 0)
    assert (told(scaled, weights) == (x[:, 0] > 0)).all()
    assert np.abs(weights).max() < 10
    assert fitted(scaled, np.ones(100, bool))[1] < 10


def test_features_are_scaled_by_those_that_were_fitted() -> None:
    x, _ = drawn(0, 40, 3)
    x = np.float32(x * [1.0, 100.0, 0.0] + [3.0, 0.0, 0.1])
    scale = Scale(x)
    assert scale(x).mean(axis=0) == pytest.approx([0, 0, 0, 1], abs=1e-9)
    assert scale(x).std(axis=0) == pytest.approx([1, 1, 0, 0], abs=1e-9)
    other = scale(x[:1] + np.float32([0, 0, 7]))
    assert other[0, 2] == 0
