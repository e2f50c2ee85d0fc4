"""What explains a value, held against plain loops."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.probes.inside.factors import (
    WindowFactor,
    additive,
    carried,
    explained,
    functions,
    together,
)

PAIRS = np.array(list(product(range(10), range(10), (0, 1))))
X, Y = WindowFactor.of("x", PAIRS[:, 0]), WindowFactor.of("y", PAIRS[:, 1])
IN = PAIRS[:, 2]


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 3)), min_size=2, max_size=30))
def test_a_share_is_variance_between_groups(drawn: list[tuple[float, int]]) -> None:
    values, groups = (np.array(column) for column in zip(*drawn, strict=True))
    fitted = np.array([values[groups == group].mean() for group in groups])
    whole = values.var()
    expected = fitted.var() / whole if whole > 1e-12 else 0.0
    assert explained(values, WindowFactor.of("group", groups)) == pytest.approx(expected, abs=1e-6)


def test_sums_are_additive_and_products_are_not() -> None:
    signs = np.array(list(product((-1, 1), (-1, 1))))
    x, y = WindowFactor.of("x", signs[:, 0]), WindowFactor.of("y", signs[:, 1])
    for values, added in ((signs.sum(axis=1), 1.0), (signs.prod(axis=1), 0.0)):
        assert additive(values.astype(float), x, y) == pytest.approx(added, abs=1e-9)
        assert explained(values.astype(float), together(x, y)) == pytest.approx(1.0)


def test_carries_and_borrows_follow_from_the_digit_that_is_written() -> None:
    total, rest = PAIRS[:, 0] + PAIRS[:, 1] + IN, PAIRS[:, 0] - PAIRS[:, 1] - IN
    for name, written in (("carry", total % 10), ("borrow", rest % 10)):
        carry = carried(X, Y, written)
        assert carry is not None
        assert carry.name == name
        assert carry.digits is not None
        assert (carry.digits == IN).all()
    assert carried(X, Y, PAIRS[:, 0] * PAIRS[:, 1] % 10) is None
    assert carried(X, WindowFactor("signs", Y.codes, Y.labels), total % 10) is None


def test_functions_of_two_digits_and_a_carry() -> None:
    total, rest = PAIRS[:, 0] + PAIRS[:, 1] + IN, PAIRS[:, 0] - PAIRS[:, 1] - IN
    known = {
        "carry": {"x + y": total - IN, "x + y + carry": total, "x + y + carry >= 10": total > 9},
        "borrow": {"x - y": rest + IN, "x - y - borrow": rest, "x - y - borrow < 0": rest < 0},
    }
    for name, expected in known.items():
        found = {one.name: one.digits for one in functions(X, Y, WindowFactor.of(name, IN))}
        assert list(found) == [next(iter(expected)), name, *list(expected)[1:]]
        for one, values in expected.items():
            assert np.array_equal(found[one], values)
    assert [one.name for one in functions(X, Y, None)] == ["x + y", "x - y", "x < y"]
    assert not list(functions(X, WindowFactor("signs", Y.codes, Y.labels), None))
