"""How a table is divided into problems that are trained on and held out, mirrored ones too."""

import dataclasses

import jax.numpy as jnp
import pytest

from curta.config.task import Task
from curta.problems import tasks
from curta.problems.problem import Problem


def operands(task: Task, places: range) -> set[tuple[int, ...]]:
    return {problem.operands for problem in tasks.held_out(task, places)}


@pytest.mark.parametrize("operator", ["+", "-", "*", "//"])
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
    assert (found.mirrored > 0) == (operator in "+*" and not together)
