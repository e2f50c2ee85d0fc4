"""Evaluations with other settings stand beside the recipe's own, and change nothing of it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from curta.config import sections
from curta.frontends import api
from curta.runs import comparison, folders, life, verify
from curta.runs.folders import evaluation_name
from curta.runs.run import Run
from tests.made_once import Shared

pytestmark = pytest.mark.usefixtures("brief")

USUAL = sections.EvaluationSettings(digits=(20, 100), count=50)


@pytest.fixture
def run(runs_folder: Path, shared_runs: Shared) -> Run:
    return shared_runs.finished()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, ""),
        ({"digits": (20, 100)}, ""),
        ({"count": 20, "digits": (500, "50/25", "20x5")}, "digits-500_50-25_20x5.count-20"),
        ({"digits": {"+": (500,)}}, "digits-318a8f12"),
        ({"all_sizes": True, "seed": 2}, "all_sizes-true.seed-2"),
    ],
)
def test_an_evaluation_is_named_after_what_is_different(
    changes: dict[str, object], name: str
) -> None:
    settings = replace(USUAL, **changes)  # type: ignore[arg-type]
    assert evaluation_name(folders.evaluation_changes(USUAL, settings, None)) == name


def test_the_recipes_evaluation_stays_and_the_report_has_both(run: Run) -> None:
    before = run.folder.evaluation.read_bytes()
    evaluation, name = run.evaluate(digits=(6,), count=2), "digits-6.count-2"
    assert evaluation.changes == {"digits": [6], "count": 2}
    assert run.folder.evaluation.read_bytes() == before
    assert (run.folder.read_info().status, life.missing(run.folder, run.recipe)) == ("finished", [])
    assert run.folder.evaluation_names() == [name]
    assert run.folder.read_evaluation(name) == evaluation
    assert [row["size"] for row in run.read_rows(name)] == ["6"] * len(evaluation.lengths)
    assert "6" not in [row["size"] for row in run.read_rows()]
    text = run.folder.report.read_text()
    assert "Further evaluations" in text
    assert "digits 6, count 2" in text
    path = Path(api.report("run", evaluation=name))
    assert path == run.folder.evaluations / name / "report.html"
    assert "Further evaluations" not in path.read_text()
    assert run.folder.report.read_text() == text
    assert {part.state for part in verify.verify("run")} == {"whole"}


def test_sizes_that_were_left_out_are_named_everywhere(run: Run) -> None:
    evaluation = run.evaluate(digits=(9, 4, 1000), count=2, generated=1)
    assert {row.size for row in evaluation.lengths} == {"4"}
    assert [size.size for size in evaluation.unevaluated] == ["9", "1000"]
    (name,) = run.folder.evaluation_names()
    note = "Not evaluated: + at 9; 1,000 digits, since every seed is wrong on every problem at 4"
    tables = run.read_tables(name)
    for key in ("exact-match", "statistics", "seeds"):
        assert tables[key].notes[-1].startswith(note)
    assert "+,9,not evaluated,,,,,," in tables["exact-match"].csv()
    assert note in run.folder.report.read_text()
    last = run.read_rows(name)[-1]
    assert (last["size"], last["slice"], last["median"]) == ("1000", "not evaluated", None)
    (row,) = comparison.beside([run.folder], name).rows
    assert row.unevaluated == evaluation.unevaluated
    every = run.evaluate(digits=(9, 4), count=2, generated=1, all_sizes=True, report=False)
    assert ({row.size for row in every.lengths}, every.unevaluated) == ({"4", "9"}, ())


def test_a_part_is_evaluated_once_of_the_same_weights_until_the_evaluation_has_ended(
    tmp_path: Path,
) -> None:
    path, cells = tmp_path / "evaluations" / "grid-2.jsonl", [[1.0, 0.25], [0.5, 0.0]]
    name, calls = "grid of +: 1 of 2", list[str]()

    def part(weights: str) -> list[list[float]]:
        calls.append(weights)
        return cells

    for weights in ("first", "first", "second", "second"):
        with suppress(KeyboardInterrupt), folders.partial_evaluation(path, weights) as keep:
            assert keep(name, lambda weights=weights: part(weights)) == cells
            raise KeyboardInterrupt
    assert calls == ["first", "second"]
    with path.open("a", encoding="utf-8") as file:
        file.write('{"of": "second", "na')  # torn: it is evaluated again
    with folders.partial_evaluation(path, "second") as keep:
        assert keep(name, lambda: part("third")) == cells
        assert keep("another", lambda: part("fourth")) == cells
    assert calls == ["first", "second", "fourth"]
    assert not path.exists()
