"""Every number, list and text of a recipe has a bound."""

import dataclasses
import re
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from annotated_types import BaseMetadata, Ge, Gt, Le, Lt, MaxLen
from pydantic import StringConstraints

from curta.config import limits
from curta.config.errors import UserError, as_line, quoted
from curta.config.model import ModelConfig
from curta.config.optimizer import OPTIMIZERS
from curta.config.positions import Positions, UserEncoding
from curta.config.recipe import Recipe, changed_evaluation, field_paths
from curta.config.sections import EvaluationSettings, Training
from curta.config.task import Task
from curta.probes import PROBES
from curta.runs.comparison_spec import Draft, Entry, draft, resolve, with_settings
from tests import tiny

SECTIONS = [
    Recipe, Task, ModelConfig, Training, EvaluationSettings, *OPTIMIZERS.values(), Entry, Draft,
    *(one for one in Positions.__args__ if one is not UserEncoding),
]  # fmt: skip

LOWER_BY_HAND = {"digits", "second", "operands"}
"""Spans, whose lower end `Task` checks itself."""


def unbounded(kind: Any, known: tuple[Any, ...] = ()) -> Iterator[str]:
    """What of a type has no bound: numbers, lists and texts, those within others too."""
    if typing.get_origin(kind) is Annotated:
        yield from unbounded(kind.__origin__, (*known, *kind.__metadata__))
        return
    found = {type(one) for one in known if isinstance(one, BaseMetadata | StringConstraints)}
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in (int, float):
        yield from [f"{kind.__name__}: no upper bound"] * (not found & {Le, Lt})
        yield from [f"{kind.__name__}: no lower bound"] * (not found & {Ge, Gt})
    if kind is str and not found & {MaxLen, StringConstraints}:
        yield "text: no bound"
    many = origin is dict or (origin is tuple and Ellipsis in inner)
    if many and MaxLen not in found:
        yield f"{kind}: no bound"
    if origin in (tuple, dict, typing.Union, types.UnionType):
        for one in inner:
            yield from unbounded(one)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.__name__)
def test_every_field_is_bounded(section: type) -> None:
    hints = typing.get_type_hints(section, include_extras=True)
    for field in dataclasses.fields(section):
        found = list(unbounded(hints[field.name]))
        if field.name in LOWER_BY_HAND:
            found = [one for one in found if "lower" not in one]
        assert not found or field.name in ("changes", "common", "sweep"), (field.name, found)


NUMBERS = [
    path for path in field_paths()
    if path.split(".")[0] in ("model", "training", "evaluation", "optimizer", "task")
]  # fmt: skip


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize("value", [10**30, -(10**30), "x" * 10_000, ["x"] * 10_000])
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
        tiny.recipe(evaluation__digits=[size])
    with pytest.raises(UserError, match=r"evaluation\.digits"):
        EvaluationSettings(digits=(size,))


@pytest.mark.parametrize("name", PROBES)
def test_options_of_probes_are_bounded(name: str) -> None:
    for field in dataclasses.fields(PROBES[name]):
        if field.metadata["kind"] is int:
            with pytest.raises(UserError, match="at most"):
                PROBES[name](**{field.name: 10**30})
            with pytest.raises(UserError, match="at least"):
                PROBES[name](**{field.name: -1})


def test_seeds_are_counted_before_they_are_listed() -> None:
    limits.check_seeds(limits.MEMBERS)
    for seeds in (10**30, 10**9, range(10**9)):
        with pytest.raises(UserError, match="at most 10,000 seeds"):
            limits.check_seeds(seeds)


def test_a_sweep_has_an_end() -> None:
    with pytest.raises(UserError, match="at most 1,000 runs"):
        resolve(
            *with_settings(
                draft(["addition"]), {f"model.{name}": list(range(9)) for name in "abcdefghijklmn"}
            )
        )


@pytest.mark.parametrize(
    "given", ["", " ", "a\0", "a\nb", "n" * 201, "é" * 150, "/".join("a" * 5000)]
)
def test_what_can_be_no_path_is_refused(given: str) -> None:
    with pytest.raises(UserError):
        limits.check_path(given)


@pytest.mark.parametrize(
    "text", ["\0", "a\x1b[31m", "\u202e", "\udcff", "n" * 10_000, "\0" * 10_000]
)
def test_a_line_can_be_shown(text: str) -> None:
    for line in (as_line(text), quoted(text)):
        assert line.isprintable()
        assert len(line) <= 290


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"count": 10**30}, "evaluation: count must be at most 10,000,000 (got"),
        ({"seed": -1}, "evaluation: seed must be at least 0 (got -1)"),
        ({"digits": (10**9,)}, "evaluation: digits.0 must be at most 100,000 (got"),
        ({"cuont": 3}, "unknown field of the evaluation 'cuont': did you mean 'count'"),
        ({"count": 10**5000}, "one of its numbers has thousands of digits"),
    ],
)
def test_an_evaluation_from_python_has_the_same_bounds(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=re.escape(says)):
        changed_evaluation(EvaluationSettings(), changes)
    assert changed_evaluation(EvaluationSettings(), {"digits": (2, "5/3")}).digits == (2, "5/3")
