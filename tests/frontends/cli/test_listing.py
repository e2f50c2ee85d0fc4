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

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def three(runs_folder: Path) -> Path:
    """Two runs of addition, one of subtraction; none is trained."""
    for name, recipe in (("sum", "addition"), ("sum-2", "addition"), ("take", "subtraction")):
        api.begin(recipe, [3, 7], name, tiny.overrides())
    return runs_folder


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["runs", "--json", *words]) == 0
    return [row["name"] for row in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], ["sum", "sum-2", "take"]),
        (["sum*"], ["sum", "sum-2"]),
        (["sum", "take"], ["sum", "take"]),
        (["none*"], []),
    ],
)
def test_runs_are_filtered(
    three: Path, capsys: pytest.CaptureFixture[str], words: list[str], names: list[str]
) -> None:
    assert listed(capsys, *words) == names


def test_rm_asks_first(
    three: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda text: "n")
    assert main(["runs", "--remove", "sum"]) == 1
    assert "Nothing was removed" in "".join(capsys.readouterr())
    assert folders.existing() == ["sum", "sum-2", "take"]
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda text: "y")
    assert main(["runs", "--remove", "sum"]) == 0
    assert folders.existing() == ["sum-2", "take"]
    assert sorted(path.name for path in three.iterdir()) == ["sum-2", "take"]


def test_rm_without_a_terminal_needs_yes(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.close(write)
    with os.fdopen(read) as empty, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", empty)
        assert main(["runs", "--remove", "sum"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["runs", "--remove", "--yes", "sum", "sum-2"]) == 0
    assert folders.existing() == ["take"]


def test_what_is_no_run_is_not_removed(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (three / "mine").mkdir()
    (three / "mine" / "thesis.txt").write_text("years of work")
    (three / "link").symlink_to(three / "take")
    for name in ("mine", str(three / "mine"), "take2", "link", ".", str(three)):
        assert main(["runs", "--remove", "--yes", name]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert (three / "mine" / "thesis.txt").exists()
    assert folders.existing() == ["link", "sum", "sum-2", "take"]


def test_a_run_in_use_is_not_removed(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", OWNS, str(three / "sum")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "owns\n"
        assert main(["runs", "--remove", "--yes", "sum"]) == 2
        assert "in use" in capsys.readouterr().err
        assert (three / "sum" / "run.json").exists()
        holder.kill()
    assert main(["runs", "--remove", "--yes", "sum"]) == 0


@pytest.mark.parametrize(
    ("given", "seeds"), [("2", [0, 1]), ("3,7,11", [3, 7, 11]), ("5,", [5]), ("-1,4", [-1, 4])]
)
def test_seeds_are_a_count_or_themselves(given: str, seeds: list[int]) -> None:
    from curta.frontends.cli.arguments import parse_seeds

    assert folders.seeds_of(parse_seeds(given)) == seeds
