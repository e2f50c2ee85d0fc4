"""Tables: every pair once in an order that looks random, split as the task says."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.config.task import Task
from curta.problems import tasks
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.problems.problem_table import ProblemTable, shuffled
from tests import tiny

OPERATORS = [symbol for symbol in tiny.ON_DEVICE if OPERATIONS[symbol].least == 2]


in_order = jax.jit(lambda rows, seed: shuffled(jnp.arange(rows), rows, seed), static_argnums=(0, 1))


@settings(max_examples=20)
@given(rows=st.integers(1, 500), seed=st.integers(0, 1000))
def test_the_order_is_a_bijection(rows: int, seed: int) -> None:
    found = np.asarray(in_order(rows, seed))
    np.testing.assert_array_equal(np.sort(found), np.arange(rows))


def test_the_order_looks_random() -> None:
    """Neither place and row nor neighbouring rows are correlated; a tenth has the mean of all."""
    rows = 100_000
    found = np.asarray(shuffled(jnp.arange(rows), rows, 3)).astype(float)
    assert abs(np.corrcoef(np.arange(rows), found)[0, 1]) < 0.02
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.02
    assert abs(found[: rows // 10].mean() / rows - 0.5) < 0.01


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("span", [(0, 12), (7, 11), (0, 0)])
def test_a_table_has_every_pair_that_has_an_answer_once(symbol: str, span: tuple[int, int]) -> None:
    low, high = span
    every = [(a, b) for a in range(low, high + 1) for b in range(low, high + 1)]
    expected = [pair for pair in every if OPERATIONS[symbol].refuse(pair) is None]
    table = ProblemTable(symbol, low, high)
    assert table.rows == len(expected)
    assert sorted(map(tuple, table.pairs(jnp.arange(table.rows)).tolist())) == expected


def rows(table: ProblemTable) -> list[tuple[int, int]]:
    pairs = jax.jit(lambda: table.pairs(jnp.arange(table.rows)))()
    return [(a, b) for a, b in np.asarray(pairs).tolist()]


@pytest.mark.parametrize(("symbol", "high"), [("+", 0), ("gcd", 1), ("+", 2)])
def test_every_size_of_the_first_part_is_exact_and_parts_no_twins(symbol: str, high: int) -> None:
    whole = {(a, b) for a in range(high + 1) for b in range(high + 1)}
    for held_out in range(len(whole) + 1):
        found = rows(ProblemTable(symbol, 0, high, 42, held_out, twins_together=True))
        assert len(found) == len(whole)
        assert set(found) == whole
        first = set(found[:held_out])
        assert {(b, a) for a, b in first} & whole == first


def test_held_out_ranges_part_no_twins_wherever_they_meet() -> None:
    held_out = 101
    table = ProblemTable("+", 0, 19, 42, held_out, twins_together=True)
    pairs = list(map(frozenset, rows(table)[:held_out]))
    for place in range(held_out):
        start = table.held_range(place, held_out).start
        assert not set(pairs[:place]) & set(pairs[start:])
        assert place <= start <= place + 2
    task = Task("+", special=0.0, values=(0, 19), held_out=held_out, split=42)
    cut = next(place for place in range(held_out) if table.held_range(place, 1).start > place)
    assert len(tasks.held_out(task, range(cut, held_out - 2))) == held_out - 2 - cut
    assert (
        len(tasks.held_out(task, range(cut, held_out)))
        == held_out - table.held_range(cut, held_out).start
    )


def operands(task: Task, places: range) -> set[tuple[int, ...]]:
    return {problem.operands for problem in tasks.held_out(task, places)}


@pytest.mark.parametrize("operator", ["-", "*", "//"])
@pytest.mark.parametrize("rows", [0, 20])
@pytest.mark.parametrize("together", [False, True])
def test_a_split_is_counted(operator: str, rows: int, together: bool) -> None:
    task = Task(operator, special=0.0, values=(0, 9), held_out=30, rows=rows)
    task = dataclasses.replace(task, twins_together=together)
    found = tasks.split(task)
    end = 30 + rows if rows else tasks.table(task).rows
    every = [(a, b) for a, b in tasks.table(task).pairs(jnp.arange(end)).tolist()]
    out, known = operands(task, range(30)), set(every[30:])
    if not rows:
        pairs = {(a, b) for a in range(10) for b in range(10) if b or operator != "//"}
        assert known == pairs - out
    same = {
        (a, b)
        for a, b in out
        if a != b and (b, a) in known
        and Problem(operator, (a, b)).truth == Problem(operator, (b, a)).truth
    }  # fmt: skip
    assert (found.held_out, found.training, found.overlap) == (len(out), len(known), 0)
    assert found.mirrored == len(same)
    assert (found.mirrored > 0) == (operator == "*" and not together)
