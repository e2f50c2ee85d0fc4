"""The random keys of a training step: pure functions of a member's seed and the step's number."""

from typing import NamedTuple

import jax
from jaxtyping import Array, Int, Key, PRNGKeyArray, UInt

OTHERS = (1, 2, 3)
"""What is folded into a step's key for its starts, recurrences and dropout; tasks have more."""


class Keys(NamedTuple):
    """Keys of a step: for its problems, random starts, numbers of recurrences, and dropout.

    And the step's number, and a number of the member's by which epochs are in order.
    """

    problems: PRNGKeyArray
    starts: PRNGKeyArray
    recurrences: PRNGKeyArray
    dropout: PRNGKeyArray
    step: Int[Array, ""] | int
    order: UInt[Array, ""]


def step_keys(seed: Int[Array, ""] | int, number: Int[Array, ""] | int) -> Keys:
    """The keys of one step of one member."""
    member = jax.random.key(seed)
    key, order = jax.random.fold_in(member, 1 + number), jax.random.bits(member)
    starts, recurrences, dropout = (jax.random.fold_in(key, use) for use in OTHERS)
    return Keys(key, starts, recurrences, dropout, number, order)


def of_task(keys: Keys, number: int) -> Keys:
    """A task's own keys: problems of its own, and dropout of its own on every device."""
    own = jax.random.fold_in(keys.problems, OTHERS[-1] + number)
    problems = own if number else keys.problems
    dropout = jax.random.fold_in(keys.dropout, number)
    dropout = jax.random.fold_in(dropout, jax.lax.axis_index("batch"))
    return keys._replace(problems=problems, dropout=dropout)


def of_each_text(
    key: PRNGKeyArray, task: int, texts: int
) -> tuple[Key[Array, " texts"], Key[Array, " texts"]]:
    """Two keys for each text of a task's whole batch: to vary how it is written, and its start.

    They do not depend on how many devices share the batch. Where nothing is drawn from
    them, the compiled step has no trace of them.
    """
    keys = jax.random.split(jax.random.fold_in(key, task), (2, texts))
    return keys[0], keys[1]
