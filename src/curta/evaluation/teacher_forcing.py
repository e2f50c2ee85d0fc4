"""One pass over whole true texts, on the device: which tokens of their completions are right."""

import math
from collections.abc import Callable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int
from optax import softmax_cross_entropy_with_integer_labels

from curta.layouts import Layout, ShapeBounds, Text, TokenPositions
from curta.layouts.batches import scored_batch
from curta.model.transformer import Transformer

BUDGET = 1 << 17
"""Query-key pairs in one pass: more do not fit into the processor's caches.

200 problems of 1,000 digits took 2.4 s with four times as many, 0.9 s with these.
"""

BLOCK = 4096
"""Longest completion that is scored in one piece; longer ones need no more memory."""


def batch_size(stacked: Transformer, bounds: ShapeBounds, count: int) -> int:
    """Texts of one pass: a power of two that fits the budget and is no larger than needed."""
    pairs = min(bounds.completion, BLOCK) * stacked.positions.keys_per_query(bounds)
    fits = 1 << int(math.log2(max(1, BUDGET // pairs)))
    return min(fits, 1 << (count - 1).bit_length())


@lru_cache(maxsize=64)
def compiled(
    layout: Layout, bounds: ShapeBounds, mesh: Mesh, loss: str = "answer"
) -> Callable[[Transformer, Text], tuple[Array, Array]]:
    """The pass of stacked members over a batch, sharded over members and texts; see `_pass`."""

    def local(models: Transformer, text: Text) -> tuple[Array, Array]:
        where = layout.where(text)
        one = partial(_pass, text=text, where=where, bounds=bounds, loss=loss)
        return jax.lax.map(one, models)

    member, batch = PartitionSpec("member"), PartitionSpec("batch")
    both = PartitionSpec("member", "batch")
    sharded = jax.shard_map(
        local, mesh=mesh, in_specs=(member, batch), out_specs=(both, both), check_vma=False
    )
    return jax.jit(sharded)


def _pass(
    model: Transformer, text: Text, where: TokenPositions, bounds: ShapeBounds, loss: str
) -> tuple[Int[Array, " batch"], Float[Array, " batch"]]:
    """How many judged tokens are the most likely ones; the sum of all scored cross entropies.

    Long completions go block by block.
    """
    batch = scored_batch(loss, text, where, bounds, causal=model.config.causal)
    length = batch.queries.shape[1]
    blocks = -(-length // BLOCK)
    size = -(-length // blocks)
    spare = blocks * size - length

    def split(part: Array) -> Array:
        filled = jnp.pad(part, ((0, 0), (0, spare)))
        return jnp.moveaxis(filled.reshape(len(part), blocks, size), 1, 0)

    def one(part: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        queries, goals, scored, judged = part
        logits = model(batch.tokens, batch.where, queries, bounds)
        losses = softmax_cross_entropy_with_integer_labels(logits, goals)
        hits = jnp.sum((logits.argmax(-1) == goals) & judged, axis=1)
        return hits, jnp.sum(jnp.where(scored, losses, 0.0), axis=1)

    parts = (batch.queries, batch.goals, batch.scored, batch.judged)
    if blocks == 1:
        return one(parts)
    hits, losses = jax.lax.map(one, jax.tree.map(split, parts))
    return jnp.sum(hits, axis=0), jnp.sum(losses, axis=0)
