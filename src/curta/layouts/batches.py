"""Batches of written problems as inputs of the model, a row for each text, padded."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.layouts import ShapeBounds, Text, TokenPositions


class Batch(NamedTuple):
    """Tokens, and for each query (an index into time) the goal: the token to predict there.

    The loss is over `scored` queries; a text is correct if all `judged` ones are.
    """

    tokens: Int[Array, "rows time"]
    where: TokenPositions
    queries: Int[Array, "rows queries"]
    goals: Int[Array, "rows queries"]
    scored: Bool[Array, "rows queries"]
    judged: Bool[Array, "rows queries"]


def completion_batch(
    text: Text, where: TokenPositions, bounds: ShapeBounds, *, causal: bool = True
) -> Batch:
    """Return the batch in which each token of the completions is predicted from the one before.

    A model that is not causal does not see the completion: it predicts token i of it at token i of
    the prompt, all at once.

    >>> text = Text(jnp.array([[1, 2, 3, 4]]), jnp.array([2]), jnp.array([4]))
    >>> where = TokenPositions(*jnp.zeros((2, 1, 4), int), jnp.zeros((1, 4, 1), int))
    >>> batch = completion_batch(text, where, ShapeBounds(2, 2, ((0, 3),)))
    >>> batch.tokens.tolist(), batch.queries.tolist(), batch.goals.tolist()
    ([[1, 2, 3]], [[1, 2]], [[3, 4]])
    """
    last = text.tokens.shape[1] - 1
    if not causal:
        tokens, where, queries = prompt_batch(text.tokens, where, text.prompts, bounds)
        places = text.prompts[:, None] + queries
        scored = places < text.lengths[:, None]
        goals = jnp.take_along_axis(text.tokens, jnp.minimum(places, last), axis=1)
        return Batch(tokens, where, queries, goals, scored, scored)
    queries = text.prompts[:, None] - 1 + jnp.arange(bounds.completion)[None]
    scored = queries + 1 < text.lengths[:, None]
    rows = jnp.arange(len(queries))[:, None]
    goals = text.tokens[rows, jnp.minimum(queries + 1, last)]
    queries = jnp.minimum(queries, last - 1)
    where = jax.tree.map(lambda column: column[:, :-1], where)  # nothing follows the last token
    return Batch(text.tokens[:, :-1], where, queries, goals, scored, scored)


def scored_batch(
    loss: str, text: Text, where: TokenPositions, bounds: ShapeBounds, *, causal: bool = True
) -> Batch:
    """Return the batch whose scored tokens are those of a `training.loss`.

    Unless these are the completions alone, each token but the first is predicted from the one
    before; with "padded", padding tokens are, too.

    >>> text = Text(jnp.array([[1, 2, 3, 4]]), jnp.array([2]), jnp.array([4]))
    >>> where = TokenPositions(*jnp.zeros((2, 1, 4), int), jnp.zeros((1, 4, 1), int))
    >>> batch = scored_batch("all", text, where, ShapeBounds(2, 2, ((0, 3),)))
    >>> batch.goals.tolist(), batch.judged.tolist()
    ([[2, 3, 4]], [[False, True, True]])
    """
    if loss not in ("all", "padded"):
        return completion_batch(text, where, bounds, causal=causal)
    queries = jnp.broadcast_to(jnp.arange(text.tokens.shape[1] - 1), text.tokens[:, 1:].shape)
    is_text = queries + 1 < text.lengths[:, None]
    judged = is_text & (queries + 1 >= text.prompts[:, None])
    scored = jnp.ones_like(is_text) if loss == "padded" else is_text
    where = jax.tree.map(lambda column: column[:, :-1], where)
    return Batch(text.tokens[:, :-1], where, queries, text.tokens[:, 1:], scored, judged)


def count_errors(
    logits: Float[Array, "rows queries vocabulary"], batch: Batch
) -> Int[Array, " texts"]:
    """Count the judged tokens of each text that are not the most likely ones."""
    return jnp.sum((jnp.argmax(logits, -1) != batch.goals) & batch.judged, axis=1)


def prompt_batch(
    tokens: Int[Array, "batch time"],
    where: TokenPositions,
    prompts: Int[Array, " batch"],
    bounds: ShapeBounds,
) -> tuple[Int[Array, "batch prompt"], TokenPositions, Int[Array, "batch completion"]]:
    """Return the input of a model that is not causal, which writes answers over prompts.

    Tokens, their positions and queries: the first fields of a `Batch`.
    """
    queries = jnp.broadcast_to(jnp.arange(bounds.completion), (len(tokens), bounds.completion))
    where = jax.tree.map(lambda column: column[:, : bounds.prompt], where)
    hidden = where.index >= prompts[:, None]
    where = replace(where, role=jnp.where(hidden, -1, where.role))
    return tokens[:, : bounds.prompt], where, queries
