"""Carries read by linear probes: from a model by hand, and from one that does not have them."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from curta.probes.inside.answers import Digits
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.task import Task
from curta.frontends.run import Run
from curta.layouts import layout_named
from curta.probes.inside.question import Question
from curta.probes.linear import Linear, carry_into, digit_positions, inputs
from curta.problems.problem import Problem, parse
from tests import tiny

from . import by_hand
from .asked import alone, found

SUMS = Task("+", digits=(1, 4))


def column(rows: list[dict[str, Any]], state: str, name: str) -> list[float]:
    return [row[name] for row in rows if row["state"] == state]


def test_a_carry_in_one_direction_is_read_without_an_error() -> None:
    """Before attention the state has the digit just written, which says it in 3 of 4 cases."""
    rows = Linear().rows(by_hand.adder(), SUMS)
    assert column(rows, "embedding", "into") == [1, 2, 3]
    assert column(rows, "embedding", "median") == pytest.approx([0.75] * 3, abs=0.07)
    for state in ("state amid layer 0", "state after layer 0"):
        assert column(rows, state, "median") == [1.0, 1.0, 1.0]
        assert min(column(rows, state, "selectivity")) > 0.25
    assert max(column(rows, "embedding", "selectivity")) < 0.25


def test_a_carry_that_no_state_has_is_not_read() -> None:
    """Digits in the usual order, and nothing but the last one in the state."""
    recipe = tiny.recipe(layout="plain", positions__name="nope", model__num_layers=1)
    rows = Linear(count=1000).rows(alone(tiny.drawn(recipe, tiny.layout_of(recipe))), SUMS)
    for row in (row for row in rows if row["state"] == "embedding"):
        assert row["median"] == pytest.approx(row["majority"], abs=0.08)
        assert abs(row["selectivity"]) < 0.08


def test_borrows_are_read_as_carries_are() -> None:
    """Random states of two members; one feature of the first has the borrow in it."""
    probe, task = Linear(count=200), Task("-", digits=(1, 3))
    recipe = tiny.recipe(layout="reversed", positions__name="rope", task__operator="-")
    models = alone(tiny.drawn(recipe, tiny.layout_of(recipe)))
    sample = probe.sample(models.layout, task)
    asked = Question(models, sample)
    digits = Digits.of(asked)
    places = digit_positions(asked, digits, 10)
    for one in probe.readable(sample, digits, places, 10):
        states = np.random.default_rng(0).normal(size=(2, len(places), 5))
        pairs = zip(digits.problem.tolist(), places.tolist(), strict=True)
        borrow = np.array([carry_into(sample[row], place, 10) for row, place in pairs])
        states[0, :, 3] += 10 * borrow
        accuracy = one.row(states)["members"]
        assert accuracy[0] > 0.98
        assert accuracy[1] < 0.7


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
    sample = probe.sample(models.layout, SUMS)
    digits = Digits.of(Question(models, sample))
    for one in probe.readable(sample, digits, digits.number, 10):
        for labels in one.labels:
            known: dict[tuple[int, int, int], bool] = {}
            for row, label in zip(digits.problem[one.mine], labels, strict=True):
                key = inputs(sample[row], one.place - 1, 10)
                assert known.setdefault(key, bool(label)) == bool(label)
        assert len({labels.tobytes() for labels in one.labels}) == len(one.labels)
        assert not set(digits.problem[one.mine][one.fit]) & set(digits.problem[one.mine][~one.fit])


@pytest.mark.parametrize("layout", ["plain", "reversed", "padded", "hints"])
def test_digits_are_counted_from_the_lowest(layout: str) -> None:
    recipe = tiny.recipe(layout=layout, positions__name="nope")
    asked = Question(alone(tiny.drawn(recipe, layout_named(layout))), [parse("957+68")])
    digits = Digits.of(asked)
    places = digit_positions(asked, digits, 10)
    written = [asked.layout.value(token) for token in digits.token.tolist()]
    assert sorted(zip(places.tolist(), written, strict=True))[:4] == list(enumerate([5, 2, 0, 1]))
    assert {abs(a - b) for a, b in pairwise(places.tolist())} == {1}


def test_states_of_many_problems_are_those_of_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    models, probe = by_hand.adder(), Linear(count=40)
    whole = probe.rows(models, SUMS)
    monkeypatch.setattr("curta.probes.linear.TOGETHER", 16)
    assert probe.rows(models, SUMS) == whole


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


def test_problems_are_of_the_greatest_size_in_training_in_their_own_base() -> None:
    task = Task("+", base=2, digits=(1, 6), operands=(2, 2))
    recipe = tiny.recipe(
        program=["sums"], task={"operator": "+", "base": 2, "digits": [1, 6], "operands": [2, 2]}
    )
    found = Linear(count=50).sample(tiny.layout_of(recipe), task)
    assert {value.bit_length() for problem in found for value in problem.operands} == {6}
    assert {problem.base for problem in found} == {2}
