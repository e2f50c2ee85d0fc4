"""The tables of a run and of a comparison hold what their files hold."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import pytest

from curta.config.table import Table
from curta.evaluation.paired import Difference, Discordance, Paired, PairedSlice
from curta.evaluation.results import NamedProblem, WholeTable, Written
from curta.evaluation.statistics import Interval, wilson
from curta.report.tables import named_table, of_comparison, of_run, paired_table, whole_table
from curta.runs.folders import Folder
from tests.made_once import Shared

from . import sample


def records(table: Table) -> list[dict[str, str]]:
    """The rows as another program reads them from CSV."""
    return list(csv.DictReader(io.StringIO(table.csv())))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write_run(tmp_path_factory.mktemp("run"), members=6)


@pytest.fixture(scope="module")
def tables(run: Path) -> dict[str, Table]:
    return of_run(Folder(run))


def lengths(run: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((run / "evaluation.json").read_text())["lengths"]
    return rows


def test_exact_match_is_that_of_the_evaluation(run: Path, tables: dict[str, Table]) -> None:
    for told, row in zip(records(tables["exact-match"]), lengths(run), strict=True):
        assert {key: told[key] for key in ("operator", "size", "slice", "count")} == {
            key: str(row[key]) for key in ("operator", "size", "slice", "count")
        }
        shares = row["exact_match"]
        assert [float(told[f"seed {seed}"]) for seed in range(6)] == shares
        ends = [float(told[key]) for key in ("median", "min", "max")]
        assert ends == [median(shares), min(shares), max(shares)]
        assert told["generated_agrees"] == "true"


def test_statistics_are_over_the_seeds_and_every_seed_has_its_interval(
    run: Path, tables: dict[str, Table]
) -> None:
    assert list(tables) == ["exact-match", "statistics", "seeds", "grid"]
    every = records(tables["seeds"])
    for row, told in zip(lengths(run), records(tables["statistics"]), strict=True):
        shares, seeds, every = row["exact_match"], every[:6], every[6:]
        assert float(told["mean"]) == pytest.approx(mean(shares), abs=1e-6)
        assert float(told["deviation"]) == pytest.approx(stdev(shares), abs=1e-6)
        for line, share in zip(seeds, shares, strict=True):
            assert (line["right"], line["count"]) == (f"{round(share * 200)}", "200")
            assert float(line["exact_match"]) == pytest.approx(share, abs=3e-3)
            assert ends(line, "exact_match") == wilson(round(share * 200), 200)
        assert ends(told, "least") == wilson(round(min(shares) * 200), 200)
        if len(set(shares)) > 1:
            low, high = ends(told, "mean")
            assert low <= mean(shares) <= high
        else:
            assert told["mean_low"] == told["mean_high"] == ""
    assert not every


def ends(record: dict[str, str], name: str) -> tuple[float, float]:
    return float(record[f"{name}_low"]), float(record[f"{name}_high"])


def test_a_certificate_is_a_row_for_each_member(shared_runs: Shared) -> None:
    folder = shared_runs.finished().folder
    table, certificate = of_run(folder)["certificate"], folder.read_certificate()
    assert certificate is not None
    for told, member in zip(records(table), certificate.members, strict=True):
        counted = {**asdict(member), "rounds": len(member.rounds)}
        assert {key: float(value) for key, value in told.items()} == pytest.approx(counted)
    assert [row[0] for row in table.foot] == ["median", "min", "max"]


def test_a_comparison_has_a_row_for_each_entry(tmp_path: Path) -> None:
    rows = sample.write_comparison(tmp_path)
    for row in rows[:2]:
        data = sample.evaluation(3, 2, {"+": ("10",)})
        sample.write_json(tmp_path / row["run"] / "evaluation.json", data)
    by_name = of_comparison(tmp_path)
    assert list(by_name) == ["comparison", "statistics", "seeds"]
    told = records(by_name["comparison"])
    assert [record["entry"] for record in told] == list(sample.ENTRIES)
    assert told[0]["+ 100 median"] == ""
    for record, row in zip(told, rows, strict=True):
        for size in {row["size"] for row in row["lengths"]}:
            shares = sample.hardest(row["lengths"], size)
            values = [float(record[f"+ {size} {end}"]) for end in ("median", "min", "max")]
            assert values == [median(shares), min(shares), max(shares)]
    entries = [record["entry"] for record in records(by_name["statistics"])]
    assert entries == [name for name in sample.ENTRIES[:2] for _ in range(3)]
    assert r"reversed \& padded" in by_name["statistics"].latex()


def test_named_problems_and_whole_tables_are_as_in_the_file() -> None:
    table = WholeTable("+", 9, 100, [99, 100])
    [counted] = records(whole_table([table], [3, 7]))
    assert (counted["seed 3"], counted["seed 7"], counted["count"]) == ("99", "100", "100")
    before, after = Written("x[b]", None, None), [Written(f"{n}$", f"{n}", None) for n in (5, 6)]
    problem = NamedProblem("+", "9" * 50 + "+1", "5", [before] * 2, after)
    [named] = records(named_table([problem], [3, 7]))
    assert named["problem"] == "9" * 50 + "+1"
    assert (named["before"], named["after"], named["right"]) == ("invalid: x[b]", "5", "1")


def test_two_members_are_told_problem_by_problem() -> None:
    seeds = Difference(0.5, 0.75, -0.25, Interval(-0.3, 0.1))
    members = Discordance(40, 10, 35, 15, 2.4e-4, 4.8e-4)
    slices = [
        PairedSlice("+", size, int(size), "random", 100, seeds, members) for size in ("10", "1000")
    ]
    pair = Paired("one", "two & more", [0, 1], [0, 3], True, 1, (0, 3), slices)
    table = paired_table(pair)
    assert table.title == "right on the same problems: one, seed 0, and two & more, seed 3"
    heads = [column.heading for column in table.screen_columns][4:]
    assert heads == ["both", "only one", "only two & more", "neither", "p", "p, Holm"]
    numbers = ["40", "10", "35", "15", "0.00024", "0.00048"]
    assert table.texts()[1] == ["", "1,000", "random", "100", *numbers]
    assert "Holm: adjusted for all 2 rows together." in table.notes
    assert records(table)[0]["p_holm"] == "0.00048"
