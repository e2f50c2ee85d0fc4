"""Logits after every token, and everything computed on the way, by name.

A *site* is a named value of the forward pass, such as `layer.0.attention.weights`. If the model has
several recurrences, names begin with `recurrence.R.`, except `embedding`, `final` and `logits`,
which exist once. `AXES` gives the axes of each kind of site.

    embedding            vectors of the tokens, with those of roles and positions if added
    layer.L.before       the state that a layer starts from, with the injected input
    layer.L.attention.queries, .keys, .values   as heads use them: rotated by the encoding, shared
                         keys and values repeated
    layer.L.attention.weights   the share of each key; under a window the remainder is attention to
                         absent neighbours
    layer.L.attention.heads     what each head adds to the state, after the out matrix
    layer.L.attention.output    their sum, plus the bias
    layer.L.middle       the state between attention and MLP
    layer.L.mlp.inner    the inner layer, after activation and gate
    layer.L.mlp.output   what the MLP adds to the state
    layer.L.after        the state after the layer, normalised if the norm stands there
    final                the input of the head
    logits               for what follows each token

So `after` is `before` + `attention.output` + `mlp.output`, unless a norm follows a sub-layer or
input is injected between the two. MLP-only layers have neither attention nor `middle`.
"""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from curta.layouts import ShapeBounds, TokenPositions
from curta.model.layers import Logits, Tap, Tokens, no_tap, prefixed
from curta.model.transformer import Transformer

_STATE = ("problem", "position", "feature")
_HEADS = ("problem", "position", "head", "feature")

AXES: dict[str, tuple[str, ...]] = {
    "embedding": _STATE,
    "before": _STATE,
    "attention.queries": _HEADS,
    "attention.keys": _HEADS,
    "attention.values": _HEADS,
    "attention.weights": ("problem", "head", "query", "key"),
    "attention.heads": _HEADS,
    "attention.output": _STATE,
    "middle": _STATE,
    "mlp.inner": ("problem", "position", "neuron"),
    "mlp.output": _STATE,
    "after": _STATE,
    "final": _STATE,
    "logits": ("problem", "position", "token"),
}
"""The axes of each kind of site, that is, of its name without recurrence and layer."""


def kind(site: str) -> str:
    """Return the kind of a site: its name without recurrence and layer.

    >>> kind("recurrence.0.layer.1.mlp.inner"), kind("final")
    ('mlp.inner', 'final')
    """
    return re.sub(r"^(recurrence\.\d+\.)?(layer\.\d+\.)?", "", site)


class SiteChange(NamedTuple):
    """Values to put at a site, where the mask is True; both broadcast to the shape of the site."""

    mask: Bool[Array | np.ndarray, "..."]
    values: Float[Array | np.ndarray, "..."]


def record_activations(
    model: Transformer,
    tokens: Tokens,
    where: TokenPositions,
    bounds: ShapeBounds,
    sites: Collection[str] | None = None,
    changes: Mapping[str, SiteChange] | None = None,
) -> dict[str, Array]:
    """Return the values at these sites (default: all), each with the axes of its kind.

    With `changes`, the values of a forward pass in which these sites are overwritten.
    """
    activations, changes = dict[str, Array](), changes or {}

    def tap(site: str, value: Array) -> Array:
        axes, full = AXES[kind(site)], value
        if "position" in axes:  # the model has batch and time as one axis
            full = value.reshape(*tokens.shape, *value.shape[value.ndim - len(axes) + 2 :])
        if site in changes:
            full = jnp.where(changes[site].mask, changes[site].values, full)
        if sites is None or site in sites:
            activations[site] = full
        return full.reshape(value.shape)

    all_logits(model, tokens, where, bounds, tap)
    return activations


def all_logits(
    model: Transformer,
    tokens: Tokens,
    where: TokenPositions,
    bounds: ShapeBounds,
    tap: Tap = no_tap,
) -> Logits:
    """Return logits after every token; the tap is called at every site on the way."""
    context = model.context(tokens, where, model.positions.index(where, bounds))
    context = context._replace(embedded=tap("embedding", context.embedded))
    x = model.initial_state(context.embedded)
    count = model.config.num_recurrences
    for number in range(count):
        recurrence_tap = prefixed(tap, f"recurrence.{number}.") if count > 1 else tap
        attends = [model.attend] * model.config.num_attention_layers
        x, _ = model.run_blocks(x, context, attends, recurrence_tap)
    return model.logits(x, tokens, tap)
