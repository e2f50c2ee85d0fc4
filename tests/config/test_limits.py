"""Every number of a recipe has bounds, and a number beyond them is one line."""

import dataclasses
import re
from typing import Any

import pytest

from curta.config import limits
from curta.config.errors import UserError, as_line, quoted
from curta.config.recipe import changed_evaluation, field_paths
from curta.config.sections import EvaluationSettings
from curta.probes import PROBES
from curta.runs.comparison_spec import draft, resolve, with_settings
from tests import tiny

PATHS = [
    path for path in field_paths()
    if path.split(".")[0] in ("model", "training", "evaluation", "optimizer", "task")
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", [10**30, -(10**30)])
def test_a_value_beyond_all_bounds_is_refused(path: str, value: Any) -> None:
    with pytest.raises(UserError) as caught:
        tiny.recipe(**{path.replace(".", "__"): value})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("field", ["digits", "second", "operands", "values"])
@pytest.mark.parametrize("span", [[1, 10**30], [0, -1], [1], [1, 2, 3]])
def test_a_span_beyond_all_bounds_is_refused(field: str, span: list[int]) -> None:
    with pytest.raises(UserError):
        tiny.recipe(**{f"task__{field}": span})


@pytest.mark.parametrize("size", [100_001, "100001/2", "2/100001", "1001x5", "999999x1"])
def test_a_size_beyond_all_bounds_is_refused(size: int | str) -> None:
    with pytest.raises(UserError, match=r"evaluation\.digits"):
        EvaluationSettings(digits=(size,))


@pytest.mark.parametrize("name", PROBES)
def test_options_of_probes_are_bounded(name: str) -> None:
    for field in dataclasses.fields(PROBES[name]):
        if field.metadata["kind"] is int:
            for value, line in ((10**30, "at most"), (-1, "at least")):
                with pytest.raises(UserError, match=line):
                    PROBES[name](**{field.name: value})


def test_seeds_and_sweeps_are_counted_before_they_are_listed() -> None:
    limits.check_seeds(limits.MEMBERS)
    for seeds in (10**30, range(10**9)):
        with pytest.raises(UserError, match="at most 10,000 seeds"):
            limits.check_seeds(seeds)
    swept = {f"model.{name}": list(range(9)) for name in "abcdefghijklmn"}
    with pytest.raises(UserError, match="at most 1,000 runs"):
        resolve(*with_settings(draft(["addition"]), swept))


@pytest.mark.parametrize("path", ["", " ", "a\0", "a\nb", "n" * 201, "é" * 150])
def test_a_name_that_no_file_can_have_is_refused(path: str) -> None:
    with pytest.raises(UserError):
        limits.check_path(path)


@pytest.mark.parametrize("text", ["a\x1b[31m", "\u202e", "\udcff", "n" * 10_000, "\0" * 10_000])
def test_foreign_text_is_printable_and_short(text: str) -> None:
    for line in (as_line(text), quoted(text)):
        assert line.isprintable()
        assert len(line) <= 290


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"count": 10**30}, "evaluation: count must be at most 10,000,000 (got"),
        ({"digits": (10**9,)}, "evaluation: digits.0 must be at most 100,000 (got"),
        ({"cuont": 3}, "unknown field of the evaluation 'cuont': did you mean 'count'"),
    ],
)
def test_an_evaluation_from_python_has_the_same_bounds(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=re.escape(line)):
        changed_evaluation(EvaluationSettings(), changes)
    assert changed_evaluation(EvaluationSettings(), {"digits": (2, "5/3")}).digits == (2, "5/3")
