"""The tables of fields are those that the script writes."""

import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from curta.config.recipe import field_paths

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(PAGE.parent)
    return import_module("fields")


def test_the_page_is_as_the_script_writes_it(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copy(PAGE, tmp_path))
    monkeypatch.setattr(script, "PAGE", copy)
    script.main()
    assert copy.read_text("utf-8") == PAGE.read_text("utf-8")


def test_the_page_has_every_field() -> None:
    text = PAGE.read_text("utf-8")
    assert [path for path in field_paths() if f"| `{path.rpartition('.')[2]}` |" not in text] == []
