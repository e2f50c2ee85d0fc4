"""The command line, as a user meets it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from curta.frontends.cli import main
from curta.probes.inside.activations import Activations
from tests.made_once import Shared

from .conftest import Curta

SMALL = [
    "model.width=16", "model.heads=2", "task.digits=[1,3]", "training.steps=4",
    "training.batch=8", "training.checkpoint_every=2", "evaluation.digits=[2,5]",
    "evaluation.count=4", "evaluation.generated=2", "evaluation.named=['1+2', '30+4']",
    "training.problems=100", "evaluation.certificate=0",
]  # fmt: skip

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(scope="module")
def trained(brief: None, shared_runs: Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a small run of two members, trained through the command line."""

    def train() -> None:
        assert main(["train", "addition", "--run", "small", "--seeds", "2", *SMALL]) == 0

    made, folder = shared_runs.made("command-line", train), tmp_path_factory.mktemp("runs")
    shutil.copytree(made / "small", folder / "small")
    return folder / "small"


def test_without_a_run_the_newest_that_knows_the_operator_answers(
    trained: Path, curta: Curta, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(trained.parent))
    without = curta("ask", "1+2")
    assert without.err.startswith("run small\n")
    assert curta("ask", "small", "1+2").out == without.out
    assert "no run is trained on '2*3': they know +" in curta("ask", "2*3", code=2).err
    assert "unknown run 'smal': did you mean 'small'?" in curta("ask", "smal", "1+2", code=2).err


def test_ask_prints_one_answer_a_line_in_order(trained: Path, tmp_path: Path, curta: Curta) -> None:
    file = tmp_path / "sums.txt"
    file.write_text("1+2\n30+4\n5+600\n")
    lines = curta("ask", str(trained), "--file", str(file), "--trace").out.splitlines()
    assert [line.split("\t")[1].partition("=")[0] for line in lines] == ["1+2", "03+4", "5+006"]


def test_evaluate_prints_json_of_every_member_and_draws_problems_by_its_seed(
    trained: Path, curta: Curta
) -> None:
    options = ["digits=2", "count=2", "table=2", "grid=2", "--json"]
    first, second = (
        json.loads(curta("evaluate", str(trained), *options, f"seed={seed}").out) for seed in (5, 6)
    )
    assert all(
        len(row["exact_match"]) == 2 and row["generated"]["agrees"] for row in first["lengths"]
    )
    assert [(table["operator"], table["limit"]) for table in first["tables"]] == [("+", 2)]
    assert [np.shape(grid["exact_match"]) for grid in first["grids"]] == [(2, 2, 2)]
    assert first["examples"] != second["examples"]


def test_probe_prints_json_that_its_file_and_the_report_hold(trained: Path, curta: Curta) -> None:
    command = ["probe", str(trained), "top-k", "problem=57+68", "k=2", "--member", "1"]
    table = json.loads(curta(*command, "--json").out)
    assert table == json.loads((trained / "probes" / "top-k.json").read_text())
    assert table["columns"][:4] == ["member", "index", "true", "scored"]
    assert {row["member"] for row in table["rows"]} == set(table["members"]) == {1}
    assert table["options"] == {"problem": "57+68", "k": 2}
    assert "top-k" in (trained / "report.html").read_text()
    assert (trained / "probes" / "top-k.svg").read_bytes().startswith(b"<svg")
    rows = json.loads(curta(*command[:4], "k=10000000", "--json").out)["rows"]
    assert all(sum(name.startswith("top ") for name in row) < 100 for row in rows)
    text = curta(*command).out
    assert all(word in text for word in ("entropy", "57+68", "75+86=521$", "Report:"))


# What happens inside.


@pytest.mark.slow
def test_activations_are_printed_and_written_to_a_file(
    shared_runs: Shared, curta: Curta, tmp_path: Path
) -> None:
    """With all of another problem's embedding a member writes what it writes after that."""
    run, out = shared_runs.trained("mine"), tmp_path / "values.npz"
    zero = "zero=layer.0.attention.heads:head=1"
    text = curta("probe", "mine", "activations", "12+34", "5+6", zero, "--out", str(out)).out
    words = " ".join(text.split())
    assert "layer.0.attention.weights member 2, problem 2, head 2, query 8, key 8" in words
    assert "with changes" in text
    assert f"Arrays: {out}" in text
    read = Activations.load(out)
    assert read["layer.0.attention.weights"].shape == (2, 2, 2, 8, 8)
    assert read.about.interventions == ["zero layer.0.attention.heads:head=1"]
    assert (read.about.run, read.about.step) == ("mine", run.step)
    command = ["probe", "mine", "activations", "12+34", "patch=embedding=21+35", "--json"]
    recorded = json.loads(curta(*command, "sites=final,logits", "--member", "1").out)
    assert set(recorded["shapes"]) == {"final", "logits"}
    assert recorded["about"]["members"] == [1]
    (row,) = recorded["answers"]
    assert (row["problem"], row["member"]) == ("12+34", 1)
    assert [*row] == ["problem", "member", "answer", "changed", "right"]


# Several runs.


@pytest.mark.slow
def test_compare_prints_its_table_as_json_and_nothing_else(curta: Curta, runs_folder: Path) -> None:
    entries = ["one: addition", "two: addition positions.name=rope positions.base=100.0"]
    options = ["--run", "mine", "--seeds", "1", "--json"]
    said = curta("compare", *entries, *options, *SMALL)
    table = json.loads(said.out)
    assert "Nothing learned: one, two. In the hardest" in said.err
    assert table == json.loads((runs_folder / "mine" / "comparison.json").read_text())
    assert [row["settings"]["positions"]["name"] for row in table["rows"]] == ["window", "rope"]
    assert (runs_folder / "mine" / "report.html").exists()
    refused = curta("compare", *entries, "--run", "mine", "training.steps=3", code=2).err
    assert "exists already with other runs" in refused


def test_a_thread_that_is_still_at_work_does_not_crash_the_end() -> None:
    code = (
        "import sys, threading, time; from curta.frontends import cli;"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start();"
        "sys.argv = ['curta', 'show']; sys.exit(cli.main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "addition" in done.stdout
