"""`curta runs`: what is listed, and what is removed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from curta.frontends import api
from curta.frontends.cli import main
from curta.runs import folders
from tests import tiny
from tests.runs.test_ownership import OWNS

from .conftest import Curta

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def three(runs_folder: Path) -> Path:
    """Two runs of addition, one of subtraction; none is trained."""
    for name, recipe in (("sum", "addition"), ("sum-2", "addition"), ("take", "subtraction")):
        api.begin(recipe, [3, 7], name, tiny.overrides())
    return runs_folder


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], ["sum", "sum-2", "take"]),
        (["sum*"], ["sum", "sum-2"]),
        (["sum", "take"], ["sum", "take"]),
        (["none*"], []),
    ],
)
def test_runs_are_filtered(three: Path, curta: Curta, words: list[str], names: list[str]) -> None:
    rows = json.loads(curta("runs", "--json", *words).out)
    assert [(row["name"], row["seeds"], row["status"]) for row in rows] == [
        (name, 2, "created") for name in names
    ]


def test_a_run_of_a_comparison_is_shown(three: Path, curta: Curta) -> None:
    (three / "compared").mkdir()
    (three / "sum").rename(three / "compared" / "sum")
    assert "sum" in curta("show", "compared/sum", "1+2").out


def test_rm_asks_first(three: Path, curta: Curta, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda text: "n")
    assert "Nothing was removed" in "".join(curta("runs", "--remove", "sum", code=1))
    assert folders.existing() == ["sum", "sum-2", "take"]
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda text: "y")
    curta("runs", "--remove", "sum")
    assert folders.existing() == ["sum-2", "take"]
    assert sorted(path.name for path in three.iterdir()) == ["sum-2", "take"]


def test_rm_without_a_terminal_needs_yes(
    three: Path, curta: Curta, capsys: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    os.close(write)
    with os.fdopen(read) as empty, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", empty)
        assert main(["runs", "--remove", "sum"]) == 2
    assert "--yes" in capsys.readouterr().err
    curta("runs", "--remove", "--yes", "sum", "sum-2")
    assert folders.existing() == ["take"]


def test_what_is_no_run_is_not_removed(three: Path, curta: Curta) -> None:
    (three / "mine").mkdir()
    (three / "mine" / "thesis.txt").write_text("years of work")
    (three / "link").symlink_to(three / "take")
    for name in ("mine", str(three / "mine"), "take2", "link", ".", str(three)):
        curta("runs", "--remove", "--yes", name, code=2)
    assert (three / "mine" / "thesis.txt").exists()
    assert folders.existing() == ["link", "sum", "sum-2", "take"]


def test_a_run_in_use_is_not_removed(three: Path, curta: Curta) -> None:
    command = [sys.executable, "-c", OWNS, str(three / "sum")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "owns\n"
        assert "in use" in curta("runs", "--remove", "--yes", "sum", code=2).err
        assert (three / "sum" / "run.json").exists()
        holder.kill()
    curta("runs", "--remove", "--yes", "sum")
