"""Tables of `curta report` and `curta evaluate --against`, and their forms."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from curta.frontends import api
from curta.frontends.cli import main
from tests.made_once import Shared
from tests.report import sample

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def run(runs_folder: Path) -> Path:
    return sample.write_run(runs_folder / "both", members=6)


def out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_are_listed_printed_and_written_in_every_form(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [row["table"] for row in rows(out(capsys, "report", "both", "--csv"))]
    assert names == ["exact-match", "statistics", "seeds", "grid"]
    folder = tmp_path / "new" / "here"
    for form in ("--csv", "--latex"):
        main(["report", "both", form, "--out", str(folder)])
        assert capsys.readouterr().err.startswith("4 tables: ")
    for name in names:
        table = api.tables("both")[name]
        assert table.title in out(capsys, "report", "both", name)
        assert json.loads(out(capsys, "report", "both", name, "--json")) == table.records()
        for form, end, text in (("csv", "csv", table.csv()), ("latex", "tex", table.latex())):
            assert out(capsys, "report", "both", name, f"--{form}") == text
            assert (folder / f"{name}.{end}").read_text() == text


def test_a_comparison_has_tables(runs_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs_folder.mkdir()
    sample.write_comparison(runs_folder / "three")
    [name] = [row["table"] for row in rows(out(capsys, "report", "three", "--csv"))]
    found = rows(out(capsys, "report", "three", name, "--csv"))
    assert [row["entry"] for row in found] == list(sample.ENTRIES)


def test_a_table_from_elsewhere_has_letters_only(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = sample.evaluation(6, 2)
    data["lengths"][0]["slice"] = "\x1b[2J\u202egnitirw"
    sample.write_json(run / "evaluation.json", data)
    for form in ("--csv", "--latex"):
        text = out(capsys, "report", "both", "exact-match", form)
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_two_runs_are_asked_the_same(
    shared_runs: Shared, runs_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared_runs.trained("one")
    shutil.copytree(runs_folder / "one", runs_folder / "two")
    words = ("evaluate", "one", "--against", "two", "digits=1,2", "count=5")
    means = rows(out(capsys, *words, "--csv"))
    assert {row["size"] for row in means} == {"1", "2"}
    assert {float(row["difference"]) for row in means} == {0.0}
    assert "p, Holm" in out(capsys, *words, "--member", "1")
    found = json.loads(out(capsys, *words, "--json"))
    assert (found["first"], found["second"], found["paired"]) == ("one", "two", True)
    assert main([*words, "--member", "7"]) == 2
    assert "no member 7: run" in capsys.readouterr().err
