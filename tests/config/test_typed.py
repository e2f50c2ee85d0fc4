"""Dataclasses as JSON: each comes back as it was, and a damaged file is one line."""

import dataclasses
import inspect
import json
import math
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from curta.config import typed
from curta.config.errors import UserError
from curta.evaluation import results as evaluation
from curta.evaluation.results import Certificate, Evaluation
from curta.probes.results import ProbeTable
from curta.runs import info
from curta.runs import info as runs
from curta.runs.info import ComparisonResults, Metric, RunInfo


def kinds() -> Iterator[type[Any]]:
    """Every dataclass of results."""
    for module in (evaluation, info, runs):
        for kind in vars(module).values():
            if inspect.isclass(kind) and dataclasses.is_dataclass(kind):
                yield kind
    yield ProbeTable


def made(hint: Any) -> Any:
    """Some value of a type; of a dataclass one with all fields set."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        names = [field.name for field in dataclasses.fields(hint)]
        return hint(**{name: made(hints[name]) for name in names})  # type: ignore[operator]
    if origin is Annotated or origin in (typing.Union, types.UnionType):
        return made(inner[0])
    if origin is Literal:
        return inner[0]
    if origin is list:
        return [made(inner[0])] * 2
    if origin is tuple:
        return (made(inner[0]),) * 2
    if origin is dict:
        return {made(inner[0]): made(inner[1])}
    if typing.is_typeddict(hint) or hint.__class__.__name__ == "_TypedDictMeta":
        return {"shows": "Lines.", "panels": [LINES]}
    return {str: "größe", int: 3, float: 0.25, bool: True, Any: [1, None, "x"]}[hint]


LINES = {
    "form": "lines", "title": "+", "across": "digits", "points": ["3"], "curves": [[1.0, None]]
}  # fmt: skip


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_result_comes_back_from_json(kind: type[Any]) -> None:
    value = made(kind)
    content = json.loads(typed.text(value))
    version = content.pop("format", None)
    assert version == getattr(kind, "FORMAT", None)
    assert typed.parse(kind, json.dumps(content), "it", "file") == value


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_result_says_what_it_is(kind: type[Any]) -> None:
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")


def test_a_default_is_left_out_and_comes_back() -> None:
    row = Metric(10, 0, None, 0.5, 1.0)
    assert typed.as_json(row) == {
        "step": 10, "member": 0, "loss": None, "exact_match": 0.5, "seconds": 1.0
    }  # fmt: skip
    assert typed.parse(Metric, typed.text(row), "it", "file") == row


def test_what_is_infinite_comes_back() -> None:
    row = Metric(10, 0, math.inf, 0.5, 1.0)
    assert typed.parse(Metric, typed.text(row), "it", "file") == row


def test_a_slice_is_called_so_in_json() -> None:
    found = typed.as_json(made(evaluation.SliceSummary))
    assert found["slice"] == "größe"
    assert "slice_name" not in found


FILES = (RunInfo, Evaluation, Certificate, ComparisonResults, ProbeTable)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text[:-3], "it is damaged: file.json is not valid JSON"),
        (lambda text: "[]", "it is damaged: file.json holds no table"),
        (lambda text: "{}", "it is damaged: file.json lacks 'format'"),
    ],
)
def test_a_damaged_file_is_one_line(
    kind: type[Any], change: Any, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    path.write_text(change(typed.text(made(kind))))
    assert refused(kind, path) == says


@pytest.mark.parametrize("kind", FILES)
def test_a_field_that_is_missing_wrong_or_unknown_is_named(kind: type[Any], tmp_path: Path) -> None:
    path, content = tmp_path / "file.json", typed.as_json(made(kind))
    name = dataclasses.fields(kind)[0].name
    path.write_text(json.dumps({key: value for key, value in content.items() if key != name}))
    assert refused(kind, path) == f"it is damaged: file.json lacks {name!r}"
    path.write_text(json.dumps(content | {name: ["x"]}))
    assert f"file.json is wrong at '{name}" in refused(kind, path)
    path.write_text(json.dumps(content | {"more": 1}))
    assert "file.json has no field 'more'" in refused(kind, path)


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_another_version_is_refused(kind: type[Any], tmp_path: Path) -> None:
    path, content = tmp_path / "file.json", typed.as_json(made(kind))
    path.write_text(json.dumps(content | {"format": kind.FORMAT + 1}))
    assert f"newer version (format {kind.FORMAT + 1}): update curta" in refused(kind, path)
    path.write_text(json.dumps(content | {"format": kind.FORMAT - 1}))
    assert f"earlier version (format {kind.FORMAT - 1}): {kind.REMEDY}" in refused(kind, path)


def refused(kind: type[Any], path: Path) -> str:
    with pytest.raises(UserError) as caught:
        typed.read(kind, path, "it")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@dataclasses.dataclass(frozen=True)
class Kiln:
    heat: int
    door: str = "shut"

    def __post_init__(self) -> None:
        if self.heat > 9:
            raise UserError("kiln.heat is above 9")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"heat": "2"}', 'x: kiln.heat should be a valid integer, not "2"'),
        ("{}", "x: kiln.heat is missing"),
        ('{"haet": 2}', "x: unknown field 'kiln.haet': did you mean 'kiln.heat'?"),
        ('{"heat": "2", "lid": 1}', "x: unknown field 'kiln.lid': choose from kiln.door, kiln"),
        ('{"heat": 10}', "x: kiln.heat is above 9"),
        ("[1]", "x: kiln "),
    ],
)
def test_a_users_mistake_is_one_line_with_its_field(text: str, line: str) -> None:
    with pytest.raises(UserError) as caught:
        typed.parse_fields(Kiln, text, "x", "kiln.")
    assert str(caught.value).startswith(line)
