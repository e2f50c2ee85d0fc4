"""The package's folders, and its one module, lie along one line; imports only point back."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
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


AHEAD = {"runs/run.py", "runs/comparison.py"}
"""Files whose functions may import from later rooms: a run writes its report."""


def imports(path: Path, everywhere: bool = False) -> Iterator[str]:
    """Yield the full names that a file imports when it is imported itself, or everywhere in it."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.ImportFrom):
            assert not node.level or path.name.endswith(GOES_OUT), f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def rooms(names: Iterator[str]) -> set[str]:
    """Return the rooms of the package that these names are from."""
    return {name.split(".")[1] for name in names if name.startswith("curta.")} & set(LINE)


def test_there_are_no_other_rooms() -> None:
    found = {path.stem for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert found == {*LINE, "__init__", "__main__", "py"}


@pytest.mark.parametrize("room", LINE)
def test_imports_point_back(room: str) -> None:
    later = set(LINE[LINE.index(room) + 1 :])
    for path in [*(PACKAGE / room).rglob("*.py"), *PACKAGE.glob(f"{room}.py")]:
        everywhere = path.relative_to(PACKAGE).as_posix() not in AHEAD
        assert not rooms(imports(path, everywhere)) & later, path


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {
        ".".join(("curta", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }
    graph = {
        module: {name if name in paths else name.rpartition(".")[0] for name in imports(path)}
        for module, path in paths.items()
    }
    TopologicalSorter(graph).prepare()  # CycleError names the modules


def test_tests_lie_as_the_source_does() -> None:
    tests = Path(__file__).parent
    for path in tests.rglob("*/test_*.py"):
        room = path.relative_to(tests).parts[0]
        assert room in {*LINE, "benchmarks", "docs", "faults", "notebooks"}, path
