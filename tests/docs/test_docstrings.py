"""The worked examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import curta

FOLDER = Path(curta.__file__).parent
WITH = [path for path in sorted(FOLDER.rglob("*.py")) if ">>> " in path.read_text("utf-8")]


@pytest.mark.parametrize("path", WITH, ids=lambda path: str(path.relative_to(FOLDER)))
def test_examples_are_true(path: Path) -> None:
    name = ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
