"""The function of a graph: logits for new tokens, with the state of earlier ones.

No array has a size that depends on lengths alone, and nothing is cut off at an end, so a converter
that knows neither a text's length nor that of its past can trace all of it.

ONNX has no assertions. But a `Gather` beyond the end of a table is an error by the standard, so
every limit is a table of zeros, which are added to the tokens.
"""

from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model.inspection import all_logits
from curta.model.layers import KVHeads, Logits, Tokens
from curta.model.transformer import Transformer

UNBOUNDED = ShapeBounds(0, 0, ())
"""Encodings in a graph do not need the length of texts."""


KV = tuple[KVHeads, KVHeads]
"""Keys and values of one layer."""


def forward(
    model: Transformer, limits: Mapping[str, int], tokens: Tokens
) -> tuple[Logits, Int[Array, "batch time columns"]]:
    """Return logits at each token of whole texts and its place, for a model that is not causal."""
    index = jnp.cumsum(jnp.ones_like(tokens), axis=1) - 1
    start = jnp.zeros((1, 1 + len(model.layout.axes)), jnp.int32)
    tokens, where, places = followed(model.layout, limits, tokens, index, start)
    return all_logits(model, tokens, where, UNBOUNDED), places


def decode(
    model: Transformer,
    limits: Mapping[str, int],
    tokens: Tokens,
    places: Int[Array, "batch past columns"],
    keys: Float[Array, "layers batch past kv_heads features"],
    values: Float[Array, "layers batch past kv_heads features"],
) -> tuple[Logits, Array, Array, Array]:
    """Return logits for the token after each new token, and places, keys and values with theirs.

    The state of a token is its place, and keys and values of each layer of each recurrence.
    """
    begun = jnp.sum(jnp.ones_like(places[..., 0]), axis=1, keepdims=True)
    index = begun + jnp.cumsum(jnp.ones_like(tokens), axis=1) - 1
    newest = jnp.where(places[..., :1] == begun[..., None] - 1, places[..., 2:], 0)
    start = jnp.sum(newest, axis=1)
    tokens, where, new_places = followed(model.layout, limits, tokens, index, start)
    places = jnp.concatenate([places, new_places], axis=1)
    seen = TokenPositions(places[..., 0], places[..., 1], places[..., 3:])
    context = model.context(tokens, where, seen)
    x, present = model.initial_state(context.embedded), list[KV]()
    past = list(zip(keys, values, strict=True))

    def store(past: KV, keys: KVHeads, values: KVHeads) -> tuple[Array, Array, KV]:
        """Let new tokens attend to all tokens so far, themselves included."""
        keys = jnp.concatenate([past[0], keys], axis=1)
        values = jnp.concatenate([past[1], values], axis=1)
        return keys, values, (keys, values)

    for _ in range(model.config.num_recurrences):
        layers = past[len(present) :][: model.config.num_attention_layers]
        attends = [partial(model.attend, store=partial(store, kv)) for kv in layers]
        x, layer_states = model.run_blocks(x, context, attends)
        present += layer_states
    keys, values = (jnp.stack(part) for part in zip(*present, strict=True))
    return model.logits(x, tokens), places, keys, values


def followed(
    layout: Layout,
    limits: Mapping[str, int],
    tokens: Tokens,
    index: Int[Array, "batch time"],
    start: Int[Array, "#batch states"],
) -> tuple[Tokens, TokenPositions, Int[Array, "batch time columns"]]:
    """Return the tokens, the position of each, and the same as columns; no token is padding.

    `start` is the state before the first token, then its coordinates. Columns are the index of each
    token, its role, the layout's state after it, and its coordinates. A graph fails for a token,
    an index or a coordinate beyond its limit.
    """

    def step(state: Array, token: Array) -> tuple[Array, tuple[Array, Array, Array]]:
        state, role, coordinates = layout.automaton.step(state, token)
        return state, (state[..., 0], role, coordinates)

    def within(tokens: Tokens, count: int, numbers: Array) -> Tokens:
        return tokens + jnp.zeros(count, jnp.int32).at[numbers].get(mode="promise_in_bounds")

    count = len(layout.characters)
    tokens = within(within(tokens, count, tokens), count, count - 1 - tokens)  # nor below 0
    start = jnp.broadcast_to(start, (tokens.shape[0], start.shape[1]))
    states, roles, coordinates = jax.lax.scan(step, start, tokens.T)[1]
    role, coordinates = roles.T, jnp.swapaxes(coordinates, 0, 1)
    if most := limits.get("longest_text"):
        tokens = within(tokens, most, index)
    if most := limits.get("highest_coordinate"):
        tokens = within(tokens, most + 1, jnp.maximum(coordinates.max(axis=-1), 0))
    columns = jnp.concatenate([jnp.stack([index, role, states.T], axis=-1), coordinates], axis=-1)
    return tokens, TokenPositions(index, role, coordinates), columns
