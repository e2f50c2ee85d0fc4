"""A model on other inputs than whole texts: token by token with a cache, and over windows."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.layouts import ShapeBounds, TokenPositions
from curta.layouts.program import ProgramLayout
from curta.model.layers import Flat, KVHeads, Logits, Slots, Tap, Tokens, below, untouched
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


def logits_of_windows(
    model: Transformer, rows: Int[Array, "batch cells"], tap: Tap = untouched
) -> Float[Array, "batch vocabulary"]:
    """Logits for what follows windows: a query's token, then its neighbours'; see `seen`.

    The one attention layer is the first, so keys and values of a token depend on nothing
    but the token: they are calculated once for the vocabulary and looked up. The tap is given
    the sites of `inspection` from `layer.0.attention.heads` on, a row for each window, and before
    them `layer.0.before`, a row for each token of the vocabulary.
    """
    entry = vocabulary(model)
    context, attend = BlockContext(None, None, entry), partial(_attend, model, rows=rows)
    x, context = model.block(0)(model.begin(entry), context, attend, below(tap, "layer.0."))
    x = _rest(model, x, context, tap)
    return model.logits(x, rows[None, :, 0], tap)[0]


def _rest(model: Transformer, x: Flat, context: BlockContext, tap: Tap) -> Flat:
    """All layers after the first; with a tap, one after the other."""
    if tap is untouched:
        return scan_blocks(model.block(slice(1, None)), x, context)
    for number in range(1, model.config.num_layers):
        x, _ = model.block(number)(x, context, None, below(tap, f"layer.{number}."))
    return x


def _attend(
    model: Transformer,
    block: Block,
    x: Flat,
    context: BlockContext,
    rows: Int[Array, "batch cells"],
) -> AttentionOutput:
    """`x` is the vocabulary; the first token of each window sees the window, and goes on."""
    assert isinstance(model.positions, WindowEncoding)
    h = block.sublayer_input(x, block.attention, context)
    query, keys, values = (project(block, h, name, len(x)) for name in ("query", "key", "value"))
    if not model.config.attention_scale:
        query = query * model.config.head_dim**0.5
    keys, values = model.repeat_kv(keys), model.repeat_kv(values)
    heads = model.positions.of_windows(block.positions, rows, query, keys, values)
    exact = x.astype(jnp.float32)  # its gradient is a sum over the windows of each token
    x = exact[rows[:, 0]].astype(x.dtype)
    context = context._replace(entry=context.entry[rows[:, 0]])
    return AttentionOutput(x, context, heads.reshape(len(rows), -1), context)


def vocabulary(model: Transformer) -> Float[Array, "tokens width"]:
    """The vector of each token, its role's included."""
    if model.roles is None:
        return model.characters()
    assert isinstance(model.layout, ProgramLayout)
    return model.characters() + model.roles[model.layout.machine.role]
