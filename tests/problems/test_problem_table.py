"""Tables: every pair once, in an order that is a bijection and looks random."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.problems.operations import OPERATIONS
from curta.problems.problem_table import ProblemTable, shuffled
from tests import tiny

OPERATORS = [symbol for symbol in tiny.ON_DEVICE if OPERATIONS[symbol].least == 2]


in_order = jax.jit(lambda rows, seed: shuffled(jnp.arange(rows), rows, seed), static_argnums=(0, 1))


@settings(max_examples=20)
@given(rows=st.integers(1, 500), seed=st.integers(0, 1000))
def test_the_order_is_a_bijection(rows: int, seed: int) -> None:
    found = np.asarray(in_order(rows, seed))
    np.testing.assert_array_equal(np.sort(found), np.arange(rows))


def test_the_order_looks_random() -> None:
    """Neither place and row nor neighbouring rows are correlated; a tenth has the mean of all."""
    rows = 100_000
    found = np.asarray(shuffled(jnp.arange(rows), rows, 3)).astype(float)
    assert abs(np.corrcoef(np.arange(rows), found)[0, 1]) < 0.02
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.02
    assert abs(found[: rows // 10].mean() / rows - 0.5) < 0.01


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("span", [(0, 12), (7, 11), (0, 0)])
def test_a_table_has_every_pair_that_has_an_answer_once(symbol: str, span: tuple[int, int]) -> None:
    low, high = span
    every = [(a, b) for a in range(low, high + 1) for b in range(low, high + 1)]
    expected = [pair for pair in every if OPERATIONS[symbol].refuse(pair) is None]
    table = ProblemTable(symbol, low, high)
    assert table.rows == len(expected)
    assert sorted(map(tuple, table.pairs(jnp.arange(table.rows)).tolist())) == expected
