"""A result is kept once, with what it takes to measure it again."""

import argparse
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs import evidence
from docs.evidence import Results

Study = Callable[..., int]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A study that counts how often it has measured, this time included."""
    measured = []

    def run(
        name: str = "one", seeds: Any = range(2), settings: Any = None, again: bool = False
    ) -> int:
        def measure() -> dict[str, int]:
            measured.append(name)
            if name == "failing":
                raise RuntimeError
            return {"count": len(measured)}

        settings, options = settings or {"steps": (1, 2)}, argparse.Namespace(again=again)
        Results(tmp_path).keep("study", name, measure, seeds, settings, options)
        return len(measured)

    return run


def test_a_result_is_measured_once_for_the_same_seeds_and_settings(
    study: Study, tmp_path: Path
) -> None:
    """A reconstructed one is for no settings; the others stay as they are."""
    old = {"header": {"seeds": [0, 1], "reconstructed": "from a page"}, "settings": None}
    content = {"one": old | {"numbers": {"count": 0}}}
    (tmp_path / "study.json").write_text(json.dumps(content), "utf-8")
    assert study() == 1
    assert study() == 1
    assert study(again=True) == 2
    assert study(seeds=[0, 1, 2]) == 3
    assert study(seeds=[0, 1, 2], settings={"steps": 3}) == 4
    assert study("two") == 5
    with pytest.raises(RuntimeError):
        study("failing")
    assert Results(tmp_path).read("study") == {"one": {"count": 4}, "two": {"count": 5}}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("src/code.py", True),
        ("docs/new_study.py", True),
        ("docs/results/study.json", False),
        ("docs/page.md", False),
    ],
)
def test_a_header_says_how_to_measure_again(
    path: str, changed: bool, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a repository with code, a result and a page, of which one differs from the commit."""
    for name in ("src/code.py", "docs/results/study.json", "docs/page.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n", "utf-8")
    author = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    monkeypatch.setattr(evidence, "_code", evidence._code.__wrapped__)

    def record() -> Any:
        study(again=True)
        return json.loads((tmp_path / "study.json").read_text("utf-8"))["one"]

    assert record()["header"]["changed"] is False
    (tmp_path / path).write_text("2\n", "utf-8")
    header = record()["header"]
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=tmp_path, text=True)
    assert (header["commit"], header["changed"]) == (head.strip(), changed)
    assert (header["seeds"], record()["settings"]) == ([0, 1], {"steps": [1, 2]})
    assert {"python", "jax", "jaxlib", "numpy", "optax", "curta"} <= set(header["versions"])
    assert header["machine"]["cores"] > 0
    assert header["machine"]["memory"].endswith(" GiB")
    shutil.rmtree(tmp_path / ".git")
    assert record()["header"]["commit"] is record()["header"]["changed"] is None
