"""Every problem of a table, counted one by one: all pairs of operands up to a limit."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from curta.evaluation.results import WholeTable
from curta.evaluation.scoring import Models, exact_match
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.problems.problem_table import Table

BLOCK = 8192
"""Problems of one pass."""


def table(
    models: Models, operator: str, limit: int, progress: Callable[[float], None]
) -> WholeTable:
    """How many of all problems with two operands from 0 to `limit` each member has correct."""
    pairs = _pairs(operator, limit)
    correct = np.zeros(models.members, np.int64)
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK].tolist()
        problems = [Problem(operator, tuple(pair)) for pair in block]
        correct += exact_match(models, problems).sum(axis=1)
        progress(min(1.0, (start + BLOCK) / len(pairs)))
    return WholeTable(operator, limit, len(pairs), correct.tolist())


def _pairs(operator: str, limit: int) -> Int[np.ndarray, "problems 2"]:
    """All operands that have an answer, in a random order that is always the same."""
    whole, operation = Table(operator, 0, limit), OPERATIONS[operator]
    pairs = np.asarray(whole.pairs(jnp.arange(whole.rows)))
    if operation.on_device:
        return pairs
    return pairs[[operation.refuse(pair) is None for pair in map(tuple, pairs.tolist())]]
