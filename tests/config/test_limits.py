"""Every number of a recipe has bounds, and a number beyond them is one line."""

import dataclasses
from typing import Any

import pytest

from curta.config import limits
from curta.config.errors import UserError
from curta.config.recipe import field_paths
from curta.config.sections import EvaluationSettings
from curta.probes import PROBES
from curta.runs.comparison_spec import plan
from tests import tiny

SECTIONS = ("model.", "training.", "evaluation.", "optimizer.", "task.")
PATHS = [path for path in field_paths() if path.startswith(SECTIONS)]
SPANS = [f"task.{name}" for name in ("digits", "second", "operands", "values")]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((path, value) for path in PATHS for value in (10**30, -(10**30))),
        *((path, span) for path in SPANS for span in ([1, 10**30], [0, -1], [1], [1, 2, 3])),
    ],
)
def test_a_value_beyond_all_bounds_is_refused(path: str, value: Any) -> None:
    with pytest.raises(UserError) as caught:
        tiny.recipe(**{path.replace(".", "__"): value})
    assert len(str(caught.value)) < 400


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
    for seeds in (10**30, range(10**9)):
        with pytest.raises(UserError, match="at most 10,000 seeds"):
            limits.check_seeds(seeds)
    swept = {f"model.{name}": list(range(9)) for name in "abcdefghijklmn"}
    with pytest.raises(UserError, match="at most 1,000 runs"):
        plan(["addition"], swept)


@pytest.mark.parametrize("path", ["", " ", "a\0", "a\nb", "n" * 201, "é" * 150])
def test_a_name_that_no_file_can_have_is_refused(path: str) -> None:
    with pytest.raises(UserError):
        limits.check_path(path)
