"""A result is kept once, with what it takes to measure it again."""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs import evidence
from docs.evidence import ROOT, Results

Study = Callable[..., int]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A study of one name that counts how often it has measured, this time included."""
    measured = []

    def run(
        name: str = "one", seeds: Any = range(2), settings: Any = None, again: bool = False
    ) -> int:
        def measure() -> dict[str, int]:
            measured.append(name)
            return {"count": len(measured)}

        options = argparse.Namespace(again=again)
        Results(tmp_path).keep(
            "study", name, measure, seeds, settings or {"steps": (1, 2)}, options
        )
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
    assert Results(tmp_path).read("study") == {"one": {"count": 4}, "two": {"count": 5}}


def test_what_fails_leaves_the_file_as_it_was(study: Study, tmp_path: Path) -> None:
    study()
    before = (tmp_path / "study.json").read_bytes()

    def measure() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        Results(tmp_path).keep("study", "two", measure, [0], {}, argparse.Namespace(again=False))
    assert (tmp_path / "study.json").read_bytes() == before


def test_a_header_says_how_to_measure_again(study: Study, tmp_path: Path) -> None:
    study()
    (record,) = json.loads((tmp_path / "study.json").read_text("utf-8")).values()
    header = record["header"]
    assert header["seeds"] == [0, 1]
    assert record["settings"] == {"steps": [1, 2]}
    assert {"python", "jax", "jaxlib", "numpy", "optax", "curta"} <= set(header["versions"])
    assert header["machine"]["cores"] > 0
    assert header["machine"]["memory"].endswith(" GiB")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert header["commit"] == (head.stdout.strip() or None)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new one with code, a result and a page, in the place of this one."""
    for path in ("src/code.py", "docs/results/study.json", "docs/page.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("1\n", "utf-8")
    author = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("src/code.py", True),
        ("docs/new_study.py", True),
        ("docs/results/study.json", False),
        ("docs/page.md", False),
    ],
)
def test_code_that_differs_from_the_commit_is_noticed(
    repository: Path, path: str, changed: bool
) -> None:
    assert evidence._code.__wrapped__()["changed"] is False
    (repository / path).write_text("2\n", "utf-8")
    assert evidence._code.__wrapped__()["changed"] is changed
    shutil.rmtree(repository / ".git")
    assert evidence._code.__wrapped__() == {"commit": None, "changed": None}


def test_a_command_line_has_names_of_results_or_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["study"])
    assert evidence.arguments("A study.", ["one", "two"]).names == ["one", "two"]
    monkeypatch.setattr(sys, "argv", ["study", "twoo"])
    with pytest.raises(SystemExit):
        evidence.arguments("A study.", ["one", "two"])
    assert "there is no 'twoo': there are one, two" in capsys.readouterr().err
