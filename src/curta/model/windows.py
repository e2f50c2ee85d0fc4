"""Over windows: a batch of rows, each a token and its neighbours, instead of texts."""

from functools import partial

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.layouts.program import ProgramLayout
from curta.model.layers import Flat
from curta.model.positions.window import WindowEncoding
from curta.model.taps import Tap, below, untouched
from curta.model.transformer import (
    AttentionOutput,
    Block,
    BlockContext,
    Transformer,
    project,
    scan_blocks,
)


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
