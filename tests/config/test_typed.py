"""Dataclasses as JSON: each comes back as it was, and a damaged file is one line."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any, ClassVar

import pytest

from curta.config import typed
from curta.config.errors import UserError


@dataclasses.dataclass(frozen=True)
class Kiln:
    heat: float
    door: str = "shut"

    def __post_init__(self) -> None:
        if 9 < self.heat < math.inf:
            raise UserError("kiln.heat is above 9")


@dataclasses.dataclass(frozen=True)
class Pottery:
    """The content of a file."""

    FORMAT: ClassVar[int] = 3
    REMEDY: ClassVar[str] = "fire it again"

    name: str
    kilns: list[Kiln]
    shelves: dict[str, tuple[int, ...]] | None = None


POTTERY = Pottery("größe", [Kiln(0.25), Kiln(math.inf, "open")], {"top": (1, 2)})


def test_a_value_comes_back_from_its_file_and_defaults_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    for value in (POTTERY, dataclasses.replace(POTTERY, shelves=None)):
        path.write_text(typed.text(value))
        assert typed.read(Pottery, path, "it") == value
    assert typed.as_json(Pottery("x", [Kiln(1.0)])) == {
        "format": 3, "name": "x", "kilns": [{"heat": 1.0}]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("", "it is damaged: file.json is not valid JSON"),
        ("[]", "it is damaged: file.json holds no table"),
        ("{}", "it is damaged: file.json lacks 'format'"),
        ({"name": None}, "it is damaged: file.json: name should be a valid string, not null"),
        ({"kilns": [{"heat": "hot"}]}, "it is damaged: file.json: kilns.0.heat should be"),
        ({"kilns": [{}]}, "it is damaged: file.json: kilns.0.heat is missing"),
        ({"more": 1}, "it is damaged: file.json: unknown field 'more'"),
        ({"format": 4}, "it was made by a newer version (format 4): update curta"),
        ({"format": 2}, "it was made by an earlier version (format 2): fire it again"),
    ],
    ids=str,
)
def test_a_damaged_file_is_one_line(change: Any, line: str, tmp_path: Path) -> None:
    path, content = tmp_path / "file.json", typed.as_json(POTTERY)
    path.write_text(change if isinstance(change, str) else json.dumps(content | change))
    with pytest.raises(UserError) as caught:
        typed.read(Pottery, path, "it")
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
