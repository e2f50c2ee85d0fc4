"""What users install: a wheel that works in an empty environment; one address of the project."""

import os
import re
import subprocess
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from curta.config import recipe

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DATA = {".html", ".js", ".css", ".svg", ".toml", ".md", ".typed"}
"""The kinds of files that the package reads besides Python."""


def test_the_citation_is_of_this_project() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    citation = dict(re.findall(r'^([\w-]+): "?(.+?)"?$', text, re.MULTILINE))
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Repository"]


def test_the_address_stands_in_two_files_only() -> None:
    """A page that repeats it would be forgotten when the project moves."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").iterdir()]
    address = PROJECT["urls"]["Repository"]
    assert [page.name for page in pages if address in page.read_text("utf-8")] == []


@pytest.mark.slow
def test_the_wheel_trains_and_asks_in_an_empty_environment(tmp_path: Path) -> None:
    dist, tools, empty = tmp_path / "dist", tmp_path / "tools", tmp_path / "empty"
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words: object) -> str:
        return subprocess.run(
            [str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True,
            cwd=tmp_path, env=plain | {"CURTA_RUNS": str(tmp_path / "runs")},
        ).stdout  # fmt: skip

    checked = run("make", "-C", ROOT, "dist", f"VENV={tools}", f"DIST={dist}")
    assert checked.count("PASSED") == 2
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert max(wheel.stat().st_size, source.stat().st_size) < 5e6

    package = ROOT / "src" / "curta"
    files = [path for path in package.rglob("*") if path.suffix in DATA]
    packed = set(zipfile.ZipFile(wheel).namelist())
    missing = {str(path.relative_to(ROOT / "src")) for path in files} - packed
    assert len(files) > 100
    assert missing == set()

    venv.create(empty, with_pip=True)
    limits = ROOT / "constraints.txt"
    run(empty / "bin" / "python", "-m", "pip", "install", "--quiet", "--constraint", limits, wheel)
    curta = empty / "bin" / "curta"
    assert run(curta, "--version").strip() == PROJECT["version"]
    assert set(recipe.shipped_names()) <= set(run(curta, "show").split())
    run(curta, "train", "copying", "evaluation.digits=[3]", "evaluation.count=10")
    assert run(curta, "ask", "copying", "copy 907") == "907\n"
    run(curta, "page", "copying", "--out", "page.html")
    assert "</script>" in (tmp_path / "page.html").read_text("utf-8")
