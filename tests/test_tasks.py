"""Which problems are drawn: of the lengths, carries and categories that were asked for."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
from curta.errors import UserError
from curta.layouts import Numbers
from curta.problems import Problem
from curta.tasks import CATEGORIES, Task, numbers, problems

BATCH = 4096
draw = jax.jit(lambda task, key: task.draw(key, BATCH), static_argnums=0)


def drawn(task: Task, seed: int = 0) -> Numbers:
    return jax.device_get(draw(task, jax.random.key(seed)))


def check_written_form(found: Numbers) -> None:
    """Digits within 0..9, no leading zero but in zero itself, zeros beyond the length."""
    places = np.arange(found.digits.shape[-1])
    last = np.take_along_axis(found.digits, found.lengths[..., None] - 1, axis=-1)[..., 0]
    assert ((found.digits >= 0) & (found.digits <= 9)).all()
    assert (found.digits[places >= found.lengths[..., None]] == 0).all()
    assert ((last > 0) | (found.lengths == 1)).all()


@pytest.mark.parametrize("chains", [0.0, 0.25, 1.0])
def test_drawn_numbers_are_written_as_numbers_are(chains: float) -> None:
    found = drawn(Task(digits=(2, 7), carry_chains=chains))
    assert found.digits.shape == (BATCH, 2, 7)
    assert set(np.unique(found.lengths)) == set(range(2, 8))
    check_written_form(found)


def test_without_chains_lengths_are_uniform_and_independent() -> None:
    found = drawn(Task(digits=(1, 4), carry_chains=0.0))
    pairs = Counter(map(tuple, found.lengths.tolist()))
    assert len(pairs) == 16
    assert max(abs(count / BATCH - 1 / 16) for count in pairs.values()) < 0.02


def test_without_chains_digits_are_uniform() -> None:
    found = drawn(Task(digits=(3, 3), carry_chains=0.0))
    counts = np.bincount(found.digits[..., :2].ravel(), minlength=10) / (BATCH * 4)
    np.testing.assert_allclose(counts, 0.1, atol=0.01)


def test_carry_chains_are_the_asked_share_and_mostly_add_up_to_nine() -> None:
    equal = {
        share: np.mean(np.diff(drawn(Task(digits=(1, 8), carry_chains=share)).lengths) == 0)
        for share in (0.0, 0.5, 1.0)
    }
    assert equal[0.0] == pytest.approx(1 / 8, abs=0.03)
    assert equal[0.5] == pytest.approx(0.5 + 0.5 / 8, abs=0.03)
    assert equal[1.0] == 1.0
    found = drawn(Task(digits=(8, 8), carry_chains=1.0))
    nines = np.mean(found.digits[:, :, :7].sum(axis=1) == 9)
    assert nines == pytest.approx(0.8 + 0.2 * 0.1, abs=0.02)


def test_a_draw_is_a_pure_function_of_its_key() -> None:
    one, again, other = (drawn(Task(), seed) for seed in (0, 0, 1))
    assert tiny.same(one, again)
    assert not np.array_equal(one.digits, other.digits)


@given(
    digits=st.lists(st.integers(0, 9), min_size=12, max_size=12),
    lengths=st.lists(st.integers(1, 6), min_size=2, max_size=2),
)
def test_numbers_cuts_and_keeps_every_digit_but_a_leading_zero(
    digits: list[int], lengths: list[int]
) -> None:
    given = jnp.array(digits, jnp.int32).reshape(1, 2, 6)
    found = jax.device_get(numbers(given, jnp.array([lengths], jnp.int32)))
    check_written_form(found)
    for row, source, length in zip(found.digits[0], np.array(given)[0], lengths, strict=True):
        assert row[: length - 1].tolist() == source[: length - 1].tolist()
        leading = int(source[length - 1])
        assert row[length - 1] == (leading if leading or length == 1 else 1)


@pytest.mark.parametrize("digits", [(0, 3), (4, 3)])
def test_digit_counts_out_of_order_are_refused(digits: tuple[int, int]) -> None:
    with pytest.raises(UserError, match=r"task\.digits must be two counts"):
        Task(digits=digits)


# Test problems, from Python's ints.


def widths(problem: Problem) -> list[int]:
    return [len(str(value)) for value in problem.operands]


@pytest.mark.parametrize("category", CATEGORIES)
def test_test_problems_are_a_pure_function_of_what_is_asked(category: str) -> None:
    one = problems(category, (6, 6), 20, seed=3)
    assert one == problems(category, (6, 6), 20, seed=3)
    assert one[:5] == problems(category, (6, 6), 5, seed=3)
    assert one != problems(category, (6, 6), 20, seed=4)
    assert len(set(one)) > 10


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("digits", [1, 2, 3, 50])
def test_no_test_problem_is_longer_than_was_asked_for(category: str, digits: int) -> None:
    found = [widths(problem) for problem in problems(category, (digits, digits), 300, seed=1)]
    assert {max(pair) for pair in found} == {digits}


@given(first=st.integers(1, 30), second=st.integers(1, 30), seed=st.integers(0, 99))
def test_random_problems_have_exactly_the_digits_asked_for(
    first: int, second: int, seed: int
) -> None:
    assert all(widths(p) == [first, second] for p in problems("random", (first, second), 5, seed))


def test_random_operands_are_uniform_over_their_digit_count() -> None:
    found = Counter(p.operands[0] for p in problems("random", (1, 1), 3000, seed=0))
    assert set(found) == set(range(10))
    assert max(found.values()) / min(found.values()) < 1.4


def test_unequal_problems_have_one_full_operand_on_either_side() -> None:
    found = [tuple(widths(p)) for p in problems("unequal", (5, 5), 200, seed=0)]
    assert all(max(pair) == 5 for pair in found)
    assert {pair.index(5) for pair in found if min(pair) < 5} == {0, 1}
    assert {min(pair) for pair in found} == {1, 2, 3, 4, 5}


@given(digits=st.integers(2, 40), seed=st.integers(0, 99))
def test_carry_problems_carry_into_a_new_place(digits: int, seed: int) -> None:
    assert all(p.truth == 10**digits for p in problems("carry", (digits, digits), 5, seed))
