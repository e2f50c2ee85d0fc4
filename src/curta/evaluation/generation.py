"""Generation: writing an answer token by token, with a cache.

The loop knows no arithmetic: the layout determines where each token stands, the position encoding
which earlier tokens it sees. With a windowed encoding, the cost of a token does not depend on the
length of the text.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.layouts.batches import prompt_batch
from curta.model.decoding import Cache, decode_step, empty_cache
from curta.model.transformer import Transformer
from curta.problems.problem import Problem


class Writing(NamedTuple):
    """State of the loop: the tokens so far, and what is needed to continue."""

    step: Int[Array, ""]
    token: Int[Array, " batch"]
    state: Int[Array, "batch states"]
    cache: Cache
    written: Int[Array, "batch completion"]
    done: Bool[Array, " batch"]


@partial(jax.jit, static_argnames=("layout", "bounds"))
def complete(
    model: Transformer,
    tokens: Int[Array, "batch prompt"],
    prompts: Int[Array, " batch"],
    *,
    layout: Layout,
    bounds: ShapeBounds,
) -> Int[Array, "batch completion"]:
    """Return greedy completions of prompts of `prompts` tokens each, filled up with end signs.

    A model that is not causal writes the whole completion over its prompt, in one pass.
    """
    if not model.config.causal:
        where = layout.follow(tokens, prompts)[1]
        return jnp.argmax(model(*prompt_batch(tokens, where, prompts, bounds), bounds), axis=-1)
    end = layout.end
    rows = jnp.arange(len(tokens))
    state, where = layout.follow(tokens, prompts)
    cache, logits = decode_step(
        model, empty_cache(model, where, bounds.total, bounds), tokens, where
    )
    first = jnp.argmax(logits[rows, prompts - 1], axis=-1)
    written = jnp.full((len(tokens), bounds.completion), end, jnp.int32)
    start = Writing(jnp.int32(0), first, state, cache, written, jnp.zeros(len(tokens), bool))

    def unfinished(now: Writing) -> Array:
        return (now.step < bounds.completion) & ~jnp.all(now.done)

    def write(now: Writing) -> Writing:
        token = jnp.where(now.done, end, now.token)
        written = now.written.at[:, now.step].set(token)
        state, role, coordinates = layout.automaton.step(now.state, token)
        index = jnp.minimum(prompts + now.step, bounds.total - 1)
        where = TokenPositions(index[:, None], role[:, None], coordinates[:, None])
        cache, logits = decode_step(model, now.cache, token[:, None], where)
        following = jnp.argmax(logits[:, 0], axis=-1)
        return Writing(now.step + 1, following, state, cache, written, now.done | (token == end))

    return jax.lax.while_loop(unfinished, write, start).written


def completions(
    model: Transformer, layout: Layout, problems: Sequence[Problem], bounds: ShapeBounds
) -> list[list[int]]:
    """Return the tokens that the model writes after each problem's prompt, and its end sign."""
    size = 1 << (len(problems) - 1).bit_length()
    prompts = [layout.prompt_tokens(problem) for problem in problems]
    prompts += prompts[-1:] * (size - len(prompts))  # no row of another kind is waited for
    tokens = np.zeros((size, bounds.prompt), np.int32)
    for row, prompt in zip(tokens, prompts, strict=True):
        row[: len(prompt)] = prompt
    lengths = np.array([len(prompt) for prompt in prompts], np.int32)
    output = np.asarray(complete(model, tokens, lengths, layout=layout, bounds=bounds))
    return [ended(row, layout.end) for row in output[: len(problems)].tolist()]


def ended(completion: list[int], end: int) -> list[int]:
    """Return the tokens up to and including the first end sign."""
    return completion[: completion.index(end) + 1] if end in completion else completion


def bucket(digits: int) -> int:
    """Round `digits` up to one of a few sizes, so that few programs are compiled."""
    size = 16
    while size < digits:
        size *= 8
    return size
