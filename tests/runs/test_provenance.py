"""What a run says it was made with."""

import subprocess
import sys
from pathlib import Path

import pytest

from curta.frontends import api
from curta.runs import provenance
from curta.runs.info import Checkout
from tests import tiny


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    command = ["git", *settings, *words]
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


def test_a_run_keeps_its_command_and_the_commit_of_the_current_folder(
    repository: Path, runs_folder: Path, brief: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/curta", "train", "addition", "a" * 9_000])
    info = api.begin("addition", 1, "mine", tiny.overrides()).folder.read_info()
    assert {"curta", "jax", "jaxlib", "equinox", "python"} <= set(info.versions)
    assert "2 x" in info.device
    assert info.command == ("curta", "train", "addition", "a" * provenance.LETTERS)
    commit = git(repository, "rev-parse", "HEAD").strip()
    (repository / "new.txt").write_text("not tracked")
    assert info.code["here"] == provenance.checkouts()["here"] == Checkout(commit, False)
    (repository / "notes.txt").write_text("two")
    assert provenance.checkouts()["here"] == Checkout(commit, True)
