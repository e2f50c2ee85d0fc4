"""What each digit of a sum adds to the state at each answer digit, where attention is constant.

For models of layout `columns` with one block, whose queries and keys are made of positions alone.
Everything is a ball (`balls`), so that what a calculation in single precision rounds is in it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from curta.config.errors import UserError
from curta.evaluation.balls import (
    Ball,
    added,
    exact,
    product,
    rounded,
    scaled,
    softmax,
    stacked,
    units,
    wave,
)
from curta.layouts.columns import DIGITS, WRITTEN, Columns
from curta.model.positions.coupled_sinusoidal import CoupledSinusoidalEncoding
from curta.model.transformer import Transformer

NEEDED = {
    "qk_input": "positions",
    "norm": "none",
    "norm_placement": "pre",
    "biases": (),
    "tied_scale": True,
    "num_layers": 1,
    "num_attention_layers": 1,
    "num_recurrences": 1,
    "input_injection": "none",
    "gated": False,
    "causal": True,
    "role_embeddings": False,
}
"""Settings of the models that are known here."""

ACTIVATIONS = ("relu", "relu2")


class Vectors(NamedTuple):
    """What digits add to the state at one answer digit, by column; units come first.

    An operand's digit adds the same whichever operand it is in. `always` is what is the same in
    all sums.
    """

    operand: Ball  # columns tokens width
    answer: Ball  # columns tokens width
    always: Ball  # width


class Matrices(NamedTuple):
    """Of the one attention layer, also those that follow from others."""

    query: Ball  # width width
    key: Ball  # width kv_width
    value: Ball  # width kv_width
    out: Ball  # width width


class Parts(NamedTuple):
    """Matrices of a model, as balls."""

    characters: Ball  # tokens width
    head: Ball  # width tokens
    passed: Ball  # heads tokens width: what a head hands on of a token that it sees alone
    positions: Ball  # columns width: of columns -1 to 10
    attention: Matrices


def refuse(model: Transformer) -> None:
    """Raises UserError for a model of another design, or of other texts."""
    if not isinstance(model.layout, Columns):
        raise UserError(f"no proof for {model.layout.title}: it needs layout 'columns'")
    if not isinstance(model.positions, CoupledSinusoidalEncoding):
        raise UserError("no proof for these positions: it needs 'coupled-sinusoidal'")
    for field, value in NEEDED.items():
        if (found := getattr(model.config, field)) != value:
            raise UserError(f"no proof for model.{field} {found!r}: it needs {value!r}")
    if model.config.activation not in ACTIVATIONS:
        raise UserError(f"no proof for model.activation {model.config.activation!r}")


def parts(model: Transformer) -> Parts:
    """The parts of a model; UserError for one that is not known here."""
    refuse(model)
    characters, layer, config = _characters(model), _matrices(model), model.config
    values = product(characters, layer.value)
    features = [slice(n, n + config.head_dim) for n in range(0, config.width, config.head_dim)]
    shared = [features[n * config.kv_heads // config.heads] for n in range(config.heads)]
    passed = [
        product(values[:, mine], layer.out[own]) for mine, own in zip(shared, features, strict=True)
    ]
    scale = rounded(exact([config.width**-0.5]))
    tied = scaled(characters.T, scale)
    head = tied if model.head is None else exact(model.head)
    return Parts(characters, head, stacked(passed), _positions(model), layer)


def vectors(model: Transformer, found: Parts, place: int) -> Vectors:
    """What digits add to the state at the answer digit of this place."""
    columns = np.r_[np.arange(WRITTEN), np.arange(WRITTEN), np.arange(place + 1)]
    weights = _weights(model, found, columns, place)
    each = [_handed(weights[:, key], found.passed) for key in range(len(columns))]
    first, second, equals = each[:WRITTEN], each[WRITTEN : 2 * WRITTEN], each[2 * WRITTEN]
    answer = each[2 * WRITTEN + 1 :] + [exact(np.zeros_like(equals.middle))] * (DIGITS - place)
    zeros = [one[0] for one in (first[0], first[-1], second[0], second[-1], equals)]
    if place:
        answer[place - 1] = added(answer[place - 1], found.characters)
    else:
        zeros.append(found.characters[0])
    always = added(*zeros)
    return Vectors(
        stacked(first[1:-1]),
        stacked(answer),
        Ball(always.middle, always.radius + _association(each, found)),
    )


def _handed(weights: Ball, passed: Ball) -> Ball:
    """What all heads hand on of each token, seen with these weights."""
    return added(*(scaled(weights[[head]], passed[head]) for head in range(len(weights.middle))))


def _association(each: list[Ball], found: Parts) -> np.ndarray:
    """How far sums may be off that are taken in another order than here: first over keys."""
    sizes = sum(one.size.max(axis=0) for one in each) + found.characters.size.max(axis=0)
    return np.asarray(units(len(each) + 4 * found.head.middle.shape[0] + 8) * sizes)


def _weights(model: Transformer, found: Parts, columns: np.ndarray, place: int) -> Ball:
    """The weight that each head gives each key, heads by keys; the query is the last of them."""
    config, positions = model.config, found.positions
    query = product(positions[[place]], found.attention.query)
    keys = product(positions[columns], found.attention.key)
    factor = rounded(exact([config.head_dim**-0.5 if config.attention_scale else 1.0]), 3)
    weights = []
    for head in range(config.heads):
        mine = slice(head * config.head_dim, (head + 1) * config.head_dim)
        shared = head * config.kv_heads // config.heads * config.head_dim
        own = keys[:, shared : shared + config.head_dim]
        scores = product(query[:, mine], own.T)
        weights.append(softmax(scaled(scores, factor))[0])
    return stacked(weights)


def _matrices(model: Transformer) -> Matrices:
    """As `sharing.unshared` writes them out, with what rounding can change of a turned key."""
    layer = model.attention
    query = exact(layer.query[0])
    key = _turned(query, layer.turn) if layer.key is None else exact(layer.key[0])
    value = key if layer.value is None else exact(layer.value[0])
    minus = Ball(-value.middle, value.radius)
    leaves = minus if "out-value" in model.config.weight_sharing else query
    return Matrices(query, key, value, leaves.T if layer.out is None else exact(layer.out[0]))


def _turned(query: Ball, turn: Any) -> Ball:
    """Every pair of features by the block's angle."""
    cos, sin = (wave(exact(turn[0]), function) for function in (np.cos, np.sin))
    first, second = query[:, ::2], query[:, 1::2]
    minus = Ball(-sin.middle, sin.radius)
    both = (
        added(scaled(first, cos), scaled(second, minus)),
        added(scaled(first, sin), scaled(second, cos)),
    )
    return stacked(both, axis=-1).each(lambda part: part.reshape(query.middle.shape))


def _positions(model: Transformer) -> Ball:
    """The vectors of columns -1 to 10, as the encoding's `embed` has them."""
    assert isinstance(model.positions, CoupledSinusoidalEncoding)
    harmonics = np.arange(1, model.config.width // 2 + 1)
    frequencies = rounded(exact(harmonics * (2 * math.pi / model.positions.period)), 2)
    angles = scaled(exact(np.arange(-1, WRITTEN - 1)[:, None]), frequencies)
    pairs = stacked([wave(angles, np.sin), wave(angles, np.cos)], axis=-1)
    return pairs.each(lambda part: part.reshape(WRITTEN, -1))


def _characters(model: Transformer) -> Ball:
    """The vector of each token."""
    if model.config.embedding == "table":
        return exact(model.tokens)
    radius, start, step = (exact([value]) for value in model.tokens)
    angles = added(start, scaled(step, exact(np.arange(len(model.layout.characters)))))
    waves = stacked([wave(angles, np.cos), wave(angles, np.sin)])
    return scaled(radius, waves.T)
