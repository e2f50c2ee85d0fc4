"""A proof that a model adds every two numbers of ten digits, or a sum that it gets wrong.

For models of layout `columns` whose queries and keys are made of positions alone: attention
weights are then constants, and the state at an answer digit is a sum of one vector for each digit
of the text, which depends on that digit alone. Column by column, the digits that matter are
enumerated, those of the column that is written, then of those beside it with the largest weight;
all other columns count as a ball that holds whatever their digits are. Whether a carry comes into
an enumerated column is enumerated too, so that neighbours fit; any two carries around a column that
is not enumerated are those of some digits in it. The ball goes through the feed-forward, whose
activation is enclosed between two parallel lines, and the right token's logit must exceed each
other one's. Cases in which it does not are divided further, by the digits of one more column.

True digits before each answer digit give the right one, so by induction greedy decoding gives all.
All that is calculated is enclosed with its rounding (`balls`): the proof holds for single
precision, in any order of summation, and for anything more exact.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from curta.evaluation.balls import Ball, added
from curta.evaluation.constant_attention import Vectors, parts, vectors
from curta.evaluation.enclosure import Feedforward, margins
from curta.layouts.columns import DIGITS
from curta.model.transformer import Transformer
from curta.problems.problem import Problem

PAIRS = np.array(list(combinations_with_replacement(range(10), 2)))
"""Digits of a column, in whatever order: both operands' have the same weight."""

OPEN = -1
"""A carry that may be there or not."""

TOGETHER = 5_000
"""Cases that are looked at, and divided, at once."""

CASES = 20_000_000
"""Proved cases of one answer digit after which the proof is given up: some minutes."""


@dataclass(frozen=True)
class EverySum:
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


def every_sum(model: Transformer) -> EverySum:
    """Whether the model adds every two numbers; UserError for a model of another design."""
    known, margin, cases = parts(model), np.inf, 0
    after = Feedforward.of(model, known)
    for place in range(DIGITS + 1):
        one = _digit(vectors(model, known, place), after, place)
        margin, cases = min(margin, one.margin), cases + one.cases
        if one.grade != "proved":
            return EverySum(one.grade, margin, cases, one.problem)
    return EverySum("proved", margin, cases)


def _digit(found: Vectors, after: Feedforward, place: int) -> EverySum:
    """The same for the answer's digit of one place."""
    todo, least, count = [_first(found, place)], np.inf, 0
    while todo:
        cases = todo.pop()
        if len(cases.target) > TOGETHER:
            todo += [cases.only(slice(TOGETHER)), cases.only(slice(TOGETHER, None))]
            continue
        sure, possible = margins(after, _state(found, cases), cases.target)
        if (wrong := possible < 0).any():
            return EverySum("wrong", least, count, _problem(cases.only(wrong)))
        least = min(least, float(sure.min(initial=np.inf, where=sure > 0)))
        count += int((sure > 0).sum())
        if (sure > 0).all():
            continue
        if not cases.unknown or count > CASES:
            doubtful = cases.only([int((sure + possible).argmin())])
            return EverySum("open", least, count, _problem(doubtful))
        todo.append(_divided(found, cases.only(sure <= 0), place))
    return EverySum("proved", least, count)


def _divided(found: Vectors, cases: Cases, place: int) -> Cases:
    """Each case with all digits of the column that leaves most open."""
    column = max(cases.unknown, key=lambda one: _any(found, one).radius.sum())
    if column > place:
        return _upper(found, column, cases)
    return _lower(found, column, cases)


def _state(found: Vectors, cases: Cases) -> Ball:
    """A ball around the state of each case, whatever the other digits are."""
    return added(cases.state, *(_any(found, column) for column in cases.unknown))


def _first(found: Vectors, place: int) -> Cases:
    """The cases of the column that is written: its digits, and whether a carry comes in."""
    digits, carry = np.zeros((1, 2, DIGITS), np.int8), np.full((1, DIGITS + 1), OPEN, np.int8)
    carry[:, 0] = 0
    everything = frozenset(range(DIGITS))
    cases = Cases(digits, carry, np.zeros(1, int), found.always[None], everything)
    if place == DIGITS:
        cases = cases.only([0, 0])
        cases.carry[:, place] = cases.target[:] = 0, 1
        return cases
    cases, total = _columns(found, place, cases)
    return cases._replace(target=total % 10)


def _upper(found: Vectors, column: int, cases: Cases) -> Cases:
    """Each case with all digits of a column above, whose carries do not matter."""
    old, pair = (part.ravel() for part in np.indices((len(cases.target), len(PAIRS))))
    return _with(found, column, cases.only(old), PAIRS[pair])


def _lower(found: Vectors, column: int, cases: Cases) -> Cases:
    """Each case with all digits of a column below, and that of the answer in it."""
    more, total = _columns(found, column, cases)
    return more._replace(state=added(more.state, found.answer[column, total % 10]))


def _columns(found: Vectors, column: int, cases: Cases) -> tuple[Cases, Int[np.ndarray, " cases"]]:
    """Each case with all digits of a column and a carry that fit its neighbours; their totals."""
    shape = (len(cases.target), len(PAIRS), 2)
    old, pair, carry = (part.ravel() for part in np.indices(shape))
    total = PAIRS[pair].sum(axis=1) + carry
    borders = cases.carry[old, column : column + 2]
    fits = ((borders == OPEN) | (borders == np.stack([carry, total // 10], axis=1))).all(axis=1)
    old, pair, carry, total = (part[fits] for part in (old, pair, carry, total))
    more = _with(found, column, cases.only(old), PAIRS[pair])
    more.carry[:, column], more.carry[:, column + 1] = carry, total // 10
    return more, total


def _with(found: Vectors, column: int, cases: Cases, pairs: Int[np.ndarray, "cases 2"]) -> Cases:
    """The cases with these digits of the operands in a column."""
    digits = cases.digits.copy()
    digits[:, :, column] = pairs
    both = (found.operand[column, pairs[:, operand]] for operand in (0, 1))
    state = added(cases.state, *both)
    return cases._replace(digits=digits, state=state, unknown=cases.unknown - {column})


def _any(found: Vectors, column: int) -> Ball:
    """Twice any digit of an operand, and any of the answer."""
    operand = _hull(found.operand[column])
    return added(operand, operand, _hull(found.answer[column]))


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
