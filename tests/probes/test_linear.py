"""Carries read by linear probes: from a model by hand, and from one that does not have them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.task import Task
from curta.probes.linear import (
    Linear,
    carry_into,
    inputs,
)
from curta.problems.problem import Problem
from tests import tiny

from . import by_hand
from .helpers import alone, rows_of

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


@given(numbers, numbers, st.integers(0, 8))
def test_the_inputs_decide_the_carry(a: int, b: int, place: int) -> None:
    """So a random function of them is as much of one as the carry is, or the borrow."""
    x, y, carry = inputs(Problem("+", (a, b)), place, 10)
    assert carry_into(Problem("+", (a, b)), place + 1, 10) == int(x + y + carry >= 10)
    x, y, borrow = inputs(Problem("-", (a, b)), place, 10)
    assert carry_into(Problem("-", (a, b)), place + 1, 10) == int(x < y + borrow)
