"""`curta runs`: every damage is told in one line, and nothing is followed, run or changed."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import curta
from curta.config.errors import UserError
from curta.frontends.cli import main
from curta.programs.user.userfiles import KeptFile
from curta.runs import checkpoints
from curta.runs.folders import Folder
from curta.runs.run import Run
from curta.runs.verify import Part
from tests.faults.places import digest
from tests.made_once import Shared

pytestmark = pytest.mark.usefixtures("brief")

OWN_CODE = "from pathlib import Path\nPath(__file__).with_name('executed').touch()\n"


@pytest.fixture(scope="module")
def trained(shared_runs: Shared) -> Path:
    """A run with everything that a run can have."""
    return shared_runs.made("verified", lambda: everywhere(shared_runs.finished("mine"))) / "mine"


def everywhere(run: Run) -> None:
    """Gives a finished run what only some have."""
    curta.probe(run, "tokens")
    folder = run.folder.path
    checkpoints.save_vectors(folder / "history", 10, np.zeros((1, 3, 4), np.float32))
    (folder / "program.py").write_text(OWN_CODE)
    run.folder.update(files=(KeptFile("program.py", "own.py", digest(folder / "program.py")),))
    part = {"of": "x", "name": "+ 3", "rows": []}
    (folder / "evaluating.jsonl").write_text(json.dumps(part) + "\n")


@pytest.fixture
def mine(trained: Path, runs_folder: Path) -> Path:
    """A copy of it, to be damaged."""
    shutil.copytree(trained, runs_folder / "mine")
    return runs_folder / "mine"


def bad(name: str = "mine") -> dict[str, Part]:
    """What is not whole, by name; each is told once, and in one line."""
    verdicts = curta.verify(name)
    assert len({part.name for part in verdicts}) == len(verdicts)
    assert all("\n" not in part.about for part in verdicts)
    return {part.name: part for part in verdicts if part.state != "whole"}


def only(name: str) -> Part:
    (part,) = bad().values()
    assert part.name == name
    return part


def contents(folder: Path) -> dict[Path, tuple[int, int]]:
    """All that lies there, with its size and time."""
    return {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")}


def test_a_whole_run_is_whole(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(mine)
    assert bad() == {}
    names = [part.name for part in curta.verify("mine")]
    assert names == [
        "run.json", "recipe.toml", "machine.json", "metrics.jsonl",
        "checkpoints/00000010.safetensors", "checkpoints/00000020.safetensors",
        "history/00000010.safetensors",
        "evaluation.json", "certificate.json", "windows.safetensors",
        "shown.safetensors", "probes/tokens.json", "program.py", "evaluating.jsonl", "report.html",
    ]  # fmt: skip
    assert contents(mine) == before
    assert main(["runs", "mine"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"mine: all {len(names)} files are whole"]


NEEDED = [
    "run.json", "recipe.toml", "machine.json", "metrics.jsonl", "evaluation.json",
    "certificate.json", "windows.safetensors", "program.py", "report.html",
]  # fmt: skip


@pytest.mark.parametrize("name", [*NEEDED, "evaluating.jsonl", "probes/tokens.json"])
def test_what_is_damaged_or_missing_is_told(mine: Path, name: str) -> None:
    for content in (b"{", b"\xff\xfe", b'{"x": ' + b"9" * 9_999) if name != "report.html" else ():
        (mine / name).write_bytes(content)
        assert only(name).state == "damaged"
    (mine / name).unlink()
    assert [part.state for part in bad().values()] == ["missing"] * (name in NEEDED)


def test_a_damaged_checkpoint_is_told(mine: Path) -> None:
    name = "checkpoints/00000020.safetensors"
    content = (mine / name).read_bytes()
    for damage in (b"", content[:-1], content[:-1] + bytes([content[-1] ^ 1])):
        (mine / name).write_bytes(damage)
        part = only(name)
        assert part.state == "damaged"
        assert "`curta train --resume mine` goes on from the newest whole one" in part.about
    (mine / name).unlink()
    assert only(name).state == "missing"


def test_a_checkpoint_of_another_run_is_told(mine: Path) -> None:
    Folder(mine).update(seeds=[7])
    damaged = bad()
    assert [*damaged] == [f"checkpoints/000000{step}.safetensors" for step in (10, 20)]
    assert all("of another recipe or of other seeds" in part.about for part in damaged.values())


def test_code_is_told_if_it_changed_and_never_executed(mine: Path) -> None:
    """By its path in a recipe a file of the run's folder would be executed, unasked."""
    (mine / "program.py").write_text(OWN_CODE + "# changed\n")
    assert "not the file that the run was made with" in only("program.py").about
    (mine / "program.py").write_text(OWN_CODE)
    text = (mine / "recipe.toml").read_text()
    (mine / "recipe.toml").write_text(text.replace('"addition"', '"program.py"'))
    assert "names the file 'program.py'" in only("recipe.toml").about
    with pytest.raises(UserError, match=r"names the file 'program\.py'"):
        curta.load("mine")
    assert not (mine / "executed").exists()
