"""Logistic regression with a penalty: a convex problem, solved by Newton's method in float64."""

import numpy as np
from jaxtyping import Bool, Float

PENALTY = 1.0
"""Half of it times the squared weights is added to the loss: C = 1 in scikit-learn's words."""

STEPS = 50
"""Of Newton's method: three to ten are enough, so these are never reached."""

CLOSE = 1e-6
"""Largest slope, per example, at which the weights are found."""

Features = Float[np.ndarray, "examples features"]
Labels = Bool[np.ndarray, " examples"]
Weights = Float[np.ndarray, " features"]


class Scale:
    """What brings features to mean 0 and deviation 1, with a last feature of ones beside them.

    Features that never vary become 0. [1, 3] and [5, 5] over two examples:

    >>> Scale(np.array([[1.0, 5], [3, 5]]))(np.array([[1.0, 5], [3, 5]])).tolist()
    [[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """

    def __init__(self, features: Features) -> None:
        exact = np.asarray(features, np.float64)
        self.mean, deviation = exact.mean(axis=0), exact.std(axis=0)
        varies = deviation > 1e-6 * np.abs(exact).max(initial=0.0)
        self.factor = np.where(varies, 1 / np.where(varies, deviation, 1), 0)

    def __call__(self, features: Features) -> Float[np.ndarray, "examples features+1"]:
        scaled = (np.asarray(features, np.float64) - self.mean) * self.factor
        return np.concatenate([scaled, np.ones((len(scaled), 1))], axis=1)


def fitted(features: Features, labels: Labels) -> Weights:
    """The weights w of least penalised loss: the sum of log(1 + exp(-x w)) over the true examples
    x and log(1 + exp(x w)) over the others, and half the penalty times the squares of w.
    """
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        chances = (1 + np.tanh(features @ weights / 2)) / 2
        slope = features.T @ (chances - labels) + PENALTY * weights
        if np.abs(slope).max() < CLOSE * len(labels):
            break
        curvature = (features.T * (chances * (1 - chances))) @ features
        curvature[np.diag_indices(len(weights))] += PENALTY
        weights = _lower(features, labels, weights, slope, np.linalg.solve(curvature, slope))
    return weights


def _lower(
    features: Features, labels: Labels, weights: Weights, slope: Weights, step: Weights
) -> Weights:
    """The weights less a step, or half of it and so on, until the loss is lower enough."""
    before, length = penalised(features, labels, weights), 1.0
    while penalised(features, labels, weights - length * step) > (
        before - 1e-4 * length * float(slope @ step)
    ):
        length /= 2
        if length < 1e-9:
            return weights
    return weights - length * step


def penalised(features: Features, labels: Labels, weights: Weights) -> float:
    """What `fitted` minimises."""
    towards = np.where(labels, -1.0, 1.0) * (features @ weights)
    return float(np.logaddexp(0, towards).sum() + PENALTY / 2 * weights @ weights)


def told(features: Features, weights: Weights) -> Labels:
    """Whether each example is likelier true than not."""
    found: np.ndarray = features @ weights > 0
    return found
