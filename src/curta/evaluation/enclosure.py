"""Bounds on a feed-forward's margins over balls of states.

The activation is convex: over an interval it lies between its chord and the tangent of the same
slope. So each margin lies between two affine functions of the state, whose extremes over a ball
are plain sums.
Source: the chord and tangent of Zhang et al., CROWN, arXiv 1811.00866, here with one slope.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.evaluation.balls import Ball, Numbers, exact, product, units
from curta.evaluation.constant_attention import Parts
from curta.model.transformer import Transformer

Margins = Float[np.ndarray, " cases"]


class Feedforward(NamedTuple):
    """All that comes after attention."""

    up: Numbers  # width hidden
    down: Numbers  # hidden width
    logits: Ball  # width tokens: the head
    squared: bool

    @classmethod
    def of(cls, model: Transformer, parts: Parts) -> "Feedforward":
        up, down = (np.asarray(one[0], np.float64) for one in (model.mlp.up, model.mlp.down))
        return cls(up, down, parts.head, model.config.activation == "relu2")

    def activate(self, x: Numbers) -> Numbers:
        x = np.maximum(x, 0.0)
        return np.square(x) if self.squared else x


class Lines(NamedTuple):
    """`slope x + offset`, give or take `error`, is the activation; `most` is its largest value."""

    slope: Numbers
    offset: Numbers
    error: Numbers
    most: Numbers


def margins(
    after: Feedforward, state: Ball, target: Int[np.ndarray, " cases"]
) -> tuple[Margins, Margins]:
    """What the target's logit exceeds each other one's by at least, and by at most.

    Of the other tokens the nearest counts: where the second number is below zero, another token
    is likelier for every state of the ball.
    """
    lines, logits = enclosed(after, state), after.logits.middle.T
    wanted = logits[target][:, None] - logits  # cases tokens width
    down = wanted @ after.down.T  # cases tokens hidden
    slope = wanted + (down * lines.slope[:, None]) @ after.up.T
    middle = slope @ state.middle[..., None] + down @ lines.offset[..., None]
    radius = np.abs(slope) @ state.radius[..., None] + np.abs(down) @ lines.error[..., None]
    radius = radius[..., 0] + _rounding(after, state, lines, target)
    sure, possible = middle[..., 0] - radius, middle[..., 0] + radius
    for bound in (sure, possible):
        bound[np.arange(len(target)), target] = np.inf  # a token is no rival of itself
    return sure.min(axis=1), possible.min(axis=1)


def enclosed(after: Feedforward, state: Ball) -> Lines:
    """Lines around the activation of each hidden unit; what is rounded there is in the error.

    A convex function less a line is largest at an end of the interval, and least where its slope
    is that of the line.
    """
    inner = product(state, exact(after.up))
    low, high = inner.middle - inner.radius, inner.middle + inner.radius
    rise = after.activate(high) - after.activate(low)
    slope = np.divide(rise, high - low, out=np.zeros_like(rise), where=high > low)
    turn = np.clip(slope / 2 if after.squared else 0.0, low, high)
    below, *above = (after.activate(x) - slope * x for x in (turn, low, high))
    top, most = np.maximum(*above), after.activate(high)
    rounding = units(len(after.up)) * slope * (state.size @ np.abs(after.up)) + units(3) * most
    return Lines(slope, (top + below) / 2, (top - below) / 2 + rounding, most)


def _rounding(
    after: Feedforward, state: Ball, lines: Lines, target: Int[np.ndarray, " cases"]
) -> Float[np.ndarray, "cases tokens"]:
    """How far rounding after the activation can move each margin."""
    size = state.size + lines.most @ np.abs(after.down)
    roundings = sum(after.down.shape) + 4
    moved = size @ (units(roundings) * after.logits.size + after.logits.radius)
    return np.asarray(moved + moved[np.arange(len(target)), target][:, None])
