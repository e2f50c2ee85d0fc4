"""The function of a graph: logits for new tokens, with the state of earlier ones.

No array has a size that depends on lengths alone, and nothing is cut off at an end, so a converter
that knows neither a text's length nor that of its past can trace all of it.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.layouts.base import Automaton
from curta.layouts.program import ProgramLayout
from curta.model.inspection import all_logits
from curta.model.layers import KVHeads, Logits, Tokens
from curta.model.transformer import Transformer

UNBOUNDED = ShapeBounds(0, 0, ())
"""Encodings in a graph do not need the length of texts."""


KV = tuple[KVHeads, KVHeads]
"""Keys and values of one layer."""


def forward(model: Transformer, tokens: Tokens) -> tuple[Logits, Int[Array, "batch time columns"]]:
    """Return logits at each token of whole texts and its place, for a model that is not causal."""
    index = jnp.cumsum(jnp.ones_like(tokens), axis=1) - 1
    start = jnp.zeros((1, 1 + len(model.layout.axes)), jnp.int32)
    where, places = followed(model.layout, tokens, index, start)
    return all_logits(model, tokens, where, UNBOUNDED), places


def decode(
    model: Transformer,
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
    where, new_places = followed(model.layout, tokens, index, jnp.sum(newest, axis=1))
    places = jnp.concatenate([places, new_places], axis=1)
    seen = TokenPositions(places[..., 0], places[..., 1], places[..., 3:])
    context = model.context(tokens, where, seen)
    x, present, count = (
        model.initial_state(context.embedded),
        list[KV](),
        model.config.num_attention_layers,
    )
    past = list(zip(keys, values, strict=True))

    def store(past: KV, keys: KVHeads, values: KVHeads) -> tuple[Array, Array, KV]:
        """Let new tokens attend to all tokens so far, themselves included."""
        keys = jnp.concatenate([past[0], keys], axis=1)
        values = jnp.concatenate([past[1], values], axis=1)
        return keys, values, (keys, values)

    for _ in range(model.config.num_recurrences):
        layers = past[len(present) :][:count]
        attends = [partial(model.attend, store=partial(store, kv)) for kv in layers]
        x, layer_states = model.run_blocks(x, context, attends)
        present += layer_states
    keys, values = (jnp.stack(part) for part in zip(*present, strict=True))
    return model.logits(x, tokens), places, keys, values


def followed(
    layout: Layout,
    tokens: Tokens,
    index: Int[Array, "batch time"],
    start: Int[Array, "#batch states"],
) -> tuple[TokenPositions, Int[Array, "batch time columns"]]:
    """Return the position of every token, and the same as columns; no token is padding.

    `start` is the state before the first token, then its coordinates. Columns are the index of each
    token, its role, the layout's state after it, and its coordinates.
    """
    follow = _summed if isinstance(layout, ProgramLayout) else _stepped
    state, role, coordinates = follow(layout.automaton, tokens, start)
    columns = jnp.concatenate([jnp.stack([index, role, state], axis=-1), coordinates], axis=-1)
    return TokenPositions(index, role, coordinates), columns


def _summed(
    automaton: Automaton, tokens: Tokens, start: Int[Array, "#batch states"]
) -> tuple[Array, Array, Array]:
    """As `_stepped`, for a single state: sum the offsets since the last home.

    As `Machine.positions`; a graph of any length has no running maximum, so the last home is found
    among all earlier tokens.
    """
    role, home, offset = (jnp.asarray(part[0])[tokens] for part in automaton[1:])
    local = jnp.cumsum(jnp.ones_like(tokens), axis=1) - 1
    earlier = local[:, None, :] <= local[:, :, None]
    homes = jnp.where(earlier[..., None] & home[:, None], local[:, None, :, None], -1)
    since, total = jnp.max(homes, axis=2), jnp.cumsum(offset, axis=1)
    before = jnp.take_along_axis(total - offset, jnp.maximum(since, 0), axis=1)
    position = total - jnp.where(since < 0, -start[:, None, 1:], before)
    return jnp.zeros_like(tokens), role, position


def _stepped(
    automaton: Automaton, tokens: Tokens, start: Int[Array, "#batch states"]
) -> tuple[Array, Array, Array]:
    """Return state, role and coordinates of every token, from first to last."""

    def step(state: Array, token: Array) -> tuple[Array, tuple[Array, Array, Array]]:
        state, role, coordinates = automaton.step(state, token)
        return state, (state[..., 0], role, coordinates)

    start = jnp.broadcast_to(start, (tokens.shape[0], start.shape[1]))
    states, roles, coordinates = jax.lax.scan(step, start, tokens.T)[1]
    return states.T, roles.T, jnp.swapaxes(coordinates, 0, 1)
