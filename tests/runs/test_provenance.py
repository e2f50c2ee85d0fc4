"""What a run says it was made with."""

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from curta.frontends import api
from curta.runs import provenance
from tests import tiny


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    command = ["git", *own, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, which is the current folder."""
    (tmp_path / "notes.txt").write_text("one")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_versions_are_of_all_that_is_needed() -> None:
    found = provenance.versions()
    assert found["jaxlib"] == metadata.version("jaxlib")
    assert found["python"] == platform.python_version()
    assert {"curta", "jax", "equinox", "optax", "numpy", "pydantic"} <= set(found)
    assert not {"torch", "pytest", "pyarrow"} & set(found)


def test_the_commit_is_that_of_the_current_folder(repository: Path) -> None:
    found = provenance.checkouts()["here"]
    assert found.commit == git(repository, "rev-parse", "HEAD").strip()
    assert not found.dirty
    (repository / "new.txt").write_text("not tracked")
    assert not provenance.checkouts()["here"].dirty
    (repository / "notes.txt").write_text("two")
    assert provenance.checkouts()["here"].dirty


def test_without_a_repository_or_git_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "here" not in provenance.checkouts()
    git(tmp_path, "init", "--quiet")
    assert "here" not in provenance.checkouts()  # no commit yet
    monkeypatch.setenv("PATH", "")
    assert provenance.checkouts() == {}


def test_a_run_keeps_its_command(
    repository: Path, runs_folder: Path, brief: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/curta", "train", "addition", "a" * 9_000])
    info = api.begin("addition", 1, "mine", tiny.overrides()).folder.read_info()
    assert info.command[:3] == ("curta", "train", "addition")
    assert len(info.command[3]) == provenance.LETTERS
    assert info.code["here"].commit == git(repository, "rev-parse", "HEAD").strip()
