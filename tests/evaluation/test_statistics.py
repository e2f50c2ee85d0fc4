"""Intervals and tests against enumeration, published figures, and what they promise."""

import itertools
from fractions import Fraction
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.evaluation import statistics
from curta.evaluation.statistics import holm, mcnemar, of_difference, of_mean, wilson

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_is_as_published(right: int, count: int, low: float, high: float) -> None:
    """R. G. Newcombe 1998, Two-sided confidence intervals for the single proportion, table I."""
    assert wilson(right, count) == pytest.approx((low, high), abs=6e-5)


def test_the_interval_of_a_mean_is_that_of_all_draws() -> None:
    """Of five seeds all 3,125 draws can be written down."""
    values = [0.1, 0.4, 0.5, 0.55, 0.9]
    draws = [mean(one) for one in itertools.product(values, repeat=5)]
    assert of_mean(values) == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.011)


@pytest.mark.parametrize("values", [[0.5], [0.1, 0.9], [0.1, 0.5, 0.9], [0.1, 0.2, 0.3, 0.4]])
def test_of_few_seeds_there_is_no_interval(values: list[float]) -> None:
    assert of_mean(values) is None
    assert of_difference(values, values, paired=True) is None
    assert of_difference(values, values, paired=False) is None
    assert (statistics.deviation(values) is None) == (len(values) < 3)


def test_pairs_that_move_together_have_a_narrow_interval() -> None:
    first = [0.1, 0.3, 0.5, 0.7, 0.9]
    second = [value - 0.05 - 0.001 * place for place, value in enumerate(first)]
    paired, unpaired = (of_difference(first, second, paired=one) for one in (True, False))
    assert paired is not None
    assert unpaired is not None
    assert paired.low > 0.04
    assert unpaired.low < 0 < unpaired.high


def coins(heads: int, count: int) -> Fraction:
    """The share of all throws of so many coins that are as uneven as this one, or more."""
    throws = itertools.product((0, 1), repeat=count)
    uneven = [abs(2 * sum(throw) - count) >= abs(2 * heads - count) for throw in throws]
    return Fraction(sum(uneven), len(uneven))


@pytest.mark.parametrize("count", [0, 1, 6, 9])
def test_mcnemar_is_the_share_of_all_throws(count: int) -> None:
    for heads in range(count + 1):
        assert mcnemar(heads, count - heads) == pytest.approx(float(coins(heads, count)), rel=1e-9)


def rejected(values: list[float], level: float) -> set[int]:
    """Holm's procedure as he states it: the least at level/m, the next at level/(m - 1), ..."""
    left = sorted(range(len(values)), key=lambda place: values[place])
    found = set[int]()
    for done, place in enumerate(left):
        if values[place] * (len(values) - done) > level:
            break
        found.add(place)
    return found


@given(p_values, st.floats(0.001, 0.999))
def test_holm_rejects_what_the_procedure_rejects(values: list[float], level: float) -> None:
    adjusted = holm(values)
    assert {place for place, value in enumerate(adjusted) if value <= level} == rejected(
        values, level
    )
    assert all(value <= found <= 1 for value, found in zip(values, adjusted, strict=True))
