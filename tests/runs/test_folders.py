"""Run folders: self-describing, and told in one line when something is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

import curta
from curta.config.errors import UserError
from curta.evaluation.results import SummaryStatistics
from curta.layouts.texts import layout_of
from curta.runs import folders, metrics, verify
from curta.runs.folders import Folder
from curta.runs.info import Metric, summary_statistics
from tests import tiny


def created(name: str | None = "mine", inside: Path | None = None, **changes: Any) -> Folder:
    recipe = tiny.recipe(**changes)
    return folders.create(recipe, layout_of(recipe), "addition", [0, 1], name, inside=inside)


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def refused(name: str, match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        curta.load(name)
    assert "\n" not in str(caught.value)


def test_a_run_of_a_comparison_is_found_by_both_names(runs_folder: Path, tmp_path: Path) -> None:
    inside = runs_folder / "both"
    inside.mkdir(parents=True)
    (inside / "comparison.json").write_text("{}")
    refused("both", "^'both' is a comparison without runs$")
    folder = created("first", inside)
    refused("both", f"^'both' is a comparison: name one of its runs, such as {inside}/first$")
    assert folders.find("both/first").path == folders.removable("both/first") == folder.path
    assert (folder.address, created().address) == ("both/first", "mine")
    assert Folder(tmp_path / "elsewhere" / "other").address == "other"
    assert Folder(tmp_path / "elsewhere" / "my run").argument == "'my run'"
    refused("both/third", "^unknown run 'both/third'")
    assert [part.name for part in verify.verify("both/first")][:2] == ["run.json", "recipe.toml"]
    with pytest.raises(UserError, match="`curta train --resume both/first` trains it"):
        folder.newest_checkpoint()


def test_unnamed_runs_are_numbered_and_a_name_that_is_taken_is_refused() -> None:
    assert [created(None).name for _ in range(3)] == ["addition", "addition-2", "addition-3"]
    assert folders.existing() == ["addition", "addition-2", "addition-3"]
    before = Folder(folders.root() / "addition").read_info()
    with pytest.raises(UserError, match=r"exists already.*curta train --resume addition"):
        created("addition", training__steps=1)
    assert Folder(folders.root() / "addition").read_info() == before


@pytest.mark.parametrize("name", ["run.json", "recipe.toml", "machine.json"])
def test_a_run_without_one_of_its_files_is_told(name: str) -> None:
    (created().path / name).unlink()
    refused("mine", f"run 'mine' is incomplete: {name} is missing")
    assert folders.existing() == ["mine"] * (name != "run.json")


# Metrics.


def test_metrics_are_read_as_written_and_cut_where_training_resumes() -> None:
    folder, rows = created(), [Metric(step, 0, step / 10, None, step / 2) for step in (1, 2, 3)]
    assert (folder.read_metrics(), metrics.cut(folder.metrics, 0)) == ([], 0.0)
    metrics.add(folder.metrics, rows[:2])
    metrics.add(folder.metrics, rows[2:])
    folder.metrics.write_text(folder.metrics.read_text() + '{"step": 4, "lo')  # a torn line
    assert folder.read_metrics() == rows
    assert metrics.cut(folder.metrics, 2) == 1.0
    assert folder.read_metrics() == rows[:2]


def test_the_last_line_of_every_member_and_lines_spread_evenly() -> None:
    path = created().metrics
    assert metrics.read_last(path, 3) == metrics.read_evenly(path, 3) == []
    rows = [Metric(step, n, 0.5, 0.25, float(step)) for step in (10, 20, 30) for n in range(3)]
    metrics.add(path, rows)
    assert metrics.read_last(path, 3) == rows[-3:]
    assert metrics.read_evenly(path, 4) == [rows[0], rows[2], rows[4], rows[6]]


def test_what_is_no_number_is_left_out_of_statistics() -> None:
    statistics = summary_statistics([0.5, None, float("inf"), 1.0])
    assert statistics == SummaryStatistics([0.5, None, None, 1.0], 0.75, 0.5, 1.0)
    assert summary_statistics([None, float("nan")]) == SummaryStatistics([None, None])
