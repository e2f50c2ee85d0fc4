"""The tables of docs/scaling.md, and of attention in docs/architecture.md, are of the results."""

import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return import_module("scaling")


@pytest.mark.parametrize("page", ["scaling.md", "architecture.md"])
def test_a_page_is_as_the_script_writes_it(
    script: ModuleType, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copy(DOCS / page, tmp_path))
    monkeypatch.setattr(script, "PAGES", (copy,))
    script.main()
    assert copy.read_text("utf-8") == (DOCS / page).read_text("utf-8")
