"""Columns made on arrays are those that Python writes row by row."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.config.task import Task
from curta.export.dataset.columns import Columns, keys
from curta.export.dataset.splits import TRAIN, Recorded, Source
from curta.export.formats import JsonLines
from curta.frontends import api
from curta.layouts import LAYOUTS, layout_named
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.problems.problem import Problem, parse
from tests import paper, tiny

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'curta[data]'")

ROWS = 300
CASES = {
    "difference": ("reversed", Task("-", digits=(1, 12))),
    "table": ("plain", Task("-", values=(0, 99), special=0.0)),
    "hints": ("hints", Task("+", digits=(1, 5))),
    "sorted": ("plain", Task("sort", digits=(1, 3), operands=(1, 4))),
    "compared": ("reversed", Task("<", digits=(1, 4))),
}


def tables(name: str, columns: Columns) -> tuple[Any, Any]:
    """The first rows of a task: made on arrays, and row by row."""
    layout, task = layout_named(CASES[name][0]), CASES[name][1]
    source = Source(task, layout, TRAIN, ROWS, places=range(ROWS) if task.values else None)
    written, mine = next(source.batches())
    mine = mine & (np.arange(len(mine)) < ROWS)
    problems = [
        Problem(task.operator, tuple(_value(d, n) for d, n in zip(*row, strict=True) if n))
        for row in zip(written.numbers.digits[mine], written.numbers.lengths[mine], strict=True)
    ]
    made = columns.of_arrays(written, mine, task.operator, layout)
    return made, columns.of_problems(problems, layout)


def test_answers_with_a_point_are_strings() -> None:
    layout = paper.layout(
        tiny.recipe(program="fractions", task__operator="+.", task__digits=[1, 2])
    )
    columns = Columns(decimal=True, several=False, program=layout)
    (row,) = columns.of_problems([parse("12.5+3.75")], layout).to_pylist()
    assert (row["operands"], row["answer"]) == (["5", "12", "57", "3"], "16.25")
    assert (row["prompt"], row["completion"]) == ("05.21+57.3=", "52.¹61$")


def _value(digits: Any, length: Any) -> int:
    return int("".join(map(str, digits[:length][::-1])))


@pytest.mark.parametrize(("name", "decimal"), list(itertools.product(CASES, (False, True))))
def test_columns_are_those_that_python_writes(name: str, decimal: bool) -> None:
    columns = Columns(decimal, several=name == "sorted")
    made, expected = tables(name, columns)
    made.validate(full=True)
    assert len(made) > ROWS / 2
    assert made.schema == expected.schema == columns.schema
    assert made.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize(("name", "operator"), [("addition", "+"), ("multiplication", "*")])
def test_a_program_has_its_tokens_with_their_roles_and_squares(name: str, operator: str) -> None:
    """Every text is followed token by token, as a pen moves."""
    layout = layout_of(api.resolve(name, {}))
    assert isinstance(layout, ProgramLayout)
    columns = Columns(decimal=False, several=False, program=layout)
    source = Recorded(Task(operator, digits=(1, 3)), layout, TRAIN, ROWS)
    table = next(source.tables(columns))
    table.validate(full=True)
    assert len(table) > ROWS / 2
    for row in table.slice(0, 50).to_pylist():
        tokens, prompt = layout.tokens_of(Problem(operator, tuple(row["operands"])))
        assert (row["tokens"], row["prompt_tokens"]) == (tokens, prompt)
        assert row["prompt"] + row["completion"] == layout.decode(tokens)
        assert row["roles"] == [layout.machine.tokens[token].role for token in tokens]
        at = np.zeros(len(layout.axes), int)
        for place, token in enumerate(tokens):
            at = layout.machine.advance(at, np.array(token))
            assert [row[f"square_{axis}"][place] for axis in layout.axes] == at.tolist()


def test_a_program_without_problems_of_a_split_gives_an_empty_table() -> None:
    layout = layout_of(api.resolve("addition", {}))
    assert isinstance(layout, ProgramLayout)
    columns = Columns(decimal=False, several=False, program=layout)
    assert columns.of_problems([], layout).schema == columns.schema


def test_keys_tell_apart_just_the_problems() -> None:
    made, _ = tables("sorted", Columns(decimal=False, several=True))
    operands = [" ".join(sorted(map(str, row["operands"]))) for row in made.to_pylist()]
    assert keys(made).to_pylist() == [f"sort {numbers}" for numbers in operands]
    text = keys(tables("sorted", Columns(decimal=True, several=True))[0])
    assert text.to_pylist() == keys(made).to_pylist()


def test_lines_of_json_are_those_that_python_writes(tmp_path: Path) -> None:
    """Also of texts with signs that JSON escapes, as a program's may be."""
    import pyarrow

    rows = [
        {"prompt": '1"2\\', "operands": [1, 2], "roles": ['"', "a\\b"], "answer": 3},
        {"prompt": "12", "operands": [], "roles": ["a"], "answer": -4},
    ]
    table = pyarrow.Table.from_pylist(rows)
    for kept in (table, table.slice(1)):
        path = tmp_path / f"{len(kept)}.jsonl"
        file = JsonLines(path, table.schema)
        file.write(kept.combine_chunks())
        file.close()
        written = [json.dumps(row, ensure_ascii=False) for row in kept.to_pylist()]
        assert path.read_text("utf-8").splitlines() == written


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda layout: layout.name)
def test_no_character_of_a_layout_has_to_be_escaped_in_a_line_of_json(layout: Any) -> None:
    """Lines of JSON and of text are formed from columns as they are; tokens are bytes."""
    assert not set("".join(layout.characters)) & set('"\\\n\r\x00')
    assert "".join(layout.characters).isprintable()
    assert len(layout.characters) <= 256
