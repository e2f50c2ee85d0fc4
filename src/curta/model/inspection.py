"""Looking inside: logits after every token, and what is calculated on the way, by name.

A *site* is a named value of the forward pass, such as `layer.0.attention.weights`. Those of a
model with several recurrences begin with `recurrence.R.`; `embedding`, `final` and `logits` are
there once. `AXES` says what the rest of a name stands for.

    embedding            vectors of the tokens; those of roles and positions, where added, included
    layer.L.before       the state that a layer begins with, the injected input added
    layer.L.attention.queries, .keys, .values   as heads use them: turned by the encoding, shared
                         keys and values repeated
    layer.L.attention.weights   the share of each key; what lacks to 1 under a window goes to
                         neighbours that are not there
    layer.L.attention.heads     what each head adds to the state, after the out matrix
    layer.L.attention.output    their sum, and the bias
    layer.L.middle       the state between attention and MLP
    layer.L.mlp.inner    the inner layer, after activation and gate
    layer.L.mlp.output   what the MLP adds to the state
    layer.L.after        the state after the layer, normalised where the norm stands there
    final                the last state as the head is given it
    logits               for what follows each token

So `after` is `before` + `attention.output` + `mlp.output`, where no norm stands after a sub-layer
and no input is injected between the two. MLP-only layers have neither attention nor `middle`.
"""

import re
from collections.abc import Collection, Mapping
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from curta.layouts import ShapeBounds, TokenPositions
from curta.model.layers import Logits, Tap, Tokens, below, untouched
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
"""The axes of every kind of site: of its name without recurrence and layer."""


def kind(site: str) -> str:
    """What a site is, wherever it stands.

    >>> kind("recurrence.0.layer.1.mlp.inner"), kind("final")
    ('mlp.inner', 'final')
    """
    return re.sub(r"^(recurrence\.\d+\.)?(layer\.\d+\.)?", "", site)


class Change(NamedTuple):
    """What stands in place of a site's value, and where; both broadcast to its shape."""

    mask: Bool[Array | np.ndarray, "..."]
    values: Float[Array | np.ndarray, "..."]


def recorded(
    model: Transformer,
    tokens: Tokens,
    where: TokenPositions,
    bounds: ShapeBounds,
    sites: Collection[str] | None = None,
    changes: Mapping[str, Change] | None = None,
) -> dict[str, Array]:
    """The values of these sites, by default of all, each with the axes of its kind.

    With changes, as they are when other values stand in these sites' place.
    """
    found, changed = dict[str, Array](), changes or {}

    def tap(site: str, value: Array) -> Array:
        whole = _whole(site, value, tokens.shape)
        if site in changed:
            whole = jnp.where(changed[site].mask, changed[site].values, whole)
        if sites is None or site in sites:
            found[site] = whole
        return whole.reshape(value.shape)

    all_logits(model, tokens, where, bounds, tap)
    return found


def _whole(site: str, value: Array, shape: tuple[int, ...]) -> Array:
    """A site's value with a batch and a time axis, where it has the two as one."""
    axes = AXES[kind(site)]
    if "position" not in axes:
        return value
    return value.reshape(*shape, *value.shape[value.ndim - len(axes) + 2 :])


def all_logits(
    model: Transformer,
    tokens: Tokens,
    where: TokenPositions,
    bounds: ShapeBounds,
    tap: Tap = untouched,
) -> Logits:
    """Logits for what follows every token; the tap is given every site on the way."""
    context = model.context(tokens, where, model.positions.index(where, bounds))
    context = context._replace(entry=tap("embedding", context.entry))
    x = model.begin(context.entry)
    count = model.config.num_recurrences
    for number in range(count):
        here = below(tap, f"recurrence.{number}.") if count > 1 else tap
        attends = [
            partial(model.attend, tap=below(here, f"layer.{layer}."))
            for layer in range(model.config.num_attention_layers)
        ]
        x, _ = model.in_turn(x, context, attends, here)
    return model.logits(x, tokens, tap)
