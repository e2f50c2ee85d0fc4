"""Token by token, with a cache of keys and values."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.layouts import ShapeBounds, TokenPositions
from curta.model.layers import Flat
from curta.model.states import KVHeads, Logits, Slots, Tokens
from curta.model.transformer import Transformer


class Cache(NamedTuple):
    """Keys and values of all tokens so far, for each attention layer, and where they stand.

    The same block has others in every recurrence.
    """

    keys: tuple[Slots, ...]
    values: tuple[Slots, ...]
    index: Any


def empty_cache(
    model: Transformer, where: TokenPositions, slots: int, bounds: ShapeBounds
) -> Cache:
    """A cache with `slots` tokens' room for each text of the batch."""
    config = model.config
    shape = (config.num_recurrences, len(where.index), slots, config.kv_heads, config.head_dim)
    blanks = (jnp.zeros(shape),) * config.num_attention_layers
    return Cache(blanks, blanks, model.positions.blank(where, slots, bounds))


def decode_step(
    model: Transformer, cache: Cache, tokens: Tokens, where: TokenPositions
) -> tuple[Cache, Logits]:
    """Appends tokens at the slots `where.index`; logits for what follows each of them."""
    index = model.positions.insert(cache.index, where)
    context, count = model.context(tokens, where, index), model.config.num_recurrences

    slots = jnp.arange(len(tokens))[:, None]

    def recur(number: Array | int, now: tuple[Flat, Cache]) -> tuple[Flat, Cache]:
        x, cache = now

        def store(
            past: tuple[Slots, Slots], keys: KVHeads, values: KVHeads
        ) -> tuple[Array, Array, tuple[Slots, Slots]]:
            """Return everything cached, including the new tokens, and the updated cache."""
            spot = (number, slots, where.index)
            past = past[0].at[spot].set(keys), past[1].at[spot].set(values)
            return past[0][number], past[1][number], past

        attends = [
            partial(model.attend, store=partial(store, past))
            for past in zip(cache.keys, cache.values, strict=True)
        ]
        x, kept = model.in_turn(x, context, attends)
        keys, values = zip(*kept, strict=True)
        return x, Cache(keys, values, cache.index)

    now = model.begin(context.entry), cache._replace(index=index)
    x, cache = recur(0, now) if count == 1 else jax.lax.fori_loop(0, count, recur, now)
    return cache, model.logits(x, where.index)
