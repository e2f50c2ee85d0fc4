"""After which recurrences of a looped model the loss is taken, and through which gradients go.

last: after the last recurrence.
mixed: half of that, and half of the loss after 1 to all recurrences, drawn for each step. Both are
read from one pass, which costs one more head and the states it reads.
progressive: a share `alpha` is the loss after n recurrences without gradient and k with it, n
uniform in 0..R-1 and k in 1..min(R - n, B) of R recurrences, B = max(R // 2, 1); the rest is the
loss after all R, with gradient through the last B. Of R = 6, where B = 3, n = 4 leaves k = 1 or 2:
the loss is that after 5 or 6. The n recurrences are run and not kept; whatever k is, B more are
run, and the state after k of them is read: (R - 1) / 2 + B forward on average, and B backward.
Source: Bansal et al., arXiv 2202.05826, in the form of McLeish et al., arXiv 2405.17399.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from curta.config.sections import Training
from curta.model.layers import Flat, States


class LossTerm(NamedTuple):
    """The queries' state at some point of a pass, and its share of the loss."""

    share: float
    state: Flat


def loss_terms(
    settings: Training, num_recurrences: int, states: Callable[..., States], key: PRNGKeyArray
) -> list[LossTerm]:
    """Return the states whose losses are added; those with most recurrences come last.

    `states` is the model's, of a batch; `key` is drawn from once a step.
    """
    if settings.recurrence_loss == "last":
        return [LossTerm(1.0, states().last)]
    if settings.recurrence_loss == "mixed":
        each, fewer = states(each=True), jax.random.randint(key, (), 1, num_recurrences + 1)
        return [LossTerm(0.5, each.after(fewer)), LossTerm(0.5, each.last)]
    most, alpha = max(num_recurrences // 2, 1), settings.progressive_alpha
    first, second = jax.random.split(key)
    no_grad_recurrences = jax.random.randint(first, (), 0, num_recurrences)
    left = num_recurrences - no_grad_recurrences
    grad_recurrences = jax.random.randint(second, (), 1, jnp.minimum(left, most) + 1)
    terms = []
    if alpha > 0:
        drawn = states(num_recurrences=most, no_grad_recurrences=no_grad_recurrences, each=True)
        terms.append(LossTerm(alpha, drawn.after(grad_recurrences)))
    if alpha < 1:
        whole = states(num_recurrences=most, no_grad_recurrences=num_recurrences - most)
        terms.append(LossTerm(1 - alpha, whole.last))
    return terms
