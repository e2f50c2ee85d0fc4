"""The loss of a looped model: after which recurrences, and with gradients through which.

last: the loss after the last recurrence.

mixed: half of that, and half of the loss after a random number of recurrences, 1 to all, drawn for
each step. Both come from one pass, at the cost of a second head.

progressive: with R recurrences and B = max(R // 2, 1), a share `alpha` is the loss after n
recurrences without gradient and k with it, n uniform in 0..R-1 and k in 1..min(R - n, B); the other
share is the loss after all R, with gradients through the last B. For R = 6, B = 3 and n = 4, k is 1
or 2: the loss is that after 5 or 6. The n recurrences run without storing activations; then B more
run, whatever k is, and the state after k of them is read: (R - 1) / 2 + B forward on average, and B
backward. Source: Bansal et al., arXiv 2202.05826, in the form of McLeish et al., arXiv 2405.17399.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from curta.config.sections import Training
from curta.model.layers import Flat, States


class LossTerm(NamedTuple):
    """The queries' state after some recurrences, and its share of the loss."""

    share: float
    state: Flat


def loss_terms(
    settings: Training, num_recurrences: int, states: Callable[..., States], key: PRNGKeyArray
) -> list[LossTerm]:
    """Return the states whose losses are added, that with the most recurrences last.

    `states` is `Transformer.states` of a batch; `key` is that of the step.
    """
    if settings.recurrence_loss == "last":
        return [LossTerm(1.0, states().last)]
    if settings.recurrence_loss == "mixed":
        recorded, count = states(each=True), jax.random.randint(key, (), 1, num_recurrences + 1)
        return [LossTerm(0.5, recorded.after(count)), LossTerm(0.5, recorded.last)]
    most, alpha = max(num_recurrences // 2, 1), settings.progressive_alpha
    first, second = jax.random.split(key)
    no_grad_recurrences = jax.random.randint(first, (), 0, num_recurrences)
    left = num_recurrences - no_grad_recurrences
    grad_recurrences = jax.random.randint(second, (), 1, jnp.minimum(left, most) + 1)
    terms = []
    if alpha > 0:
        recorded = states(num_recurrences=most, no_grad_recurrences=no_grad_recurrences, each=True)
        terms.append(LossTerm(alpha, recorded.after(grad_recurrences)))
    if alpha < 1:
        final = states(num_recurrences=most, no_grad_recurrences=num_recurrences - most).last
        terms.append(LossTerm(1 - alpha, final))
    return terms
