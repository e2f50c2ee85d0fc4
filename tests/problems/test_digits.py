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
from tests import tiny

BATCH, NUMBERS = 4, 3

jitted: dict[str, Callable[..., Any]] = {
    name: jax.jit(getattr(digits, name))
    for name in (
        *("add", "carried", "subtract", "distance", "multiply", "divide"),
        *("ascending", "order", "reverse", "length", "cut"),
    )
}

every_width = pytest.mark.parametrize("width", [1, 6, 200])


def rows(values: list[int], width: int) -> jax.Array:
    """Least significant digit first, by way of Python's `str`."""
    return jnp.array([list(map(int, str(v)[::-1].ljust(width, "0"))) for v in values], jnp.int32)


def ints(found: jax.Array) -> list[int]:
    """Each row as a number, of which every column is one digit."""
    assert ((found >= 0) & (found <= 9)).all()
    return [int("".join(map(str, row[::-1]))) for row in np.asarray(found).tolist()]


Pairs = list[tuple[int, int]]


def pairs(first: int, second: int, least: int = 0) -> st.SearchStrategy[Pairs]:
    """A batch of pairs of numbers of at most so many digits, often near each other."""
    both = st.tuples(tiny.ints(first), tiny.ints(second).filter(lambda value: value >= least))
    near = tiny.ints(min(first, second)).map(lambda value: (value, max(value - 1, least)))
    return st.lists(both | near, min_size=BATCH, max_size=BATCH)


def drawn_pair(data: st.DataObject, width: int) -> tuple[Pairs, jax.Array, jax.Array]:
    """A batch of pairs as ints and as two digit arrays."""
    found = data.draw(pairs(width, width))
    first, second = map(list, zip(*found, strict=True))
    return found, rows(first, width), rows(second, width)


@every_width
@given(data=st.data())
def test_add_is_pythons_sum_for_a_batch(width: int, data: st.DataObject) -> None:
    found, first, second = drawn_pair(data, width)
    sums = jitted["add"](first, second)
    assert sums.shape == (BATCH, width + 1)
    assert ints(sums) == [a + b for a, b in found]


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


@every_width
@given(data=st.data())
def test_a_place_borrows_where_the_numbers_up_to_it_go_below_zero(
    width: int, data: st.DataObject
) -> None:
    found, first, second = drawn_pair(data, width)
    _, borrows = jitted["subtract"](first, second)
    for row, (a, b) in zip(borrows.tolist(), found, strict=True):
        assert row == [a % 10**place < b % 10**place for place in range(1, width + 1)]


lists = st.lists(tiny.ints(3), min_size=1, max_size=NUMBERS)


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
