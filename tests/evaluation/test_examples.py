"""Examples in docstrings are true: every `>>>` of programs and evaluation is run."""

import doctest
import importlib
from pathlib import Path

import pytest

import curta

PACKAGE = Path(curta.__file__).parent
FILES = [
    path.relative_to(PACKAGE.parent).with_suffix("")
    for room in ("programs", "evaluation")
    for path in sorted((PACKAGE / room).rglob("*.py"))
    if ">>>" in path.read_text("utf-8")
]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_examples_are_true(file: Path) -> None:
    found = doctest.testmod(importlib.import_module(".".join(file.parts)))
    assert found.attempted
    assert not found.failed
