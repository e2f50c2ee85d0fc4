"""Looking inside: logits after every token, and where attention goes."""

from functools import partial
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from curta.layouts import ShapeBounds, TokenPositions
from curta.model.blocks import Attend, Attended, Block, BlockContext
from curta.model.layers import Flat
from curta.model.states import Logits, Tokens
from curta.model.transformer import Transformer


def all_logits(
    model: Transformer, tokens: Tokens, where: TokenPositions, bounds: ShapeBounds
) -> Logits:
    """Logits for what follows every token."""
    return model.logits(_walk(model, tokens, where, bounds, model.attend)[0], tokens)


def attention_weights(
    model: Transformer, tokens: Tokens, where: TokenPositions, bounds: ShapeBounds
) -> Float[Array, "layers batch heads time time"]:
    """The share of each token (last axis) in what every token takes, recurrence by recurrence."""
    attend = partial(_attend_and_tell, model)
    return jnp.stack(_walk(model, tokens, where, bounds, attend)[1])


def _walk(
    model: Transformer, tokens: Tokens, where: TokenPositions, bounds: ShapeBounds, attend: Attend
) -> tuple[Flat, Any]:
    """The state of all tokens after all recurrences, and what was found on the way."""
    context = model.context(tokens, where, model.positions.index(where, bounds))
    x, found = model.begin(context.entry), []
    for _ in range(model.config.num_recurrences):
        x, more = model.in_turn(x, context, [attend] * model.config.num_attention_layers)
        found += more
    return x, found


def _attend_and_tell(model: Transformer, block: Block, x: Flat, context: BlockContext) -> Attended:
    """As `Transformer.attend`; what is found are the weights."""
    seen, (keys, values) = context.visible_keys, model.keys_values(block, x, context)
    query = model.query(block, x, context)
    weights = model.positions.weights(block.positions, seen, query, model.repeat_kv(keys))
    return x, context, model.heads(block, x, context, keys, values), weights
