"""Tables of `curta report` and `curta evaluate --against`, and their forms."""

import csv
import io
import json
import re
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


def test_tables_are_listed_and_printed_in_every_form(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [row["table"] for row in rows(out(capsys, "report", "both", "--csv"))]
    assert names == ["exact-match", "statistics", "seeds", "grid"]
    for name in names:
        shown, table = out(capsys, "report", "both", name), api.tables("both")[name]
        assert table.title in shown
        assert out(capsys, "report", "both", name, "--csv") == table.csv()
        assert out(capsys, "report", "both", name, "--latex") == table.latex()
        assert json.loads(out(capsys, "report", "both", name, "--json")) == table.records()


def test_no_line_of_a_table_is_cut(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "report", "both", "statistics")
    assert "least seed, 95 %" in text
    assert all(re.search(r"\d\.\d{3} to \d\.\d{3}$", line) for line in text.splitlines()[3:-2])
    assert "Of one seed: Wilson's interval of its share, 95 %." in text


def test_all_tables_are_written(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ("--csv", "--latex"):
        main(["report", "both", form, "--out", str(tmp_path / "new" / "here")])
        assert capsys.readouterr().err.startswith("4 tables: ")
    files = sorted(path.name for path in (tmp_path / "new" / "here").iterdir())
    assert files == sorted(
        f"{name}.{end}"
        for name in ("exact-match", "statistics", "seeds", "grid")
        for end in ("csv", "tex")
    )
    again = (tmp_path / "new" / "here" / "seeds.csv").read_text()
    assert again == out(capsys, "report", "both", "seeds", "--csv")


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


@pytest.mark.slow
def test_commands_print_the_table_alone_in_another_form(
    shared_runs: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    found = shared_runs.finished("mine")
    main(["evaluate", "mine", "--csv"])
    told = rows(capsys.readouterr().out)
    assert told
    assert all(None not in row and None not in row.values() for row in told)
    assert main(["probe", "mine", "single-digits"]) == 0
    capsys.readouterr()
    told = rows(out(capsys, "report", "mine", "exact-match", "--csv"))
    known = found.folder.read_evaluation()
    assert known is not None
    assert [float(row["seed 1"]) for row in told] == [one.exact_match[1] for one in known.lengths]
    names = [row["table"] for row in rows(out(capsys, "report", "mine", "--csv"))]
    assert names[-2:] == ["certificate", "probes/single-digits"]


def test_an_evaluation_is_printed_as_csv_and_its_lines_apart(
    shared_runs: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    shared_runs.trained("mine")
    assert main(["evaluate", "mine", "count=4", "--member", "1", "--csv"]) == 0
    told = rows(capsys.readouterr().out)
    assert [row["slice"] for row in told] == ["random", "unequal", "carry", "nines", "zero"]
    assert all(row["median"] == row["seed 1"] for row in told)


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


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            ["evaluate", "one", "--against", "one"],
            "runs 'one' and 'one' have no problems in common",
        ),
        (["evaluate", "one"], "the recipe's program takes 2 operands of + (got 5)"),
    ],
)
def test_more_operands_than_a_program_takes_are_refused_in_a_line(
    shared_runs: Shared, command: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shared_runs.trained("one")
    before = run.folder.read_info()
    assert main([*command, "digits=5x3", "count=2"]) == 2
    assert capsys.readouterr() == ("", f"curta: {says}\n")
    assert (run.folder.read_info(), run.folder.evaluation_names()) == (before, [])


def test_runs_of_one_name_are_told_apart(
    shared_runs: Shared, runs_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared_runs.trained("sum")
    for name in ("rope", "abacus"):
        shutil.copytree(runs_folder / "sum", runs_folder / name / "sum")
    paths = [str(runs_folder / name / "sum") for name in ("rope", "abacus")]
    words = ("evaluate", paths[0], "--against", paths[1], "digits=1", "count=2")
    means, members = out(capsys, *words, "--latex"), out(capsys, *words, "--member", "1", "--latex")
    assert " rope/sum & abacus/sum " in means
    assert " only rope/sum & only abacus/sum " in members
