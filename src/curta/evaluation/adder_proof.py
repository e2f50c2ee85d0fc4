"""A proof that a model adds every two numbers of ten digits, or a sum that it gets wrong.

For models of layout `columns` with one block whose queries and keys are made of positions alone:
attention weights are then constants, and the state at an answer digit is a sum of one vector for
each digit of the text, which depends on that digit alone. Column by column, the digits that matter
are enumerated: those of the column that is written, then of those beside it with the largest
weight. All other columns count as a ball that holds whatever their digits are. Whether a carry
comes into an enumerated column is enumerated too, so that neighbours fit; any two carries around a
column that is not enumerated are those of some digits in it. The ball goes through the
feed-forward, whose activation is enclosed between two parallel lines, and the right token's logit
must exceed each other one's. Cases in which it does not are divided further, by the digits of one
more column.

True digits before each answer digit give the right one, so by induction greedy decoding gives all.
Everything is calculated on balls, which hold what rounding can change: the proof holds for single
precision, in any order of summation, and for anything more exact.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.config.errors import UserError
from curta.evaluation.rounding import FUNCTION, UNIT
from curta.layouts.columns import DIGITS, OPERAND, ColumnsLayout
from curta.model.positions.vectors import CoupledSinusoidalEncoding
from curta.model.transformer import Transformer
from curta.problems.problem import Problem

Numbers = Float[np.ndarray, "..."]

UNDERFLOW = 2.0**-125
"""What is lost where a result is so small that it becomes zero, or has fewer digits."""

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
"""Settings of the models that have a proof."""

PAIRS = np.array(list(combinations_with_replacement(range(10), 2)))
"""Digits of a column, in whatever order: both operands' have the same weight."""

OPEN = -1
"""A carry that may be there or not."""

TOGETHER = 5_000
"""Cases that are looked at, and divided, at once."""

CASES = 20_000_000
"""Proved cases of one answer digit after which the proof is given up: some minutes."""


@dataclass(frozen=True, eq=False)
class Ball:
    """All numbers that are at most `radius` from `middle`, both in double precision.

    Each operation yields a ball that has the exact result for all numbers in its operands, and
    also every rounded one: the radius grows by as many roundings as a sum of that length can have,
    in whatever order it is taken (Higham, Accuracy and Stability of Numerical Algorithms, section
    3.1). Exponentials, sines and cosines count as right to FUNCTION units. What double precision
    rounds here is 2^-29 of a unit, so one unit more than needed covers it.
    Source: S. M. Rump, Fast and Parallel Interval Arithmetic, BIT 39, 1999 (midpoint and radius).
    """

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


class AdderParts(NamedTuple):
    """Matrices of a model, as balls."""

    characters: Ball  # tokens width
    head: Ball  # width tokens
    passed: Ball  # heads tokens width: what a head hands on of a token that it sees alone
    positions: Ball  # columns width: of columns -1 to 10
    attention: Matrices


def parts_of(model: Transformer) -> AdderParts:
    """Return the parts of a model; UserError for one of another design, or of other texts."""
    if not isinstance(model.layout, ColumnsLayout):
        raise UserError(f"no proof for {model.layout.title}: it needs layout 'columns'")
    if not isinstance(model.positions, CoupledSinusoidalEncoding):
        raise UserError("no proof for these positions: it needs 'coupled-sinusoidal'")
    for field, needed in NEEDED.items():
        if (value := getattr(model.config, field)) != needed:
            raise UserError(f"no proof for model.{field} {value!r}: it needs {needed!r}")
    if model.config.activation not in ("relu", "relu2"):
        raise UserError(f"no proof for model.activation {model.config.activation!r}")
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
    return AdderParts(characters, head, stacked(passed), _positions(model), layer)


def digit_vectors(model: Transformer, parts: AdderParts, place: int) -> Vectors:
    """What digits add to the state at the answer digit of this place."""
    columns = np.r_[np.arange(OPERAND), np.arange(OPERAND), np.arange(place + 1)]
    weights = _weights(model, parts, columns, place)
    each = [_handed(weights[:, key], parts.passed) for key in range(len(columns))]
    first, second, equals = each[:OPERAND], each[OPERAND : 2 * OPERAND], each[2 * OPERAND]
    answer = each[2 * OPERAND + 1 :] + [exact(np.zeros_like(equals.middle))] * (DIGITS - place)
    zeros = [one[0] for one in (first[0], first[-1], second[0], second[-1], equals)]
    if place:
        answer[place - 1] = added(answer[place - 1], parts.characters)
    else:
        zeros.append(parts.characters[0])
    always = added(*zeros)
    return Vectors(
        stacked(first[1:-1]),
        stacked(answer),
        Ball(always.middle, always.radius + _association(each, parts)),
    )


def _handed(weights: Ball, passed: Ball) -> Ball:
    """What all heads hand on of each token, seen with these weights."""
    return added(*(scaled(weights[[head]], passed[head]) for head in range(len(weights.middle))))


def _association(each: list[Ball], parts: AdderParts) -> np.ndarray:
    """How far sums may be off that are taken in another order than here: first over keys."""
    sizes = sum(one.size.max(axis=0) for one in each) + parts.characters.size.max(axis=0)
    return np.asarray(units(len(each) + 4 * parts.head.middle.shape[0] + 8) * sizes)


def _weights(model: Transformer, parts: AdderParts, columns: np.ndarray, place: int) -> Ball:
    """The weight that each head gives each key, heads by keys; the query is the last of them."""
    config, positions = model.config, parts.positions
    query = product(positions[[place]], parts.attention.query)
    keys = product(positions[columns], parts.attention.key)
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
    angles = scaled(exact(np.arange(-1, OPERAND - 1)[:, None]), frequencies)
    pairs = stacked([wave(angles, np.sin), wave(angles, np.cos)], axis=-1)
    return pairs.each(lambda part: part.reshape(OPERAND, -1))


def _characters(model: Transformer) -> Ball:
    """The vector of each token."""
    if model.config.embedding == "table":
        return exact(model.tokens)
    radius, start, step = (exact([value]) for value in model.tokens)
    angles = added(start, scaled(step, exact(np.arange(len(model.layout.characters)))))
    waves = stacked([wave(angles, np.cos), wave(angles, np.sin)])
    return scaled(radius, waves.T)


class Feedforward(NamedTuple):
    """All that comes after attention.

    The activation is convex: over an interval it lies between its chord and the tangent of the
    same slope. So each margin lies between two affine functions of the state, whose extremes over
    a ball are plain sums.
    Source: the chord and tangent of Zhang et al., CROWN, arXiv 1811.00866, here with one slope.
    """

    up: Numbers  # width hidden
    down: Numbers  # hidden width
    logits: Ball  # width tokens: the head
    squared: bool

    @classmethod
    def of(cls, model: Transformer, parts: AdderParts) -> "Feedforward":
        up, down = (np.asarray(one[0], np.float64) for one in (model.mlp.up, model.mlp.down))
        return cls(up, down, parts.head, model.config.activation == "relu2")

    def activate(self, x: Numbers) -> Numbers:
        x = np.maximum(x, 0.0)
        return np.square(x) if self.squared else x


class ActivationLines(NamedTuple):
    """`slope x + offset`, give or take `error`, is the activation; `most` is its largest value."""

    slope: Numbers
    offset: Numbers
    error: Numbers
    most: Numbers


def margins(
    after: Feedforward, state: Ball, target: Int[np.ndarray, " cases"]
) -> tuple[Float[np.ndarray, " cases"], Float[np.ndarray, " cases"]]:
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


def enclosed(after: Feedforward, state: Ball) -> ActivationLines:
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
    return ActivationLines(slope, (top + below) / 2, (top - below) / 2 + rounding, most)


def _rounding(
    after: Feedforward, state: Ball, lines: ActivationLines, target: Int[np.ndarray, " cases"]
) -> Float[np.ndarray, "cases tokens"]:
    """How far rounding after the activation can move each margin."""
    size = state.size + lines.most @ np.abs(after.down)
    roundings = sum(after.down.shape) + 4
    moved = size @ (units(roundings) * after.logits.size + after.logits.radius)
    return np.asarray(moved + moved[np.arange(len(target)), target][:, None])


@dataclass(frozen=True)
class EverySumProof:
    """What the proof found: "proved", "wrong", or "open".

    `margin` is the least that the right token's logit is certain to exceed all others by, in so
    many `cases` that were told apart. `problem` is a sum that is wrong in any precision, or where
    the grade is open the one in most doubt: a case that rounding in single precision may decide.
    """

    grade: str
    margin: float
    cases: int
    problem: str | None = None


class Cases(NamedTuple):
    """Some columns' digits, the sum of all that they add to the state, and what should follow.

    `carry` is what comes into each column, and out of the last one; OPEN where no digit says it.
    Digits of `unknown` columns are not chosen yet, and zeros here.
    """

    digits: Int[np.ndarray, "cases 2 columns"]
    carry: Int[np.ndarray, "cases borders"]
    target: Int[np.ndarray, " cases"]
    state: Ball
    unknown: frozenset[int]

    def only(self, which: Any) -> "Cases":
        """Those of a mask, of indices, or of a slice."""
        names = ("digits", "carry", "target", "state")
        return self._replace(**{name: getattr(self, name)[which] for name in names})


def every_sum(model: Transformer) -> EverySumProof:
    """Whether the model adds every two numbers; UserError for a model of another design."""
    parts, margin, cases = parts_of(model), np.inf, 0
    after = Feedforward.of(model, parts)
    for place in range(DIGITS + 1):
        one = _digit(digit_vectors(model, parts, place), after, place)
        margin, cases = min(margin, one.margin), cases + one.cases
        if one.grade != "proved":
            return EverySumProof(one.grade, margin, cases, one.problem)
    return EverySumProof("proved", margin, cases)


def _digit(vectors: Vectors, after: Feedforward, place: int) -> EverySumProof:
    """The same for the answer's digit of one place."""
    todo, least, count = [_first(vectors, place)], np.inf, 0
    while todo:
        cases = todo.pop()
        if len(cases.target) > TOGETHER:
            todo += [cases.only(slice(TOGETHER)), cases.only(slice(TOGETHER, None))]
            continue
        sure, possible = margins(after, _state(vectors, cases), cases.target)
        if (wrong := possible < 0).any():
            return EverySumProof("wrong", least, count, _problem(cases.only(wrong)))
        least = min(least, float(sure.min(initial=np.inf, where=sure > 0)))
        count += int((sure > 0).sum())
        if (sure > 0).all():
            continue
        if not cases.unknown or count > CASES:
            doubtful = cases.only([int((sure + possible).argmin())])
            return EverySumProof("open", least, count, _problem(doubtful))
        todo.append(_divided(vectors, cases.only(sure <= 0), place))
    return EverySumProof("proved", least, count)


def _divided(vectors: Vectors, cases: Cases, place: int) -> Cases:
    """Each case with all digits of the column that leaves most open."""
    column = max(cases.unknown, key=lambda one: _any(vectors, one).radius.sum())
    if column > place:  # its carries do not matter
        old, pair = (part.ravel() for part in np.indices((len(cases.target), len(PAIRS))))
        return _with(vectors, column, cases.only(old), PAIRS[pair])
    more, total = _columns(vectors, column, cases)
    return more._replace(state=added(more.state, vectors.answer[column, total % 10]))


def _state(vectors: Vectors, cases: Cases) -> Ball:
    """A ball around the state of each case, whatever the other digits are."""
    return added(cases.state, *(_any(vectors, column) for column in cases.unknown))


def _first(vectors: Vectors, place: int) -> Cases:
    """The cases of the column that is written: its digits, and whether a carry comes in."""
    digits, carry = np.zeros((1, 2, DIGITS), np.int8), np.full((1, DIGITS + 1), OPEN, np.int8)
    carry[:, 0] = 0
    everything = frozenset(range(DIGITS))
    cases = Cases(digits, carry, np.zeros(1, int), vectors.always[None], everything)
    if place == DIGITS:
        cases = cases.only([0, 0])
        cases.carry[:, place] = cases.target[:] = 0, 1
        return cases
    cases, total = _columns(vectors, place, cases)
    return cases._replace(target=total % 10)


def _columns(
    vectors: Vectors, column: int, cases: Cases
) -> tuple[Cases, Int[np.ndarray, " cases"]]:
    """Each case with all digits of a column and a carry that fit its neighbours; their totals."""
    shape = (len(cases.target), len(PAIRS), 2)
    old, pair, carry = (part.ravel() for part in np.indices(shape))
    total = PAIRS[pair].sum(axis=1) + carry
    borders = cases.carry[old, column : column + 2]
    fits = ((borders == OPEN) | (borders == np.stack([carry, total // 10], axis=1))).all(axis=1)
    old, pair, carry, total = (part[fits] for part in (old, pair, carry, total))
    more = _with(vectors, column, cases.only(old), PAIRS[pair])
    more.carry[:, column], more.carry[:, column + 1] = carry, total // 10
    return more, total


def _with(vectors: Vectors, column: int, cases: Cases, pairs: Int[np.ndarray, "cases 2"]) -> Cases:
    """The cases with these digits of the operands in a column."""
    digits = cases.digits.copy()
    digits[:, :, column] = pairs
    both = (vectors.operand[column, pairs[:, operand]] for operand in (0, 1))
    state = added(cases.state, *both)
    return cases._replace(digits=digits, state=state, unknown=cases.unknown - {column})


def _any(vectors: Vectors, column: int) -> Ball:
    """Twice any digit of an operand, and any of the answer."""
    operand = _hull(vectors.operand[column])
    return added(operand, operand, _hull(vectors.answer[column]))


def _hull(some: Ball) -> Ball:
    """One ball around all rows."""
    low, high = (some.middle - some.radius).min(axis=0), (some.middle + some.radius).max(axis=0)
    return Ball((low + high) / 2, (high - low) / 2)


def _problem(cases: Cases) -> str:
    """A sum that belongs to the first case: 99 + 90 where a carry must come out of column 0."""
    digits, carry = cases.digits[0].copy(), cases.carry[0]
    for column in cases.unknown:
        digits[:, column] = 9 if carry[column + 1] == 1 else 0
    first, second = (sum(int(d) * 10**n for n, d in enumerate(row)) for row in digits)
    return str(Problem("+", (first, second)))
