"""Tables of `curta report` and `curta evaluate --against`, and their forms."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from curta.frontends import api
from tests.made_once import Shared
from tests.report import sample

from .conftest import Curta

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def run(runs_folder: Path) -> Path:
    return sample.write_run(runs_folder / "both", members=6)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_are_listed_printed_and_written_in_every_form(
    run: Path, tmp_path: Path, curta: Curta
) -> None:
    names = [row["table"] for row in rows(curta("report", "both", "--csv").out)]
    assert names == ["exact-match", "statistics", "seeds", "grid"]
    folder = tmp_path / "new" / "here"
    for form in ("--csv", "--latex"):
        assert curta("report", "both", form, "--out", str(folder)).err.startswith("4 tables: ")
    for name in names:
        table = api.tables("both")[name]
        assert table.title in curta("report", "both", name).out
        assert json.loads(curta("report", "both", name, "--json").out) == table.records()
        for form, end, text in (("csv", "csv", table.csv()), ("latex", "tex", table.latex())):
            assert curta("report", "both", name, f"--{form}").out == text
            assert (folder / f"{name}.{end}").read_text() == text


def test_a_comparison_has_tables(runs_folder: Path, curta: Curta) -> None:
    runs_folder.mkdir()
    sample.write_comparison(runs_folder / "three")
    [name] = [row["table"] for row in rows(curta("report", "three", "--csv").out)]
    entries = rows(curta("report", "three", name, "--csv").out)
    assert [row["entry"] for row in entries] == list(sample.ENTRIES)


def test_a_table_from_elsewhere_has_letters_only(run: Path, curta: Curta) -> None:
    data = sample.evaluation(6, 2)
    data["lengths"][0]["slice"] = "\x1b[2J\u202egnitirw"
    sample.write_json(run / "evaluation.json", data)
    for form in ("--csv", "--latex"):
        text = curta("report", "both", "exact-match", form).out
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_two_runs_are_asked_the_same(shared_runs: Shared, runs_folder: Path, curta: Curta) -> None:
    shared_runs.trained("one")
    shutil.copytree(runs_folder / "one", runs_folder / "two")
    words = ("evaluate", "one", "--against", "two", "digits=1,2", "count=5")
    means = rows(curta(*words, "--csv").out)
    assert {row["size"] for row in means} == {"1", "2"}
    assert {float(row["difference"]) for row in means} == {0.0}
    assert "p, Holm" in curta(*words, "--member", "1").out
    comparison = json.loads(curta(*words, "--json").out)
    assert (comparison["first"], comparison["second"], comparison["paired"]) == ("one", "two", True)
    assert "no member 7: run" in curta(*words, "--member", "7", code=2).err
