"""Numbers known up to a radius: what any calculation in single precision, or better, can give.

A ball is a midpoint and a radius, both in double precision. Each operation here yields a ball that
has the exact result for all numbers in its operands, and also every rounded one: the radius grows
by as many roundings as a sum of that length can have, in whatever order it is taken (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1). Exponentials, sines and
cosines count as right to FUNCTION units. What double precision rounds here is 2^-29 of a unit, so
one unit more than needed covers it.
Source: S. M. Rump, Fast and Parallel Interval Arithmetic, BIT 39, 1999 (midpoint and radius).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from curta.evaluation.rounding import FUNCTION, UNIT

UNDERFLOW = 2.0**-125
"""What is lost where a result is so small that it becomes zero, or has fewer digits."""

Numbers = Float[np.ndarray, "..."]


@dataclass(frozen=True, eq=False)
class Ball:
    """All numbers that are at most `radius` from `middle`."""

    middle: Numbers
    radius: Numbers

    @property
    def size(self) -> Numbers:
        """The largest absolute value."""
        return np.asarray(np.abs(self.middle) + self.radius)

    @property
    def T(self) -> "Ball":  # noqa: N802, as NumPy calls it
        return self.each(np.transpose)

    def __getitem__(self, where: Any) -> "Ball":
        return self.each(lambda part: part[where])

    def each(self, change: Callable[[Numbers], Numbers]) -> "Ball":
        """Middle and radius moved about alike."""
        return Ball(change(self.middle), change(self.radius))


def stacked(some: Sequence[Ball], axis: int = 0) -> Ball:
    """Balls side by side along a new axis."""
    middles, radii = [ball.middle for ball in some], [ball.radius for ball in some]
    return Ball(np.stack(middles, axis), np.stack(radii, axis))


def exact(values: Any) -> Ball:
    """Numbers without error, such as weights."""
    middle = np.asarray(values, np.float64)
    return Ball(middle, np.zeros_like(middle))


def units(roundings: int) -> float:
    """The relative error of so many roundings, and of one for the calculation here."""
    return (roundings + 1) * UNIT / (1 - (roundings + 1) * UNIT)


def rounded(ball: Ball, roundings: int = 1) -> Ball:
    """The same after roundings: 1 is off by 2^-23 after one."""
    return Ball(ball.middle, ball.radius + units(roundings) * ball.size + UNDERFLOW)


def added(*balls: Ball) -> Ball:
    """Their sum, in any order."""
    middle = sum(ball.middle for ball in balls)
    radius = sum(ball.radius + units(len(balls)) * ball.size for ball in balls)
    return Ball(np.asarray(middle), np.asarray(radius))


def scaled(x: Ball, y: Ball) -> Ball:
    """Number by number, one rounding each."""
    radius = np.abs(x.middle) * y.radius + x.radius * y.size
    return rounded(Ball(x.middle * y.middle, radius))


def product(x: Ball, y: Ball) -> Ball:
    """The matrix product, its sums taken in any order."""
    radius = np.abs(x.middle) @ y.radius + x.radius @ y.size
    terms = x.middle.shape[-1]
    radius = radius + units(terms) * (x.size @ y.size) + terms * UNDERFLOW
    return Ball(x.middle @ y.middle, radius)


def wave(x: Ball, function: Callable[[Numbers], Numbers]) -> Ball:
    """`np.sin` or `np.cos`: their slope is 1 at most."""
    middle = function(x.middle)
    return Ball(middle, x.radius + units(FUNCTION))


def softmax(scores: Ball) -> Ball:
    """Shares along the last axis: the least is that of least weights among the largest others."""
    shifted = added(scores, exact(-scores.middle.max(axis=-1, keepdims=True)))
    weights, keys = np.exp(shifted.middle), units(scores.middle.shape[-1])
    more = np.exp(shifted.radius) * (1 + units(FUNCTION))
    high, low = weights * more + UNDERFLOW, np.maximum(weights / more - UNDERFLOW, 0.0)
    top = high / (low.sum(axis=-1, keepdims=True) * (1 - keys))
    bottom = low / (high.sum(axis=-1, keepdims=True) * (1 + keys))
    return rounded(Ball((top + bottom) / 2, (top - bottom) / 2))
