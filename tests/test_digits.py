"""Digit arithmetic on the device, held against Python's ints."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
from curta import digits

WIDTH = 30
add, length = jax.jit(digits.add), jax.jit(digits.length)


def rows(values: list[int], width: int = WIDTH) -> jax.Array:
    """Least significant digit first, by way of Python's `str`."""
    return jnp.array([list(map(int, str(v)[::-1].ljust(width, "0"))) for v in values], jnp.int32)


def number(row: jax.Array) -> int:
    return int("".join(map(str, np.asarray(row)[::-1].tolist())))


@given(values=st.lists(tiny.ints(WIDTH), min_size=8, max_size=8))
def test_add_is_pythons_sum_for_a_batch(values: list[int]) -> None:
    sums = add(rows(values[:4]), rows(values[4:]))
    assert sums.shape == (4, WIDTH + 1)
    pairs = zip(values[:4], values[4:], strict=True)
    assert [number(row) for row in sums] == [a + b for a, b in pairs]


@pytest.mark.parametrize("width", [1, 2, 500])
def test_a_carry_runs_through_every_place(width: int) -> None:
    nines = 10**width - 1
    sums = digits.add(rows([nines, nines], width), rows([1, nines], width))
    assert sums[0].tolist() == [0] * width + [1]
    assert sums[1].tolist() == [8] + [9] * (width - 1) + [1]


@given(values=st.lists(tiny.ints(WIDTH), min_size=8, max_size=8))
def test_length_is_that_of_pythons_str(values: list[int]) -> None:
    assert length(rows(values)).tolist() == [len(str(value)) for value in values]


def test_any_leading_axes_are_batches() -> None:
    values = rows([12, 9, 0, 999], 3).reshape(2, 2, 3)
    sums = digits.add(values, values)
    assert [number(row) for row in sums.reshape(4, 4)] == [24, 18, 0, 1998]
    assert digits.length(values).tolist() == [[2, 1], [1, 3]]
