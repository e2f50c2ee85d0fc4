"""Columns made on arrays are those that Python writes row by row."""

import itertools
from typing import Any

import numpy as np
import pytest

from curta.data.columns import Columns, keys
from curta.data.splits import TRAIN, Source
from curta.layouts import LAYOUTS, layout_named
from curta.problems import Problem
from curta.tasks import Task

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'curta[data]'")

ROWS = 300
CASES = {
    "difference": Task("-", digits=(1, 12)),
    "plain": Task("-", digits=(1, 3), values=(0, 99), special=0.0),
    "hints": Task("+", digits=(1, 5)),
    "insertion": Task("sort", digits=(1, 3), operands=(1, 4)),
    "comparison": Task("<", digits=(1, 4)),
}


def tables(name: str, columns: Columns) -> tuple[Any, Any]:
    """The first rows of a task: made on arrays, and row by row."""
    task, layout = CASES[name], layout_named(name)
    source = Source(task, layout, TRAIN, ROWS, places=range(ROWS) if task.table else None)
    written, mine = next(source.batches())
    mine = mine & (np.arange(len(mine)) < ROWS)
    problems = [
        Problem(task.operator, tuple(_value(d, n) for d, n in zip(*row, strict=True) if n))
        for row in zip(written.numbers.digits[mine], written.numbers.lengths[mine], strict=True)
    ]
    made = columns.of_arrays(written, mine, task.operator, layout)
    return made, columns.of_problems(problems, layout)


def _value(digits: Any, length: Any) -> int:
    return int("".join(map(str, digits[:length][::-1])))


@pytest.mark.parametrize(("name", "decimal"), list(itertools.product(CASES, (False, True))))
def test_columns_are_those_that_python_writes(name: str, decimal: bool) -> None:
    columns = Columns(decimal, several=CASES[name].operator == "sort")
    made, expected = tables(name, columns)
    made.validate(full=True)
    assert len(made) > ROWS / 2
    assert made.schema == expected.schema == columns.schema
    assert made.to_pylist() == expected.to_pylist()


def test_keys_tell_apart_just_the_problems() -> None:
    made, _ = tables("insertion", Columns(decimal=False, several=True))
    operands = [" ".join(map(str, row["operands"])) for row in made.to_pylist()]
    assert keys(made).to_pylist() == [f"sort {numbers}" for numbers in operands]
    text = keys(tables("insertion", Columns(decimal=True, several=True))[0])
    assert text.to_pylist() == keys(made).to_pylist()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda layout: layout.name)
def test_no_character_of_a_layout_has_to_be_escaped_in_a_line_of_json(layout: Any) -> None:
    """Lines of JSON and of text are formed from columns as they are; tokens are bytes."""
    assert not set(layout.characters) & set('"\\\n\r\x00')
    assert layout.characters.isprintable()
    assert len(layout.characters) <= 256
