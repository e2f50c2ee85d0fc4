"""A batch of written problems as the model is given it.

Texts of different lengths either stand in rows of their own, padded to the longest
that there may be, or share one row without padding. The second is possible where
attention keeps them apart by itself, as a window does, and saves what would be
computed for nothing: two thirds of a batch of divisions and more.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .layouts import Layout, Room, Text, Where
from .tasks import Task, sample

SPARE = 4.0
"""Standard deviations of a batch's length that are kept free: one batch in thirty
thousand has a problem that does not fit and is left out."""


class Batch(NamedTuple):
    """Tokens, and which of them are asked for which other one.

    Those that are `scored` make the loss; those `judged` decide whether a text is right.
    """

    tokens: Int[Array, "rows time"]
    where: Where
    queries: Int[Array, "rows queries"]
    goals: Int[Array, "rows queries"]
    scored: Bool[Array, "rows queries"]
    judged: Bool[Array, "rows queries"]
    present: Bool[Array, " texts"]


class Shown(NamedTuple):
    """The beginning of a `Batch`: tokens, and at which of them something is asked."""

    tokens: Int[Array, "batch prompt"]
    where: Where
    queries: Int[Array, "batch completion"]


class Capacity(NamedTuple):
    """Room for the tokens, and for the scored ones among them, of a whole batch."""

    tokens: int
    scored: int


def padded(text: Text, where: Where, room: Room, *, causal: bool = True) -> Batch:
    """Every text in its own row; each token of a completion is asked of the one before it.

    If the model is not causal, the completion is not shown to it: the i-th token of it is
    asked of the i-th of the prompt, all at once.
    """
    if not causal:
        return _at_once(text, where, room)
    queries = text.prompts[:, None] - 1 + jnp.arange(room.completion)
    scored = queries + 1 < text.lengths[:, None]
    last = text.tokens.shape[1] - 1
    rows = jnp.arange(len(queries))[:, None]
    goals = text.tokens[rows, jnp.minimum(queries + 1, last)]
    queries = jnp.minimum(queries, last - 1)
    present = jnp.ones(len(queries), bool)
    where = _cut(where, slice(None, -1))  # nothing follows the last token
    return Batch(text.tokens[:, :-1], where, queries, goals, scored, scored, present)


def whole(text: Text, where: Where) -> Batch:
    """Every text in its own row; each token but the first is asked of the one before it."""
    queries = jnp.broadcast_to(jnp.arange(text.tokens.shape[1] - 1), text.tokens[:, 1:].shape)
    scored = queries + 1 < text.lengths[:, None]
    judged = scored & (queries + 1 >= text.prompts[:, None])
    present, where = jnp.ones(len(queries), bool), _cut(where, slice(None, -1))
    return Batch(text.tokens[:, :-1], where, queries, text.tokens[:, 1:], scored, judged, present)


def packed(text: Text, where: Where, capacity: Capacity) -> Batch:
    """All texts one after the other in one row; those that do not fit are left out."""
    time = text.tokens.shape[1]
    length, first = text.lengths - 1, jnp.maximum(text.prompts, 1) - 1
    asked = jnp.maximum(length - first, 0)
    fits = (jnp.cumsum(length) <= capacity.tokens) & (jnp.cumsum(asked) <= capacity.scored)
    begins, slots, there = _laid(jnp.where(fits, length, 0), time, capacity.tokens)
    _, chosen, asked_there = _laid(jnp.where(fits, asked, 0), time, capacity.scored)
    row = slots // time
    asked_row, place = chosen // time, first[chosen // time] + chosen % time
    queries = begins[asked_row] + place
    goals = text.tokens[asked_row, jnp.minimum(place + 1, time - 1)]
    kind = jnp.where(there, where.kind.reshape(-1)[slots], -1)
    coordinates = where.coordinates.reshape(len(fits) * time, -1)[slots]
    index = jnp.arange(capacity.tokens)
    spot = Where(index[None], kind[None], coordinates[None], row[None], len(fits))
    tokens = text.tokens.reshape(-1)[slots]
    scored = asked_there[None]
    return Batch(tokens[None], spot, queries[None], goals[None], scored, scored, fits)


@lru_cache
def capacity(task: Task, layout: Layout, texts: int) -> Capacity:
    """Room for `texts` problems of that task, by the mean and spread of their lengths."""
    problems = sample(task, 512)
    prompts = np.array([len(layout.prompt(problem)) for problem in problems])
    lengths = np.array([len(layout.write(problem)) for problem in problems])
    return Capacity(enough(lengths - 1, texts), enough(lengths - prompts, texts))


def enough(lengths: Int[np.ndarray, " problems"], texts: int) -> int:
    """A sum of `texts` lengths that is hardly ever exceeded, in steps of 64."""
    most = texts * lengths.mean() + SPARE * math.sqrt(texts) * lengths.std()
    return 64 * math.ceil(max(most, lengths.max()) / 64)


def errors(logits: Float[Array, "rows queries vocabulary"], batch: Batch) -> Int[Array, " texts"]:
    """How many judged tokens of each text are not the most likely one."""
    wrong = (jnp.argmax(logits, -1) != batch.goals) & batch.judged
    text = batch.where.text[jnp.arange(len(wrong))[:, None], batch.queries]
    return jnp.zeros(batch.where.texts, jnp.int32).at[text].add(wrong.astype(jnp.int32))


def _laid(
    counts: Int[Array, " texts"], time: int, size: int
) -> tuple[Int[Array, " texts"], Int[Array, " size"], Bool[Array, " size"]]:
    """The first `counts` places of each text one after the other in `size` slots.

    Returns where each text begins, which place (of all, text by text) each slot holds,
    and which slots hold one.
    """
    begins, place = jnp.cumsum(counts) - counts, jnp.arange(time)
    slot = jnp.where(place < counts[:, None], begins[:, None] + place, size)
    every = jnp.arange(len(counts) * time).reshape(slot.shape)
    held = jnp.zeros(size, jnp.int32).at[slot].set(every, mode="drop")
    return begins, held, jnp.arange(size) < jnp.sum(counts)


def shown(
    tokens: Int[Array, "batch time"], where: Where, prompts: Int[Array, " batch"], room: Room
) -> Shown:
    """What a model that is not causal is given: prompts alone, each answer asked over its own."""
    queries = jnp.broadcast_to(jnp.arange(room.completion), (len(tokens), room.completion))
    where = _cut(where, slice(room.prompt))
    hidden = where.index >= prompts[:, None]
    where = replace(where, kind=jnp.where(hidden, -1, where.kind))
    return Shown(tokens[:, : room.prompt], where, queries)


def _at_once(text: Text, where: Where, room: Room) -> Batch:
    given = shown(text.tokens, where, text.prompts, room)
    asked = text.prompts[:, None] + given.queries
    scored, last = asked < text.lengths[:, None], text.tokens.shape[1] - 1
    goals = jnp.take_along_axis(text.tokens, jnp.minimum(asked, last), axis=1)
    return Batch(*given, goals, scored, scored, jnp.ones(len(goals), bool))


def _cut(where: Where, kept: slice) -> Where:
    return Where(
        where.index[:, kept],
        where.kind[:, kept],
        where.coordinates[:, kept],
        where.text[:, kept],
        where.texts,
    )
