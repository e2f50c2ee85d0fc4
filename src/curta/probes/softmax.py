"""Chances of tokens."""

import numpy as np
from jaxtyping import Float


def softmax(
    logits: Float[np.ndarray, "*batch vocabulary"],
) -> Float[np.ndarray, "*batch vocabulary"]:
    """In double precision: what is left of small chances is looked at.

    >>> softmax(np.log(np.array([[[1, 3]]], np.float32))).round(6).tolist()
    [[[0.25, 0.75]]]
    """
    raised = np.exp(np.float64(logits) - np.max(logits, axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
