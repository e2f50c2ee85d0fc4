"""A model on inputs other than whole texts: token by token with a cache, and over windows."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.layouts import ShapeBounds, TokenPositions
from curta.model.layers import Flat, KVHeads, Logits, Slots, Tap, Tokens, no_tap, prefixed
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import (
    AttentionOutput,
    Block,
    BlockContext,
    Transformer,
    project,
    scan_blocks,
)


class Cache(NamedTuple):
    """Keys and values of all tokens so far, for each attention layer, and where they stand.

    Every recurrence has keys and values of its own.
    """

    keys: tuple[Slots, ...]
    values: tuple[Slots, ...]
    index: Any  # of the encoding: see Encoding.index


def empty_cache(
    model: Transformer, where: TokenPositions, slots: int, bounds: ShapeBounds
) -> Cache:
    """Return a cache with room for `slots` tokens of each text of the batch."""
    config = model.config
    shape = (config.num_recurrences, len(where.index), slots, config.kv_heads, config.head_dim)
    blanks = (jnp.zeros(shape),) * config.num_attention_layers
    return Cache(blanks, blanks, model.positions.blank(where, slots, bounds))


def decode_step(
    model: Transformer, cache: Cache, tokens: Tokens, where: TokenPositions
) -> tuple[Cache, Logits]:
    """Append tokens at the slots `where.index`; return the cache, and logits after each token."""
    index = model.positions.insert(cache.index, where)
    context, count = model.context(tokens, where, index), model.config.num_recurrences
    rows = jnp.arange(len(tokens))[:, None]

    def recur(number: Array | int, carry: tuple[Flat, Cache]) -> tuple[Flat, Cache]:
        x, cache = carry

        def store(
            past: tuple[Slots, Slots], keys: KVHeads, values: KVHeads
        ) -> tuple[Array, Array, tuple[Slots, Slots]]:
            """Return all keys and values of this recurrence, the new ones included; the cache."""
            spot = (number, rows, where.index)
            past = past[0].at[spot].set(keys), past[1].at[spot].set(values)
            return past[0][number], past[1][number], past

        past_by_layer = zip(cache.keys, cache.values, strict=True)
        attends = [partial(model.attend, store=partial(store, past)) for past in past_by_layer]
        x, layer_caches = model.run_blocks(x, context, attends)
        keys, values = zip(*layer_caches, strict=True)
        return x, Cache(keys, values, cache.index)

    carry = model.initial_state(context.embedded), cache._replace(index=index)
    x, cache = recur(0, carry) if count == 1 else jax.lax.fori_loop(0, count, recur, carry)
    return cache, model.logits(x, where.index)


def logits_of_windows(
    model: Transformer, rows: Int[Array, "batch cells"], tap: Tap = no_tap
) -> Float[Array, "batch vocabulary"]:
    """Return logits for what follows each window: the query's token, then its neighbours'.

    Windows need the first layer to be the only one that attends. Keys and values of a token then
    depend on the token alone: they are computed once for the vocabulary and looked up. The tap is
    called at the sites of `inspection` from `layer.0.attention.heads` on, with one row a window;
    `layer.0.before` has one row for each token of the vocabulary.
    """
    embedded = vocabulary(model)
    context, attend = BlockContext(None, None, embedded), partial(_attend, model, rows)
    x = model.initial_state(embedded)
    x, context = model.block(0)(x, context, attend, prefixed(tap, "layer.0."))
    if tap is no_tap:
        x = scan_blocks(model.block(slice(1, None)), x, context)
    else:
        for number in range(1, model.config.num_layers):
            x, _ = model.block(number)(x, context, None, prefixed(tap, f"layer.{number}."))
    return model.logits(x, rows[None, :, 0], tap)[0]


def _attend(
    model: Transformer,
    rows: Int[Array, "batch cells"],
    block: Block,
    x: Flat,
    context: BlockContext,
    tap: Tap,
) -> AttentionOutput:
    """Let the first token of each window attend to the window; `x` is the whole vocabulary."""
    assert isinstance(model.positions, WindowEncoding)
    h = block.sublayer_input(x, block.attention, context)
    query, keys, values = (project(block, h, name, len(x)) for name in ("query", "key", "value"))
    if not model.config.attention_scale:
        query = query * model.config.head_dim**0.5
    keys, values = model.repeat_kv(keys), model.repeat_kv(values)
    heads = model.positions.of_windows(block.positions, rows, query, keys, values)
    # In float32, since the gradient sums over all windows that begin with the same token.
    x = x.astype(jnp.float32)[rows[:, 0]].astype(x.dtype)
    context = context._replace(embedded=context.embedded[rows[:, 0]])
    output = block.attention_output(heads.reshape(len(rows), -1), tap)
    return AttentionOutput(x, context, output, context)


def vocabulary(model: Transformer) -> Float[Array, "tokens width"]:
    """Return the vector of each token of a program, with that of its role."""
    if model.roles is None:
        return model.characters()
    return model.characters() + model.roles[model.layout.machine.role]
