"""A table split so that twins stand on one side: exact counts, every row once, no pair parted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.task import Task
from curta.problems import tasks
from curta.problems.problem_table import ProblemTable


def rows(table: ProblemTable) -> list[tuple[int, int]]:
    pairs = jax.jit(lambda: table.pairs(jnp.arange(table.rows)))()
    return [(a, b) for a, b in np.asarray(pairs).tolist()]


@pytest.mark.parametrize(("symbol", "high"), [("+", 0), ("gcd", 1), ("+", 3)])
def test_every_size_of_the_first_part_is_exact_and_parts_no_twins(symbol: str, high: int) -> None:
    whole = {(a, b) for a in range(high + 1) for b in range(high + 1)}
    for held_out in range(len(whole) + 1):
        found = rows(ProblemTable(symbol, 0, high, 42, held_out, twins_together=True))
        assert len(found) == len(whole)
        assert set(found) == whole
        first = set(found[:held_out])
        assert {(b, a) for a, b in first} & whole == first


@pytest.mark.parametrize("held_out", [101])
def test_held_out_ranges_part_no_twins_wherever_they_meet(held_out: int) -> None:
    table = ProblemTable("+", 0, 19, 42, held_out, twins_together=True)
    pairs = list(map(frozenset, rows(table)[:held_out]))
    for place in range(held_out):
        start = table.boundary(place)
        assert not set(pairs[:place]) & set(pairs[start:])
        assert place <= start <= place + 2
    task = Task("+", special=0.0, values=(0, 19), held_out=held_out, split=42)
    cut = next(place for place in range(held_out) if table.boundary(place) > place)
    assert len(tasks.held_out(task, range(cut, held_out - 2))) == held_out - 2 - cut
    assert len(tasks.held_out(task, range(cut, held_out))) == held_out - table.boundary(cut)


def test_a_task_keeps_twins_together_unless_it_says_otherwise() -> None:
    task = Task("+", special=0.0, values=(0, 99), held_out=2000)
    assert tasks.split(task).mirrored == 0
    apart = Task("+", special=0.0, values=(0, 99), held_out=2000, twins_together=False)
    assert tasks.split(apart).mirrored > 1500
    assert (tasks.split(task).training, tasks.split(task).overlap) == (8000, 0)
