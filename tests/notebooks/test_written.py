"""Every notebook is committed without outputs, and is what its source says."""

import importlib.util
import json
from typing import Any

import nbformat
import pytest

from .running import ROOT, read

pytestmark = pytest.mark.slow

NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def write() -> Any:
    """The module that writes them."""
    found = importlib.util.spec_from_file_location("write", ROOT / "notebooks" / "write.py")
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_all_of_them_are_written() -> None:
    assert sorted(write().NAMES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_is_committed_without_outputs(name: str) -> None:
    code = [cell for cell in read(name).cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_what_its_source_says(name: str) -> None:
    source = (ROOT / "notebooks" / f"{name}.py").read_text("utf-8")
    committed = (ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8")
    assert json.loads(nbformat.writes(write().notebook(source))) == json.loads(committed)
