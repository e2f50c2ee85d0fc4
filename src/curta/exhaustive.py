"""Every problem of a table, counted one by one: all pairs of operands up to a limit.

Texts are written on the device and scored in one teacher-forced pass, many to a row;
one of each block is held against the layout's plain-Python writing. Problems come in
a random order, so that every block is about equally long.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Int

from .batches import Batch, Capacity, enough, errors, packed, padded
from .errors import UserError
from .evaluation import Models, check, exact
from .layouts import Layout, Room, Text
from .model import Transformer
from .operations import OPERATIONS
from .problems import Problem
from .tables import Table, numbers
from .training import mesh_for

BLOCK = 2048
"""Problems of one pass."""

LARGEST = 2_000
"""Highest limit: its table has four million problems."""


def table(
    models: Models, operator: str, limit: int, progress: Callable[[float], None]
) -> dict[str, Any]:
    """How many of all problems with two operands from 0 to `limit` each member has right."""
    _check(operator, limit)
    width = len(str(limit))
    room = models.layout.room(operator, (width, width))
    check(models, room)
    pairs = _pairs(operator, limit)
    right = np.zeros(models.members, np.int64)
    for done, found in _blocks(models, operator, room, pairs):
        right += found.sum(axis=1)
        progress(done / len(pairs))
    return {
        "operator": operator,
        "limit": limit,
        "count": len(pairs),
        "right": right.tolist(),
    }


def _check(operator: str, limit: int) -> None:
    operation = OPERATIONS[operator]
    if operation.least > 2 or (operation.most or 2) < 2:
        raise UserError(f"{operation.name} has no table: it does not take two operands")
    if not 1 <= limit <= LARGEST:
        raise UserError(f"a table goes up to {LARGEST:,} at most, not {limit:,}")


def _pairs(operator: str, limit: int) -> Int[np.ndarray, "problems 2"]:
    """All operands that have an answer, in a random order that is always the same."""
    whole = Table(operator, 0, limit)
    return np.asarray(whole.pairs(jnp.arange(whole.rows)))


def _blocks(
    models: Models, operator: str, room: Room, pairs: Int[np.ndarray, "problems 2"]
) -> Iterator[tuple[int, Bool[np.ndarray, "members problems"]]]:
    """How many problems were examined so far, and who has which of the last ones right."""
    size = min(BLOCK, 1 << (len(pairs) - 1).bit_length())
    run = _compiled(models, operator, room, pairs[:size], size)
    for start in range(0, len(pairs), size):
        block = pairs[start : start + size]
        filled = np.concatenate([block, np.ones((size - len(block), 2), np.int32)])
        right, present, text = run(models.stacked, jnp.asarray(filled))
        _confirm(models.layout, operator, block[0], text)
        found = np.array(right)[:, : len(block)]
        left_out = np.flatnonzero(~np.asarray(present)[: len(block)])
        if len(left_out):
            again = [Problem(operator, tuple(block[i].tolist())) for i in left_out]
            found[:, left_out] = exact(models, again, room)
        yield start + len(block), found


def _compiled(
    models: Models, operator: str, room: Room, sample: Int[np.ndarray, "problems 2"], size: int
) -> Callable[[Transformer, Array], tuple[Array, Array, Text]]:
    """The examination of `size` problems by all members, spread over the devices."""
    mesh = mesh_for(models.members, size)
    write = partial(_text, models.layout, operator, room)
    capacity = _capacity(jax.jit(write)(jnp.asarray(sample)), size // mesh.shape["batch"])

    def local(stacked: Transformer, pairs: Array) -> tuple[Array, Array, Text]:
        text = write(pairs)
        batch = _batch(models, text, room, capacity)
        right = jax.lax.map(lambda model: _flawless(model, batch, room), stacked)
        return right & batch.present, batch.present, text

    member, problem = PartitionSpec("member"), PartitionSpec("batch")
    out = (PartitionSpec("member", "batch"), problem, problem)
    spread = jax.shard_map(
        local, mesh=mesh, in_specs=(member, problem), out_specs=out, check_vma=False
    )
    return jax.jit(spread)


def _text(layout: Layout, operator: str, room: Room, pairs: Int[Array, "problems 2"]) -> Text:
    return layout.tokens(operator, numbers(pairs, LARGEST), room)


def _capacity(text: Text, texts: int) -> Capacity:
    prompts, lengths = np.asarray(text.prompts), np.asarray(text.lengths)
    return Capacity(enough(lengths - 1, texts), enough(lengths - prompts, texts))


def _batch(models: Models, text: Text, room: Room, capacity: Capacity) -> Batch:
    where = models.layout.where(text)
    if models.stacked.positions.packs:
        return packed(text, where, capacity)
    return padded(text, where, room, causal=models.stacked.settings.causal)


def _flawless(model: Transformer, batch: Batch, room: Room) -> Bool[Array, " texts"]:
    return errors(model(batch.tokens, batch.where, batch.queries, room), batch) == 0


def _confirm(layout: Layout, operator: str, pair: Int[np.ndarray, " 2"], text: Text) -> None:
    """Holds the first text of a block against the layout's plain-Python writing."""
    written = layout.decode(np.asarray(text.tokens[0])[: int(text.lengths[0])].tolist())
    assert written == layout.write(Problem(operator, tuple(pair.tolist()))), written
