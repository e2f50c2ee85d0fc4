"""A batch of written problems as the model is given it: a row for each, padded to the longest."""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.layouts import ShapeBounds, Text, TokenPositions


class Batch(NamedTuple):
    """Tokens, and which of them are asked for which other one.

    Those that are `scored` make the loss; those `judged` decide whether a text is right.
    """

    tokens: Int[Array, "rows time"]
    where: TokenPositions
    queries: Int[Array, "rows queries"]
    goals: Int[Array, "rows queries"]
    scored: Bool[Array, "rows queries"]
    judged: Bool[Array, "rows queries"]


class PromptBatch(NamedTuple):
    """The beginning of a `Batch`: tokens, and at which of them something is asked."""

    tokens: Int[Array, "batch prompt"]
    where: TokenPositions
    queries: Int[Array, "batch completion"]


def padded(text: Text, where: TokenPositions, bounds: ShapeBounds, *, causal: bool = True) -> Batch:
    """Every text in its own row; each token of a completion is asked of the one before it.

    If the model is not causal, the completion is not shown to it: the i-th token of it is
    asked of the i-th of the prompt, all at once.

    >>> text = Text(jnp.array([[1, 2, 3, 4]]), jnp.array([2]), jnp.array([4]))
    >>> where = TokenPositions(*jnp.zeros((2, 1, 4), int), jnp.zeros((1, 4, 1), int))
    >>> batch = padded(text, where, ShapeBounds(2, 2, ((0, 3),)))
    >>> batch.tokens.tolist(), batch.queries.tolist(), batch.goals.tolist()
    ([[1, 2, 3]], [[1, 2]], [[3, 4]])
    """
    if not causal:
        return _at_once(text, where, bounds)
    queries = text.prompts[:, None] - 1 + jnp.arange(bounds.completion)[None]
    scored = queries + 1 < text.lengths[:, None]
    last = text.tokens.shape[1] - 1
    rows = jnp.arange(len(queries))[:, None]
    goals = text.tokens[rows, jnp.minimum(queries + 1, last)]
    queries = jnp.minimum(queries, last - 1)
    where = _cut(where, slice(None, -1))  # nothing follows the last token
    return Batch(text.tokens[:, :-1], where, queries, goals, scored, scored)


def scored_batch(
    loss: str, text: Text, where: TokenPositions, bounds: ShapeBounds, *, causal: bool = True
) -> Batch:
    """The batch whose scored tokens are those of a `training.loss`."""
    if loss in ("all", "padded"):
        return whole(text, where, padding=loss == "padded")
    return padded(text, where, bounds, causal=causal)


def whole(text: Text, where: TokenPositions, *, padding: bool = False) -> Batch:
    """Every text in its own row; each token but the first is asked of the one before it.

    With `padding`, what fills a row up is scored as well.

    >>> text = Text(jnp.array([[1, 2, 3, 4]]), jnp.array([2]), jnp.array([4]))
    >>> batch = whole(text, TokenPositions(*jnp.zeros((2, 1, 4), int), jnp.zeros((1, 4, 1), int)))
    >>> batch.goals.tolist(), batch.judged.tolist()
    ([[2, 3, 4]], [[False, True, True]])
    """
    queries = jnp.broadcast_to(jnp.arange(text.tokens.shape[1] - 1), text.tokens[:, 1:].shape)
    written = queries + 1 < text.lengths[:, None]
    judged = written & (queries + 1 >= text.prompts[:, None])
    scored = jnp.ones_like(written) if padding else written
    where = _cut(where, slice(None, -1))
    return Batch(text.tokens[:, :-1], where, queries, text.tokens[:, 1:], scored, judged)


def errors(logits: Float[Array, "rows queries vocabulary"], batch: Batch) -> Int[Array, " texts"]:
    """How many judged tokens of each text are not the most likely one."""
    return jnp.sum((jnp.argmax(logits, -1) != batch.goals) & batch.judged, axis=1)


def prompt_batch(
    tokens: Int[Array, "batch time"],
    where: TokenPositions,
    prompts: Int[Array, " batch"],
    bounds: ShapeBounds,
) -> PromptBatch:
    """What a model that is not causal is given: prompts alone, each answer asked over its own."""
    queries = jnp.broadcast_to(jnp.arange(bounds.completion), (len(tokens), bounds.completion))
    where = _cut(where, slice(bounds.prompt))
    hidden = where.index >= prompts[:, None]
    where = replace(where, role=jnp.where(hidden, -1, where.role))
    return PromptBatch(tokens[:, : bounds.prompt], where, queries)


def _at_once(text: Text, where: TokenPositions, bounds: ShapeBounds) -> Batch:
    prompts = prompt_batch(text.tokens, where, text.prompts, bounds)
    places = text.prompts[:, None] + prompts.queries
    scored, last = places < text.lengths[:, None], text.tokens.shape[1] - 1
    goals = jnp.take_along_axis(text.tokens, jnp.minimum(places, last), axis=1)
    return Batch(*prompts, goals, scored, scored)


def _cut(where: TokenPositions, places: slice) -> TokenPositions:
    columns = (where.index, where.role, where.coordinates)
    return TokenPositions(*(column[:, places] for column in columns))
