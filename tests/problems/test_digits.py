"""Digit arithmetic on the device, held against Python's ints."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.problems import digits
from curta.problems.digits import NumberBatch

jitted: dict[str, Callable[..., Any]] = {
    name: jax.jit(getattr(digits, name)) for name in ("carried", "cut")
}


def rows(values: list[int], width: int) -> jax.Array:
    """Least significant digit first, by way of Python's `str`."""
    return jnp.array([list(map(int, str(v)[::-1].ljust(width, "0"))) for v in values], jnp.int32)


def ints(found: jax.Array) -> list[int]:
    """Each row as a number, of which every column is one digit."""
    assert ((found >= 0) & (found <= 9)).all()
    return [int("".join(map(str, row[::-1]))) for row in np.asarray(found).tolist()]


@pytest.mark.parametrize("width", [1, 2, 500])
def test_a_carry_runs_through_every_place(width: int) -> None:
    nines = 10**width - 1
    sums = digits.add(rows([nines, nines], width), rows([1, nines], width))
    assert sums[0].tolist() == [0] * width + [1]
    assert sums[1].tolist() == [8] + [9] * (width - 1) + [1]


def columns(most: int) -> st.SearchStrategy[list[int]]:
    """Eight columns, and places for what they carry."""
    return st.lists(st.integers(0, most), min_size=8, max_size=8).map(lambda c: [*c, 0, 0, 0, 0])


@given(line=columns(5000))
def test_carrying_leaves_the_number_that_the_columns_stand_for(line: list[int]) -> None:
    found = jitted["carried"](jnp.array([line], jnp.int32))
    assert ints(found) == [sum(column * 10**place for place, column in enumerate(line))]


@given(
    line=st.lists(st.integers(0, 9), min_size=12, max_size=12),
    lengths=st.lists(st.integers(0, 6), min_size=2, max_size=2),
)
def test_cut_keeps_every_digit_but_a_leading_zero(line: list[int], lengths: list[int]) -> None:
    given = jnp.array(line, jnp.int32).reshape(1, 2, 6)
    found = jitted["cut"](NumberBatch(given, jnp.array([lengths], jnp.int32)))
    assert found.lengths.tolist() == [lengths]
    for row, source, length in zip(
        found.digits[0].tolist(), given[0].tolist(), lengths, strict=True
    ):
        kept = source[:length]
        if length > 1:
            kept[-1] = kept[-1] or 1
        assert row == kept + [0] * (6 - length)
