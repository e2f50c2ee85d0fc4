"""The package's folders, and its one module, lie along one line; imports only point back."""

import ast
from pathlib import Path

import pytest

import curta

PACKAGE = Path(curta.__file__).parent

LINE = (
    "config", "problems", "programs", "reference", "layouts", "model", "training",
    "evaluation", "runs", "probes", "report", "export", "frontends",
)  # fmt: skip


GOES_OUT = "_curta.py"
"""How files end that lie beside what they import wherever a model is exported to."""


def imported(path: Path) -> set[str]:
    """Return the rooms that a file imports when it is imported itself.

    Imports for type checking, and those inside of functions, may point ahead: a run writes its
    report.
    """
    tree = ast.parse(path.read_text("utf-8"))
    names = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            assert not node.level or path.name.endswith(GOES_OUT), f"{path}: a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("curta.")} & set(LINE)


def test_there_are_no_other_rooms() -> None:
    found = {path.stem for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert found == {*LINE, "__init__", "__main__", "py"}


@pytest.mark.parametrize("room", LINE)
def test_imports_point_back(room: str) -> None:
    later = set(LINE[LINE.index(room) + 1 :])
    for path in [*(PACKAGE / room).rglob("*.py"), *PACKAGE.glob(f"{room}.py")]:
        assert not imported(path) & later, path


def test_tests_lie_as_the_source_does() -> None:
    tests = Path(__file__).parent
    for path in tests.rglob("*/test_*.py"):
        room = path.relative_to(tests).parts[0]
        assert room in {*LINE, "benchmarks", "docs", "faults", "notebooks"}, path
