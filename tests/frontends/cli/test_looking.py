"""`curta probe RUN activations`, as a user meets it."""

import json
from pathlib import Path

import pytest

from curta.frontends.cli import main
from curta.probes.inside.activations import Activations
from curta.runs.run import Run
from tests.made_once import Shared


@pytest.fixture
def run(shared_runs: Shared) -> Run:
    return shared_runs.trained("mine")


@pytest.mark.slow
def test_it_prints_sites_axes_and_answers_and_writes_a_file(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "found.npz"
    zero = "zero=layer.0.attention.heads:head=1"
    assert main(["probe", "mine", "activations", "12+34", "5+6", zero, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    words = " ".join(text.split())
    assert "layer.0.attention.weights member 2, problem 2, head 2, query 8, key 8" in words
    assert "with changes" in text
    assert f"Arrays: {out}" in text
    read = Activations.load(out)
    assert read["layer.0.attention.weights"].shape == (2, 2, 2, 8, 8)
    assert read.about.interventions == ["zero layer.0.attention.heads:head=1"]
    assert (read.about.run, read.about.step) == ("mine", run.step)


def test_as_json_with_the_answer_of_a_patch(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """With all of another problem's embedding a member writes what it writes after that."""
    command = ["probe", "mine", "activations", "12+34", "patch=embedding=21+35", "--json"]
    assert main([*command, "sites=final,logits", "--member", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["shapes"]) == {"final", "logits"}
    assert found["about"]["members"] == [1]
    (row,) = found["answers"]
    assert (row["problem"], row["member"]) == ("12+34", 1)
