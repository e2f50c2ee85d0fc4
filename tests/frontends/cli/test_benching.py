"""`curta bench`: constants of a file or of this machine, and what follows from them."""

import json
from pathlib import Path

import pytest

from curta.config import files, typed
from curta.config.errors import UserError
from curta.frontends import measuring
from curta.frontends.cli import main
from curta.runs.costs import Costs
from tests.runs.test_costs import COSTS

SMALL = """
layout = "reversed"
task = { digits = [1, 3] }
positions = { name = "rope" }
model = { width = 16, heads = 2, num_layers = 2, mlp_ratio = 2 }
training = { steps = 20, batch = 8, checkpoint_every = 10 }
evaluation = { digits = [3], count = 8, generated = 4 }
"""


@pytest.fixture
def costs(tmp_path: Path) -> str:
    path = tmp_path / "costs.json"
    files.write(path, files.json_text(typed.as_json(COSTS)))
    return str(path)


def test_what_follows_from_a_file_is_printed(
    costs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", "--costs", costs, "--runs", "100", "--nodes", "10", "--members", "512"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "100 runs on 10 nodes" in said
    assert "512 members on one device" in said
    assert "addition, measured on 2 x cpu" in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "give --device"),
        (["--device", "--costs", "x.json"], "give --device"),
        (["--costs", "x.json", "--out", "y.json"], "--out keeps"),
        (["--costs", "nothing.json"], "nothing.json"),
        (["--device", "adition"], "did you mean 'addition'"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_a_file_of_something_else_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"format": 1, "recipe": 3}')
    assert main(["bench", "--costs", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_this_machine_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a small recipe by its path: everything took some time, and no run is left behind."""
    recipe, out = tmp_path / "small.toml", tmp_path / "costs.json"
    recipe.write_text(SMALL)
    assert main(["bench", str(recipe), "--device", "--out", str(out), "--members", "64"]) == 0
    assert "64 members on one device" in capsys.readouterr().out
    found = typed.read(Costs, out, "costs")
    assert found.steps == 20
    assert found.checkpoints == 2
    assert found.start > 0
    assert min(found.first.training, found.first.compiling, found.later.reporting) > 0
    assert found.later.certifying == 0  # of no program
    assert found.members[-1].memory > found.members[0].memory
    assert json.loads(out.read_text())["platform"] == "cpu"
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_run_that_fails_says_all_that_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "none")
    recipe = tmp_path / "small.toml"
    recipe.write_text(SMALL)
    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*none"):
        main(["bench", str(recipe), "--device"])


def test_a_mistake_that_a_process_finds_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert measuring.main("run", "adition", "1") == 2
    said = capsys.readouterr().err
    assert said.startswith("curta: unknown recipe 'adition'")
    assert said.count("\n") == 1


@pytest.mark.slow
def test_a_mistake_of_a_run_that_is_measured_is_one_of_the_users() -> None:
    with pytest.raises(UserError, match=r"^unknown recipe 'adition'"):
        measuring.measured("adition", lambda line: None)
