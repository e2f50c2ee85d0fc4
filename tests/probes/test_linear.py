"""Carries read by linear probes: from a model by hand, and from one that does not have them."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.task import Task
from curta.layouts import layout_named
from curta.probes.inside.question import Question
from curta.probes.linear import (
    Linear,
    carry_into,
    digit_positions,
    fit_weights,
    inputs,
    standardised,
)
from curta.problems.problem import Problem, parse
from curta.runs.run import Run
from tests import tiny

from . import by_hand
from .helpers import ModelSubject, alone, found, rows_of

SUMS = Task("+", digits=(1, 4))


def column(rows: list[dict[str, Any]], state: str, name: str) -> list[float]:
    return [row[name] for row in rows if row["state"] == state]


def test_a_carry_in_one_direction_is_read_without_an_error() -> None:
    """Before attention the state has the digit just written, which says it in 3 of 4 cases."""
    rows = rows_of(Linear(), by_hand.adder(), SUMS)
    assert column(rows, "embedding", "into") == [1, 2, 3]
    assert column(rows, "embedding", "median") == pytest.approx([0.75] * 3, abs=0.07)
    for state in ("state amid layer 0", "state after layer 0"):
        assert column(rows, state, "median") == [1.0, 1.0, 1.0]
        assert min(column(rows, state, "selectivity")) > 0.25
    assert max(column(rows, "embedding", "selectivity")) < 0.25


def test_a_carry_that_no_state_has_is_not_read() -> None:
    """Digits in the usual order, and nothing but the last one in the state."""
    recipe = tiny.recipe(layout="plain", positions__name="nope", model__num_layers=1)
    models = alone(tiny.drawn(recipe, tiny.layout_of(recipe)))
    rows = rows_of(Linear(count=1000), models, SUMS)
    for row in (row for row in rows if row["state"] == "embedding"):
        assert row["median"] == pytest.approx(row["majority"], abs=0.08)
        assert abs(row["selectivity"]) < 0.08


numbers = st.integers(0, 10**12)


@given(numbers, numbers, st.integers(2, 16))
def test_carries_are_those_of_the_school(a: int, b: int, base: int) -> None:
    carry = borrow = 0
    for place in range(14):
        assert carry_into(Problem("+", (a, b)), place, base) == carry
        assert carry_into(Problem("-", (a, b)), place, base) == borrow
        first, second = (value // base**place % base for value in (max(a, b), min(a, b)))
        carry, borrow = int(first + second + carry >= base), int(first - second - borrow < 0)


@given(numbers, numbers, st.integers(0, 8))
def test_the_inputs_decide_the_carry(a: int, b: int, place: int) -> None:
    """So a random function of them is as much of one as the carry is, or the borrow."""
    x, y, carry = inputs(Problem("+", (a, b)), place, 10)
    assert carry_into(Problem("+", (a, b)), place + 1, 10) == int(x + y + carry >= 10)
    x, y, borrow = inputs(Problem("-", (a, b)), place, 10)
    assert carry_into(Problem("-", (a, b)), place + 1, 10) == int(x < y + borrow)


def test_control_tasks_are_functions_of_the_inputs() -> None:
    models, probe = by_hand.adder(), Linear(count=400)
    sample = probe.sample(ModelSubject(models), SUMS)
    asked = Question(models, sample)
    digits = asked.digits
    for one in probe.readings(sample, asked, digits.number, 10):
        for labels in one.labels:
            known: dict[tuple[int, int, int], bool] = {}
            for row, label in zip(digits.problem[one.digits], labels, strict=True):
                key = inputs(sample[row], one.place - 1, 10)
                assert known.setdefault(key, bool(label)) == bool(label)
        assert len({labels.tobytes() for labels in one.labels}) == len(one.labels)
        assert not set(digits.problem[one.digits][one.fit]) & set(
            digits.problem[one.digits][~one.fit]
        )


@pytest.mark.parametrize("layout", ["plain", "reversed", "padded", "hints"])
def test_digits_are_counted_from_the_lowest(layout: str) -> None:
    recipe = tiny.recipe(layout=layout, positions__name="nope")
    asked = Question(alone(tiny.drawn(recipe, layout_named(layout))), [parse("957+68")])
    digits, places = asked.digits, digit_positions(asked, 10)
    written = [asked.layout.value(token) for token in digits.token.tolist()]
    assert sorted(zip(places.tolist(), written, strict=True))[:4] == list(enumerate([5, 2, 0, 1]))
    assert {abs(a - b) for a, b in pairwise(places.tolist())} == {1}


def test_every_state_of_a_run_is_read(windowed: Run) -> None:
    finding = found(Linear(count=100), windowed)
    states = dict.fromkeys(row["state"] for row in finding.rows)
    assert list(states)[:2] == ["embedding", "state amid layer 0"]
    assert all(len(row["members"]) == 2 for row in finding.rows)
    accuracy, selectivity = finding.picture["panels"]
    assert accuracy["columns"] == selectivity["columns"] == ["1", "2"]


def test_sums_without_a_carry_to_be_read_are_refused(windowed: Run) -> None:
    """Of two digits, one each: a second digit of the sum is there just when there is a carry."""
    from curta.probes.subject import Subject

    task = replace(windowed.recipe.tasks[0], digits=(1, 1))
    with pytest.raises(UserError, match="numbers this short have no carry"):
        Linear(count=20).examine(Subject(windowed, [0], [task]))


def drawn(seed: int, examples: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(examples, features)), rng.random(examples) < 0.4


@given(st.integers(0, 100), st.integers(2, 30), st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_no_other_weights_have_a_lower_loss(seed: int, examples: int, features: int) -> None:
    x, y = drawn(seed, examples, features)

    def loss(weights: np.ndarray) -> float:
        each = np.log1p(np.exp(np.where(y, -1, 1) * (x @ weights)))
        return float(each.sum() + (weights**2).sum() / 2)

    best = fit_weights(x, y)
    for direction in np.random.default_rng(seed).normal(size=(10, features)):
        for length in (1.0, 0.01):
            assert loss(best + length * direction) > loss(best)


def test_features_are_scaled_by_those_that_were_fitted() -> None:
    x, _ = drawn(0, 40, 3)
    x, fit = np.float32(x * [1.0, 100.0, 0.0] + [3.0, 0.0, 0.1]), np.arange(40) < 30
    features = standardised(x, fit)
    assert features[fit].mean(axis=0) == pytest.approx([0, 0, 0, 1], abs=1e-9)
    assert features[fit].std(axis=0) == pytest.approx([1, 1, 0, 0], abs=1e-9)
