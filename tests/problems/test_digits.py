"""Digit arithmetic on the device, held against Python's ints."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
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
def test_subtract_is_pythons_difference_modulo_the_width(width: int, data: st.DataObject) -> None:
    found, first, second = drawn_pair(data, width)
    rest, _ = jitted["subtract"](first, second)
    assert ints(rest) == [(a - b) % 10**width for a, b in found]


@every_width
@given(data=st.data())
def test_a_place_borrows_where_the_numbers_up_to_it_go_below_zero(
    width: int, data: st.DataObject
) -> None:
    found, first, second = drawn_pair(data, width)
    _, borrows = jitted["subtract"](first, second)
    for row, (a, b) in zip(borrows.tolist(), found, strict=True):
        assert row == [a % 10**place < b % 10**place for place in range(1, width + 1)]


@every_width
@given(data=st.data())
def test_distance_is_the_magnitude_and_whether_it_was_below_zero(
    width: int, data: st.DataObject
) -> None:
    found, first, second = drawn_pair(data, width)
    magnitude, less = jitted["distance"](first, second)
    assert ints(magnitude) == [abs(a - b) for a, b in found]
    assert less.tolist() == [a < b for a, b in found]


@pytest.mark.parametrize("widths", [(1, 1), (1, 7), (9, 4), (200, 150)])
@given(data=st.data())
def test_multiply_is_pythons_product(widths: tuple[int, int], data: st.DataObject) -> None:
    found = data.draw(pairs(*widths))
    first, second = map(list, zip(*found, strict=True))
    product = jitted["multiply"](rows(first, widths[0]), rows(second, widths[1]))
    assert product.shape == (BATCH, sum(widths))
    assert ints(product) == [a * b for a, b in found]


def test_a_product_of_nines_fills_its_width() -> None:
    nines = 10**200 - 1
    assert ints(digits.multiply(rows([nines], 200), rows([nines], 200))) == [nines**2]


@pytest.mark.parametrize("widths", [(1, 1), (7, 3), (3, 7), (12, 6)])
@given(data=st.data())
def test_divide_is_pythons_quotient_and_remainder(
    widths: tuple[int, int], data: st.DataObject
) -> None:
    check_divide(data.draw(pairs(*widths, least=1)), widths)


@settings(max_examples=3)
@given(found=pairs(200, 100, least=1))
def test_divide_is_right_for_long_numbers(found: Pairs) -> None:
    check_divide(found, (200, 100))


def check_divide(found: Pairs, widths: tuple[int, int]) -> None:
    first, second = map(list, zip(*found, strict=True))
    quotient, rest = jitted["divide"](rows(first, widths[0]), rows(second, widths[1]))
    expected = [divmod(a, b) for a, b in found]
    assert (quotient.shape[1], rest.shape[1]) == widths
    assert list(zip(ints(quotient), ints(rest), strict=True)) == expected


lists = st.lists(tiny.ints(3), min_size=1, max_size=NUMBERS)


@given(found=st.lists(lists, min_size=BATCH, max_size=BATCH))
def test_ascending_is_pythons_order_with_absent_numbers_last(found: list[list[int]]) -> None:
    given = [[*([None] * (NUMBERS - len(line))), *line] for line in found]  # absent ones first
    texts = [["" if value is None else str(value) for value in line] for line in given]
    values = jnp.array([[[int(c) for c in t[::-1].ljust(3, "0")] for t in ts] for ts in texts])
    lengths = jnp.array([[len(text) for text in line] for line in texts], jnp.int32)
    ordered = jitted["ascending"](NumberBatch(values.astype(jnp.int32), lengths))
    for line, row, counts in zip(found, *ordered, strict=True):
        expected = sorted(line)
        absent = [0] * (NUMBERS - len(line))
        assert ints(row) == expected + absent
        assert counts.tolist() == [len(str(value)) for value in expected] + absent


@given(found=st.lists(lists, min_size=BATCH, max_size=BATCH))
def test_order_is_pythons_and_leaves_equal_numbers_as_they_stand(found: list[list[int]]) -> None:
    given = [[str(value) for value in line] + [""] * (NUMBERS - len(line)) for line in found]
    values = jnp.array([[[int(c) for c in t[::-1].ljust(3, "0")] for t in ts] for ts in given])
    lengths = jnp.array([[len(text) for text in line] for line in given], jnp.int32)
    ordered = jitted["order"](NumberBatch(values.astype(jnp.int32), lengths)).tolist()
    for line, row in zip(found, ordered, strict=True):
        expected = sorted(range(len(line)), key=lambda place, line=line: line[place])
        assert row == [*expected, *range(len(line), NUMBERS)]


@every_width
@given(data=st.data())
def test_reverse_turns_the_digits_of_a_number_around(width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(tiny.ints(width), min_size=BATCH, max_size=BATCH))
    lengths = jnp.array([len(str(value)) for value in values], jnp.int32)
    turned = jitted["reverse"](rows(values, width), lengths)
    assert ints(turned) == [int(str(value)[::-1]) for value in values]


@every_width
@given(data=st.data())
def test_length_is_that_of_pythons_str(width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(tiny.ints(width), min_size=BATCH, max_size=BATCH))
    assert jitted["length"](rows(values, width)).tolist() == [len(str(value)) for value in values]


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


def test_any_leading_axes_are_batches() -> None:
    values = rows([12, 9, 0, 999], 3).reshape(2, 2, 3)
    sums = digits.add(values, values)
    assert ints(sums.reshape(4, 4)) == [24, 18, 0, 1998]
    assert digits.length(values).tolist() == [[2, 1], [1, 3]]
    assert ints(digits.multiply(values, values).reshape(4, 6)) == [144, 81, 0, 998001]
    assert digits.distance(values, values)[1].tolist() == [[False, False], [False, False]]
