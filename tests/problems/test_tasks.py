"""Which problems are drawn: of the sizes, special cases and shares that were asked for."""

import dataclasses
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from curta.config.task import Task
from curta.problems import tasks
from curta.problems.arithmetic import NumberBatch
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.problems.tasks import as_size, problems, sample, slices
from tests import tiny

BATCH = 4096
draw = jax.jit(lambda task, key: tasks.draw(task, key, BATCH), static_argnums=0)

every_operator = pytest.mark.parametrize("symbol", tiny.ON_DEVICE)
every_category = pytest.mark.parametrize(
    ("symbol", "slice_name"),
    [(symbol, slice_name) for symbol in tiny.ON_DEVICE for slice_name in slices(symbol)],
)


def drawn(task: Task, seed: int = 0) -> NumberBatch:
    return jax.device_get(draw(task, jax.random.key(seed)))


@every_operator
def test_every_drawn_problem_has_an_answer(symbol: str) -> None:
    found = sample(Task(symbol, digits=(1, 2), special=0.5), 2000)
    assert all(OPERATIONS[symbol].refuse(problem.operands) is None for problem in found)


def test_random_lengths_are_uniform_and_independent() -> None:
    found = drawn(Task(digits=(1, 4), special=0.0))
    pairs = Counter(map(tuple, found.lengths.tolist()))
    assert len(pairs) == 16
    assert max(abs(count / BATCH - 1 / 16) for count in pairs.values()) < 0.02


@pytest.mark.parametrize("symbol", ["+", "sort"])
def test_the_number_of_operands_is_uniform_and_absent_ones_come_last(symbol: str) -> None:
    found = drawn(Task(symbol, digits=(2, 4), operands=(2, 5)))
    there = found.lengths > 0
    assert (there[:, :-1] >= there[:, 1:]).all()
    counts = np.bincount(there.sum(axis=1), minlength=6)
    np.testing.assert_allclose(counts / BATCH, [0, 0, 0.25, 0.25, 0.25, 0.25], atol=0.03)


def test_special_problems_are_the_asked_share() -> None:
    equal = {
        share: np.mean(
            [p.operands[0] == p.operands[1] for p in sample(Task("<", special=share), 4000)]
        )
        for share in (0.0, 0.3, 1.0)
    }
    assert equal[0.0] < 0.05
    assert equal[0.3] == pytest.approx(equal[0.0] + 0.1, abs=0.03)
    assert equal[1.0] == pytest.approx(1 / 3, abs=0.05)


def test_rare_problems_fade_with_the_step() -> None:
    task = Task("<", digits=(6, 6), special=0.9, special_until=100)

    @jax.jit
    def equal(step: Array) -> Array:
        digits = tasks.draw(task, jax.random.key(1), BATCH, step).digits
        return jnp.mean(jnp.all(digits[:, 0] == digits[:, 1], axis=-1))

    found = [float(equal(jnp.int32(step))) for step in (0, 50, 100, 500)]
    np.testing.assert_allclose(found, [0.3, 0.15, 0, 0], atol=0.03)


def test_in_every_second_place_the_smallest_of_several_divisors_is_trained_on() -> None:
    """9 of 99 divisors have one digit: of the smallest of four, 1 - (90 / 99)^4 should have."""
    task = Task("//", special=0.0, values=(0, 99), held_out=2000, smallest_of=4)
    short = drawn(task).lengths[:, 1] == 1
    assert np.mean(short[::2]) == pytest.approx(9 / 99, abs=0.03)
    assert np.mean(short[1::2]) == pytest.approx(1 - (90 / 99) ** 4, abs=0.04)
    held_out = set(map(tuple, tasks.table(task).pairs(jnp.arange(2000)).tolist()))
    assert not held_out & {problem.operands for problem in sample(task, BATCH)}


# Test problems, as Python's ints.


def widths(problem: Problem) -> list[int]:
    return [len(str(value)) for value in problem.operands]


def size_of(symbol: str, digits: int) -> tuple[int, ...]:
    return (digits,) * (3 if symbol in ("sort", "order") else OPERATIONS[symbol].least)


@every_category
@pytest.mark.parametrize("digits", [1, 40])
def test_no_test_problem_is_longer_than_was_asked_for(
    symbol: str, slice_name: str, digits: int
) -> None:
    size = size_of(symbol, digits)
    for problem in problems(symbol, slice_name, size, 100, seed=1):
        assert len(problem.operands) == len(size)
        assert max(widths(problem)) <= digits
        assert problem.operation.refuse(problem.operands) is None


def test_of_more_problems_the_first_are_the_same() -> None:
    assert problems("+", "carry", (3, 3), 20, 1)[:5] == problems("+", "carry", (3, 3), 5, 1)


@pytest.mark.parametrize(
    ("size", "symbol", "digits"),
    [
        (20, "sort", (20,)),
        ("50/25", "//", (50, 25)),
        ("5/3", "+", (5, 3)),
        ("3x7", "sort", (7, 7, 7)),
    ],
)
def test_a_size_says_the_digits_of_each_operand(
    size: int | str, symbol: str, digits: tuple[int, ...]
) -> None:
    assert as_size(size, symbol) == digits


FIXED = Task(digits=(1, 3), special=0.0, rows=36)


def as_ints(found: NumberBatch) -> list[tuple[int, ...]]:
    return [problem.operands for problem in tasks.as_problems("+", found)]


@pytest.mark.parametrize("task", [FIXED, Task(values=(0, 6), held_out=13, special=0.0)])
def test_in_an_epoch_each_problem_comes_once(task: Task) -> None:
    """36 problems in batches of 8: the fifth batch ends one epoch and begins another."""
    whole = sorted(as_ints(tasks.numbered(task, jnp.arange(36))))
    batch = jax.jit(lambda order, step: tasks.epoch_batch(task, order, 8, step))
    turns = [
        problem for step in range(18)
        for problem in as_ints(batch(jnp.uint32(5), jnp.int32(step)))
    ]  # fmt: skip
    epochs = [turns[first : first + 36] for first in range(0, 144, 36)]
    assert [sorted(epoch) for epoch in epochs] == [whole] * 4
    assert len(set(map(tuple, epochs))) == 4
    other = as_ints(batch(jnp.uint32(6), jnp.int32(0)))
    assert other != turns[:8]


def test_fixed_batches_come_in_one_order_without_the_remainder() -> None:
    """36 problems are four batches of 8; the last four problems never come."""
    task = Task(values=(0, 6), held_out=13, special=0.0)
    batch = jax.jit(lambda step: tasks.fixed_batch(task, 8, step))
    batches = [as_ints(batch(jnp.int32(step))) for step in range(8)]
    assert batches[:4] == batches[4:]
    whole = as_ints(tasks.numbered(task, jnp.arange(36)))
    assert [problem for batch in batches[:4] for problem in batch] == whole[:32]


def test_a_fixed_set_is_tested_by_another_one_and_what_both_have_is_counted() -> None:
    task = dataclasses.replace(FIXED, zero=False)
    tested = tasks.validation(task, 90)
    sizes = Counter(tuple(len(str(value)) for value in one.operands) for one in tested)
    assert [*sizes.values()] == [10] * 9
    assert min(value for one in tested for value in one.operands) == 1
    known = set(as_ints(tasks.numbered(task, jnp.arange(36))))
    found = tasks.set_split(task, tested)
    assert (found.training, found.held_out) == (36, 90)
    assert found.overlap == sum(one.operands in known for one in tested) > 0
    twins = [one.operands[::-1] in known and len({*one.operands}) == 2 for one in tested]
    assert found.mirrored == sum(twins)
