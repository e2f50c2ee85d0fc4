"""Token by token, with a cache of keys and values."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.layouts import ShapeBounds, TokenPositions
from curta.model.blocks import Attended, Block, BlockContext, index_tree
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

    def recur(number: Array | int, now: tuple[Flat, Cache]) -> tuple[Flat, Cache]:
        x, (keys, values, index) = now
        attend = partial(_attend, model, number=number)
        layers = [partial(attend, past=past) for past in zip(keys, values, strict=True)]
        x, found = model.in_turn(x, context, layers)
        keys, values = zip(*found, strict=True)
        return x, Cache(keys, values, index)

    now = model.begin(context.entry), cache._replace(index=index)
    x, cache = recur(0, now) if count == 1 else jax.lax.fori_loop(0, count, recur, now)
    return cache, model.logits(x, where.index)


def _attend(
    model: Transformer,
    block: Block,
    x: Flat,
    context: BlockContext,
    past: tuple[Slots, Slots],
    number: Array | int,
) -> Attended:
    """Tokens of `x` attend to all that is cached, themselves included; with the longer past."""
    keys, values = model.keys_values(block, x, context)
    spot = (number, jnp.arange(len(keys))[:, None], context.where.index)
    past = past[0].at[spot].set(keys), past[1].at[spot].set(values)
    now: tuple[KVHeads, KVHeads] = index_tree(past, number)
    return x, context, model.heads(block, x, context, *now), past
