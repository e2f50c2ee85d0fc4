"""Decimal text and Python's ints, one into the other at any length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
from curta.decimals import to_int, to_text


@given(value=tiny.ints(200))
def test_conversion_is_pythons_own(value: int) -> None:
    assert to_text(value) == str(value)
    assert to_int(str(value)) == value


@given(text=st.text("0123456789", min_size=1, max_size=60))
def test_leading_zeros_do_not_count(text: str) -> None:
    assert to_int(text) == int(text)


@pytest.mark.parametrize("count", [4000, 4001, 4300, 4301, 9001, 20_000])
def test_conversion_goes_beyond_pythons_limit(count: int) -> None:
    """Numbers whose digits are known without converting them."""
    power = 10 ** (count - 1)
    assert to_text(power) == "1" + "0" * (count - 1)
    assert to_text(power - 1) == "9" * (count - 1)
    assert to_int("1" + "0" * (count - 1)) == power
    sevens = 7 * ((10**count - 1) // 9)
    assert to_text(sevens) == "7" * count
    assert to_int("7" * count) == sevens


@given(count=st.integers(3990, 9000), digit=st.integers(1, 9), other=st.integers(0, 9))
def test_long_numbers_come_back_from_text(count: int, digit: int, other: int) -> None:
    text = str(digit) + str(other) * (count - 2) + str(digit)
    assert to_text(to_int(text)) == text
