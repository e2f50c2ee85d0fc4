"""A proof that a model adds every two numbers of ten digits, or a sum that it gets wrong.

For models of layout `columns` whose queries and keys are made of positions alone: attention
weights are then constants, and the state at an answer digit is a sum of one vector for each digit
of the text, which depends on that digit alone. Column by column, the digits that matter are
enumerated, those of the column that is written, then of those beside it with the largest weight;
all other columns count as a ball that holds whatever their digits are. Below the lowest column of
an unbroken row there may be a carry or not. The ball goes through the feed-forward, whose
activation is enclosed between two parallel lines, and the right token's logit must exceed each
other one's. Cases in which it does not are divided further, by the digits of one more column.

True digits before each answer digit give the right one, so by induction greedy decoding gives all.
All that is calculated is enclosed with its rounding (`balls`): the proof holds for single
precision, in any order of summation, and for anything more exact.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Shaped

from curta.evaluation.balls import Ball, added
from curta.evaluation.constant_attention import Vectors, parts, vectors
from curta.evaluation.enclosure import Feedforward, margins
from curta.layouts.columns import DIGITS
from curta.model.transformer import Transformer
from curta.problems.problem import Problem

PAIRS = np.array(list(combinations_with_replacement(range(10), 2)))
"""Digits of a column, in whatever order: both operands' have the same weight."""

CASES = 1_000_000
"""Cases of one answer digit that are looked at together; with more, the proof is given up."""


@dataclass(frozen=True)
class EverySum:
    """What the proof found: "proved", a `wrong` sum, or neither.

    `margin` is the least that the right token's logit is certain to exceed all others by, and
    `cases` is how many were told apart.
    """

    grade: str
    margin: float
    cases: int
    wrong: str | None = None


class Cases(NamedTuple):
    """Some columns' digits, the sum of all that they add to the state, and what should follow.

    `carry` is what must come into the lowest of these columns. Digits that are not chosen
    yet are zeros.
    """

    digits: Int[np.ndarray, "cases 2 columns"]
    target: Int[np.ndarray, " cases"]
    carry: Int[np.ndarray, " cases"]
    state: Ball

    def only(self, which: Shaped[np.ndarray, " chosen"]) -> "Cases":
        """Those of a mask, or of indices."""
        return Cases(self.digits[which], self.target[which], self.carry[which], self.state[which])


def every_sum(model: Transformer) -> EverySum:
    """Whether the model adds every two numbers; UserError for a model of another design."""
    known, margin, cases = parts(model), np.inf, 0
    after = Feedforward.of(model, known)
    for place in range(DIGITS + 1):
        one = _digit(vectors(model, known, place), after, place)
        margin, cases = min(margin, one.margin), cases + one.cases
        if one.grade != "proved":
            return EverySum(one.grade, margin, cases, one.wrong)
    return EverySum("proved", margin, cases)


def _digit(found: Vectors, after: Feedforward, place: int) -> EverySum:
    """The same for the answer's digit of one place."""
    cases, low, least, count = _first(found, place), place - 1, np.inf, 0
    unknown, real = set(range(DIGITS)) - {place}, True
    while True:
        state = added(cases.state, *(_any(found, column) for column in unknown))
        sure, possible = margins(after, state, cases.target)
        if real and (wrong := possible < 0).any():
            return EverySum("wrong", least, count, _problem(cases.only(wrong), low))
        least = min(least, float(sure.min(initial=np.inf, where=sure > 0)))
        count += int((sure > 0).sum())
        cases = cases.only(sure <= 0)
        if not len(cases.target):
            return EverySum("proved", least, count)
        column = max(unknown, key=lambda one: _any(found, one).radius.sum(), default=place)
        more = len(PAIRS) if column >= low else 10 * len(PAIRS)
        if not unknown or len(cases.target) * more > CASES:
            return EverySum("open", least, count)
        unknown.remove(column)
        if column > place:
            cases = _upper(found, column, cases)
        elif column == low:
            cases, low = _lower(found, column, cases), low - 1
        else:
            cases, real = _apart(found, column, cases), False


def _first(found: Vectors, place: int) -> Cases:
    """The cases of the column that is written: its digits, and whether a carry comes in."""
    nothing = np.zeros((1, 2, DIGITS), int)
    carries = np.arange(2 if place else 1)
    start = Cases(nothing, carries[:1], carries[:1], found.always[None])
    if place < DIGITS:
        start = _upper(found, place, start)
    old, carry = (part.ravel() for part in np.indices((len(start.target), len(carries))))
    column = start.digits[old, :, place].sum(axis=1) if place < DIGITS else 0
    return start.only(old)._replace(target=(column + carry) % 10, carry=carry)


def _upper(found: Vectors, column: int, cases: Cases) -> Cases:
    """Each case with all digits of a column above."""
    old, pair = (part.ravel() for part in np.indices((len(cases.target), len(PAIRS))))
    return _with(found, column, cases.only(old), PAIRS[pair])


def _lower(found: Vectors, column: int, cases: Cases) -> Cases:
    """Each case with all digits of the next column below that give its carry."""
    carries = 2 if column else 1
    shape = (len(cases.target), len(PAIRS), carries)
    old, pair, carry = (part.ravel() for part in np.indices(shape))
    total = PAIRS[pair].sum(axis=1) + carry
    fits = total // 10 == cases.carry[old]
    more = _with(found, column, cases.only(old[fits]), PAIRS[pair[fits]])
    state = added(more.state, found.answer[column, total[fits] % 10])
    return more._replace(carry=carry[fits], state=state)


def _apart(found: Vectors, column: int, cases: Cases) -> Cases:
    """Each case with all digits of a lower column that is not the next one.

    Its answer's digit may be any, whatever its operands' are: more than can occur.
    """
    shape = (len(cases.target), len(PAIRS), 10)
    old, pair, answer = (part.ravel() for part in np.indices(shape))
    more = _with(found, column, cases.only(old), PAIRS[pair])
    return more._replace(state=added(more.state, found.answer[column, answer]))


def _with(found: Vectors, column: int, cases: Cases, pairs: Int[np.ndarray, "cases 2"]) -> Cases:
    """The cases with these digits of the operands in a column."""
    digits = cases.digits.copy()
    digits[:, :, column] = pairs
    both = (found.operand[column, pairs[:, operand]] for operand in (0, 1))
    return cases._replace(digits=digits, state=added(cases.state, *both))


def _any(found: Vectors, column: int) -> Ball:
    """Twice any digit of an operand, and any of the answer."""
    operand = _hull(found.operand[column])
    return added(operand, operand, _hull(found.answer[column]))


def _hull(some: Ball) -> Ball:
    """One ball around all rows."""
    low, high = (some.middle - some.radius).min(axis=0), (some.middle + some.radius).max(axis=0)
    return Ball((low + high) / 2, (high - low) / 2)


def _problem(cases: Cases, low: int) -> str:
    """A sum that belongs to the first case: 91 + 10 where a carry must come out of column 0."""
    digits = cases.digits[0].copy()
    if cases.carry[0]:
        digits[:, low] = 9, 1
    first, second = (sum(int(d) * 10**n for n, d in enumerate(row)) for row in digits)
    return str(Problem("+", (first, second)))
