"""A proof that a model adds every two numbers of ten digits, or a sum that it gets wrong.

    curta probe RUN docs/adderboard_proof.py

It covers models of layout `columns` with one block whose queries and keys depend on positions
alone. Their attention weights are constants, and the state at an answer digit is a sum of one
vector per digit of the text, which depends on that digit alone. For each answer digit, the digits
that matter are enumerated column by column: first the column that is written, then the columns
with the largest weight. All other columns count as a ball that contains their vectors for any
digits. Whether a carry enters an enumerated column is enumerated too, so that neighbours fit; any
two carries around another column occur for some digits in it. The ball goes through the
feed-forward, whose activation is enclosed between two parallel lines, and the right token's logit
must exceed every other logit. Cases in which it does not are split by the digits of one more
column.

True digits before each answer digit yield the right digit, so by induction greedy decoding writes
the whole sum. All numbers are balls that include rounding errors: the proof holds for single
precision, in any order of summation, and for any more exact arithmetic.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar, NamedTuple

import numpy as np

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.evaluation.rounding import FUNCTION, UNIT
from curta.export.adderboard import COLUMNS
from curta.layouts.direct import ColumnsLayout
from curta.model.positions.vectors import CoupledSinusoidalEncoding
from curta.model.transformer import Transformer
from curta.model.weights import unshared
from curta.probes.base import Finding, Probe, Row
from curta.probes.subject import Subject
from curta.problems.problem import Problem

DIGITS, OPERAND = ColumnsLayout.width, ColumnsLayout.operand

UNDERFLOW = 2.0**-125
"""Absolute error where a result is so small that it underflows."""

PAIRS = np.array(list(combinations_with_replacement(range(10), 2)))
"""Unordered digits of a column: both operands have the same weight."""

OPEN = -1
"""A carry that may be 0 or 1."""

TOGETHER = 5_000
"""Cases that are checked and split at once."""

CASES = 20_000_000
"""Proved cases of one answer digit after which the proof stops, some minutes."""


@dataclass(frozen=True, eq=False)
class Ball:
    """All numbers that are at most `radius` from `middle`, both in double precision.

    Each operation returns a ball with the exact result for all numbers in its operands and every
    rounded result: the radius grows by as many roundings as a sum of that length can have, in any
    order (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). Exponentials, sines
    and cosines count as accurate to FUNCTION units. Rounding in double precision is 2^-29 of a
    unit, which one extra unit covers.
    Source: S. M. Rump, Fast and Parallel Interval Arithmetic, BIT 39, 1999 (midpoint and radius).
    """

    middle: np.ndarray
    radius: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """The largest absolute value."""
        return np.asarray(np.abs(self.middle) + self.radius)

    @property
    def T(self) -> "Ball":  # noqa: N802, as NumPy calls it
        return self.each(np.transpose)

    def __getitem__(self, where: Any) -> "Ball":
        return self.each(lambda array: array[where])

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> "Ball":
        """Return the ball with the same change of shape for middle and radius."""
        return Ball(change(self.middle), change(self.radius))


def stacked(some: Sequence[Ball], axis: int = 0) -> Ball:
    """Return balls side by side along a new axis."""
    middles, radii = [ball.middle for ball in some], [ball.radius for ball in some]
    return Ball(np.stack(middles, axis), np.stack(radii, axis))


def exact(values: Any) -> Ball:
    """Return numbers without error, such as weights."""
    middle = np.asarray(values, np.float64)
    return Ball(middle, np.zeros_like(middle))


def units(roundings: int) -> float:
    """Return the relative error of so many roundings, and of one for the calculation here."""
    return (roundings + 1) * UNIT / (1 - (roundings + 1) * UNIT)


def rounded(ball: Ball, roundings: int = 1) -> Ball:
    """Return the ball after so many roundings: 1 has radius 2^-23 after one."""
    return Ball(ball.middle, ball.radius + units(roundings) * ball.size + UNDERFLOW)


def added(*balls: Ball) -> Ball:
    """Return the sum, in any order."""
    middle = sum(ball.middle for ball in balls)
    radius = sum(ball.radius + units(len(balls)) * ball.size for ball in balls)
    return Ball(np.asarray(middle), np.asarray(radius))


def scaled(x: Ball, y: Ball) -> Ball:
    """Return the elementwise product, with one rounding each."""
    radius = np.abs(x.middle) * y.radius + x.radius * y.size
    return rounded(Ball(x.middle * y.middle, radius))


def product(x: Ball, y: Ball) -> Ball:
    """Return the matrix product, with sums in any order."""
    radius = np.abs(x.middle) @ y.radius + x.radius @ y.size
    terms = x.middle.shape[-1]
    radius = radius + units(terms) * (x.size @ y.size) + terms * UNDERFLOW
    return Ball(x.middle @ y.middle, radius)


def wave(x: Ball, function: Callable[[np.ndarray], np.ndarray]) -> Ball:
    """Return `np.sin` or `np.cos` of a ball; their slope is at most 1."""
    middle = function(x.middle)
    return Ball(middle, x.radius + units(FUNCTION))


def softmax(scores: Ball) -> Ball:
    """Return the softmax along the last axis, between its least and greatest possible values."""
    shifted = added(scores, exact(-scores.middle.max(axis=-1, keepdims=True)))
    weights, keys = np.exp(shifted.middle), units(scores.middle.shape[-1])
    more = np.exp(shifted.radius) * (1 + units(FUNCTION))
    high, low = weights * more + UNDERFLOW, np.maximum(weights / more - UNDERFLOW, 0.0)
    top = high / (low.sum(axis=-1, keepdims=True) * (1 - keys))
    bottom = low / (high.sum(axis=-1, keepdims=True) * (1 + keys))
    return rounded(Ball((top + bottom) / 2, (top - bottom) / 2))


class DigitVectors(NamedTuple):
    """What digits add to the state at one answer digit, by column, lowest column first.

    A digit adds the same in either operand. `always` is common to all sums.
    """

    operand: Ball  # columns tokens width
    answer: Ball  # columns tokens width
    always: Ball  # width


class AdderMatrices(NamedTuple):
    """The matrices of a model, as balls."""

    characters: Ball  # tokens width
    head: Ball  # width tokens
    passed: Ball  # heads tokens width: what a head hands on of a token that it sees alone
    positions: Ball  # columns width: of columns -1 to 10
    query: Ball  # width width
    key: Ball  # width kv_width


def matrices_of(model: Transformer) -> AdderMatrices:
    """Return the parts of a model; UserError for a model of another design or layout."""
    if not isinstance(model.layout, ColumnsLayout):
        raise UserError(f"no proof for {model.layout.title}: it needs layout 'columns'")
    if not isinstance(model.positions, CoupledSinusoidalEncoding):
        raise UserError("no proof for these positions: it needs 'coupled-sinusoidal'")
    for field, supported in COLUMNS.items():
        if (value := getattr(model.config, field)) not in supported:
            needed = " or ".join(map(repr, supported))
            raise UserError(f"no proof for model.{field} {value!r}: it needs {needed}")
    config, tokens = model.config, np.arange(len(model.layout.characters))
    if config.embedding == "table":
        characters = exact(model.tokens)
    else:
        radius, start, step = (exact([value]) for value in model.tokens)
        angles = added(start, scaled(step, exact(tokens)))
        characters = scaled(radius, stacked([wave(angles, np.cos), wave(angles, np.sin)]).T)

    # Shared matrices written out. Of a key that is the query with every pair of its features
    # rotated, sine, cosine, products and sum are rounded, here and in the model.
    layer = unshared(model).attention
    matrices = (layer.query, layer.key, layer.value, layer.out)
    query, key, value, out = (exact(matrix[0]) for matrix in matrices if matrix is not None)
    if "key-query" in config.weight_sharing:
        sizes = np.abs(query.middle)
        pairs = np.repeat(sizes[:, ::2] + sizes[:, 1::2], 2, axis=1)
        key = Ball(key.middle, 2 * units(FUNCTION + 4) * pairs)
    if "value-key" in config.weight_sharing:
        value = Ball(value.middle, key.radius)
    if "out-value" in config.weight_sharing:
        out = Ball(out.middle, value.radius.T)
    values = product(characters, value)
    features = [slice(n, n + config.head_dim) for n in range(0, config.width, config.head_dim)]
    group = config.heads // config.kv_heads
    passed = [
        product(values[:, features[head // group]], out[features[head]])
        for head in range(config.heads)
    ]

    # The vectors of columns -1 to 10, as the encoding's `embed` computes them.
    harmonics = np.arange(1, config.width // 2 + 1)
    frequencies = rounded(exact(harmonics * (2 * math.pi / model.positions.period)), 2)
    angles = scaled(exact(np.arange(-1, OPERAND - 1)[:, None]), frequencies)
    waves = stacked([wave(angles, np.sin), wave(angles, np.cos)], axis=-1)
    positions = waves.each(lambda array: array.reshape(OPERAND, -1))
    tied = scaled(characters.T, rounded(exact([config.width**-0.5])))
    head = tied if model.head is None else exact(model.head)
    return AdderMatrices(characters, head, stacked(passed), positions, query, key)


def digit_vectors(model: Transformer, matrices: AdderMatrices, place: int) -> DigitVectors:
    """Return what digits add to the state at the answer digit of this place."""
    config = model.config
    columns = np.r_[np.arange(OPERAND), np.arange(OPERAND), np.arange(place + 1)]
    # each head's weight for each key; the query is the last key
    query = product(matrices.positions[[place]], matrices.query)
    keys = product(matrices.positions[columns], matrices.key)
    factor = rounded(exact([config.head_dim**-0.5 if config.attention_scale else 1.0]), 3)
    weights, heads = list[Ball](), range(config.heads)
    for head in heads:
        mine = slice(head * config.head_dim, (head + 1) * config.head_dim)
        shared = head * config.kv_heads // config.heads * config.head_dim
        head_keys = keys[:, shared : shared + config.head_dim]
        weights.append(softmax(scaled(product(query[:, mine], head_keys.T), factor))[0])
    # by key: what all heads pass on from each token
    each = [
        added(*(scaled(weights[head][[key]], matrices.passed[head]) for head in heads))
        for key in range(len(columns))
    ]
    first, second, equals = each[:OPERAND], each[OPERAND : 2 * OPERAND], each[2 * OPERAND]
    answer = each[2 * OPERAND + 1 :] + [exact(np.zeros_like(equals.middle))] * (DIGITS - place)
    zeros = [ball[0] for ball in (first[0], first[-1], second[0], second[-1], equals)]
    if place:
        answer[place - 1] = added(answer[place - 1], matrices.characters)
    else:
        zeros.append(matrices.characters[0])
    always = added(*zeros)
    # Sums in another order than here, first over keys, are off by at most this.
    sizes = sum(ball.size.max(axis=0) for ball in (*each, matrices.characters))
    order = units(len(each) + 4 * matrices.head.middle.shape[0] + 8) * sizes
    always = Ball(always.middle, always.radius + order)
    return DigitVectors(stacked(first[1:-1]), stacked(answer), always)


class Feedforward(NamedTuple):
    """Everything after attention."""

    up: np.ndarray  # width hidden
    down: np.ndarray  # hidden width
    logits: Ball  # width tokens: the head
    squared: bool

    def activate(self, x: np.ndarray) -> np.ndarray:
        x = np.maximum(x, 0.0)
        return np.square(x) if self.squared else x


def margins(after: Feedforward, state: Ball, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and greatest lead of the target's logit over every other logit.

    Both are for the nearest other token: if the second number is negative, another token is
    likelier for every state in the ball.

    The activation is convex: over an interval it lies between its chord and the tangent of the same
    slope. So each margin lies between two affine functions of the state, whose extremes over a ball
    are plain sums.
    Source: the chord and tangent of Zhang et al., CROWN, arXiv 1811.00866, here with one slope.
    """
    # The activation is `slope x + offset` up to `error`. A convex function minus a line is largest
    # at an end of the interval, and least where its slope is that of the line.
    inner = product(state, exact(after.up))
    low, high = inner.middle - inner.radius, inner.middle + inner.radius
    rise, most = after.activate(high) - after.activate(low), after.activate(high)
    slope = np.divide(rise, high - low, out=np.zeros_like(rise), where=high > low)
    turn = np.clip(slope / 2 if after.squared else 0.0, low, high)
    below, *above = (after.activate(x) - slope * x for x in (turn, low, high))
    top = np.maximum(*above)
    rounding = units(len(after.up)) * slope * (state.size @ np.abs(after.up)) + units(3) * most
    offset, error = (top + below) / 2, (top - below) / 2 + rounding

    logits = after.logits.middle.T
    leads = logits[target][:, None] - logits  # cases tokens width
    down = leads @ after.down.T  # cases tokens hidden
    slopes = leads + (down * slope[:, None]) @ after.up.T
    middle = (slopes @ state.middle[..., None] + down @ offset[..., None])[..., 0]
    radius = (np.abs(slopes) @ state.radius[..., None] + np.abs(down) @ error[..., None])[..., 0]
    # how far rounding after the activation can move each margin
    size, roundings = state.size + most @ np.abs(after.down), sum(after.down.shape) + 4
    moved = size @ (units(roundings) * after.logits.size + after.logits.radius)
    radius = radius + moved + moved[np.arange(len(target)), target][:, None]
    sure, possible = middle - radius, middle + radius
    for bound in (sure, possible):
        bound[np.arange(len(target)), target] = np.inf  # a token is no rival of itself
    return sure.min(axis=1), possible.min(axis=1)


@dataclass(frozen=True)
class EverySumProof:
    """The result of the proof: "proved", "wrong", or "open".

    `margin` is the least certain lead of the right token, over `cases` distinct cases. `problem`
    is a sum that is wrong in any precision or, where the grade is open, the most doubtful one:
    rounding in single precision may decide it.
    """

    grade: str
    margin: float
    cases: int
    problem: str | None = None


class Cases(NamedTuple):
    """The digits of some columns, the sum of what they add to the state, and the right next token.

    `carry` is what enters each column, and leaves the last one; OPEN where no digit determines it.
    Digits of `unknown` columns are not chosen yet, and are zeros here.
    """

    digits: np.ndarray  # cases 2 columns
    carry: np.ndarray  # cases borders
    target: np.ndarray  # cases
    state: Ball
    unknown: frozenset[int]

    def only(self, which: Any) -> "Cases":
        """Return the cases of a mask, of indices, or of a slice."""
        names = ("digits", "carry", "target", "state")
        return self._replace(**{name: getattr(self, name)[which] for name in names})


def every_sum(model: Transformer) -> EverySumProof:
    """Prove that a model adds every two numbers; UserError for a model of another design."""
    matrices, margin, cases = matrices_of(model), np.inf, 0
    up, down = (np.asarray(matrix[0], np.float64) for matrix in (model.mlp.up, model.mlp.down))
    after = Feedforward(up, down, matrices.head, model.config.activation == "relu2")
    for place in range(DIGITS + 1):
        digit_proof = _digit(digit_vectors(model, matrices, place), after, place)
        margin, cases = min(margin, digit_proof.margin), cases + digit_proof.cases
        if digit_proof.grade != "proved":
            return EverySumProof(digit_proof.grade, margin, cases, digit_proof.problem)
    return EverySumProof("proved", margin, cases)


def _digit(vectors: DigitVectors, after: Feedforward, place: int) -> EverySumProof:
    """Prove the answer's digit of one place."""
    todo, least, count = [_first(vectors, place)], np.inf, 0
    while todo:
        cases = todo.pop()
        if len(cases.target) > TOGETHER:
            todo += [cases.only(slice(TOGETHER)), cases.only(slice(TOGETHER, None))]
            continue
        others = {column: _any(vectors, column) for column in cases.unknown}
        sure, possible = margins(after, added(cases.state, *others.values()), cases.target)
        if (wrong := possible < 0).any():
            return EverySumProof("wrong", least, count, _problem(cases.only(wrong)))
        least = min(least, float(sure.min(initial=np.inf, where=sure > 0)))
        count += int((sure > 0).sum())
        if (sure > 0).all():
            continue
        if not cases.unknown or count > CASES:
            doubtful = cases.only([int((sure + possible).argmin())])
            return EverySumProof("open", least, count, _problem(doubtful))

        # Split the open cases by all digits of the column that leaves the state most uncertain.
        cases = cases.only(sure <= 0)
        column = max(others, key=lambda column: others[column].radius.sum())
        if column > place:  # its carries do not matter
            old, pair = (index.ravel() for index in np.indices((len(cases.target), len(PAIRS))))
            todo.append(_with(vectors, column, cases.only(old), PAIRS[pair]))
        else:
            cases, total = _columns(vectors, column, cases)
            state = added(cases.state, vectors.answer[column, total % 10])
            todo.append(cases._replace(state=state))
    return EverySumProof("proved", least, count)


def _first(vectors: DigitVectors, place: int) -> Cases:
    """Return the cases of the column that is written: its digits, and whether a carry enters."""
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


def _columns(vectors: DigitVectors, column: int, cases: Cases) -> tuple[Cases, np.ndarray]:
    """Return each case with all digits of a column and a carry that fit its neighbours; totals."""
    shape = (len(cases.target), len(PAIRS), 2)
    old, pair, carry = (part.ravel() for part in np.indices(shape))
    total = PAIRS[pair].sum(axis=1) + carry
    borders = cases.carry[old, column : column + 2]
    fits = ((borders == OPEN) | (borders == np.stack([carry, total // 10], axis=1))).all(axis=1)
    old, pair, carry, total = (part[fits] for part in (old, pair, carry, total))
    more = _with(vectors, column, cases.only(old), PAIRS[pair])
    more.carry[:, column], more.carry[:, column + 1] = carry, total // 10
    return more, total


def _with(vectors: DigitVectors, column: int, cases: Cases, pairs: np.ndarray) -> Cases:
    """Return the cases with these digits of the operands in a column."""
    digits = cases.digits.copy()
    digits[:, :, column] = pairs
    both = (vectors.operand[column, pairs[:, operand]] for operand in (0, 1))
    state = added(cases.state, *both)
    return cases._replace(digits=digits, state=state, unknown=cases.unknown - {column})


def _any(vectors: DigitVectors, column: int) -> Ball:
    """Return the ball of any digit of both operands and of the answer."""
    around = list[Ball]()
    for digits in (vectors.operand[column], vectors.operand[column], vectors.answer[column]):
        low = (digits.middle - digits.radius).min(axis=0)
        high = (digits.middle + digits.radius).max(axis=0)
        around.append(Ball((low + high) / 2, (high - low) / 2))
    return added(*around)


def _problem(cases: Cases) -> str:
    """Return a sum that belongs to the first case: 99 + 90 where a carry must leave column 0."""
    digits, carry = cases.digits[0].copy(), cases.carry[0]
    for column in cases.unknown:
        digits[:, column] = 9 if carry[column + 1] == 1 else 0
    first, second = (sum(int(d) * 10**n for n, d in enumerate(row)) for row in digits)
    return str(Problem("+", (first, second)))


@dataclass(frozen=True)
class EverySum(Probe):
    """The proof as a probe: a row for each member."""

    name: ClassVar[str] = "every-sum"
    summary: ClassVar[str] = "a proof for all sums of ten digits, or a sum that is wrong"
    scope: ClassVar[str] = "models of layout 'columns' that attend by positions alone"

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        fits = recipe.layout == "columns" and recipe.model.qk_input == "positions"
        return None if fits else "other texts, or attention that depends on digits"

    def examine(self, subject: Subject) -> Finding:
        """Return a row for each member; UserError for a model that the proof does not support.

        `problem` is a wrong one, or the most doubtful one where the grade is open; `written` is the
        member's answer.
        """
        rows = list[Row]()
        for member in subject.members:
            proof = every_sum(subject.run.model(member))
            rows.append({
                "member": member,
                "grade": proof.grade,
                "margin": round(proof.margin, 6) if proof.grade == "proved" else None,
                "cases": proof.cases,
                "problem": proof.problem,
                "written": proof.problem and subject.run.ask(proof.problem, member),
            })  # fmt: skip
        proved = sum(row["grade"] == "proved" for row in rows)
        note = f"{proved} of {len(rows)} proved; a margin is in logits, the least over all sums"
        return Finding(tuple(rows[0]), rows, None, (note,))
