"""Decimal text and Python's ints, one into the other at any length."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.problems.numerals import of_exact, places_of, to_exact, to_int, to_text


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


@given(number=st.integers(-(10**30), 10**30), places=st.integers(0, 40))
def test_decimal_fractions_are_written_exactly_and_in_the_fewest_digits(
    number: int, places: int
) -> None:
    value = Fraction(number, 10**places)
    text = to_exact(value)
    assert Fraction(Decimal(text)) == value
    whole, point, below = text.partition(".")
    assert (whole.lstrip("-").isdecimal(), point, below.isdecimal()) == (True, ".", True)
    assert len(below) == 1 or below[-1] != "0"
    assert len(below) == places_of(value)
    assert text.startswith("-") == (value < 0)


@given(value=st.fractions())
def test_every_fraction_comes_back_from_text(value: Fraction) -> None:
    assert of_exact(to_exact(value)) == value


def test_what_no_decimal_fraction_is_stays_a_quotient() -> None:
    assert [to_exact(Fraction(n, 6)) for n in (1, -3, 12)] == ["1/6", "-0.5", "2.0"]
    assert places_of(Fraction(1, 3)) is None
