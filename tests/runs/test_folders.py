"""Run folders: self-describing, and told in one line when something is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

import curta
from curta.config.errors import UserError
from curta.layouts.texts import layout_of
from curta.runs import folders, metrics, verify
from curta.runs.folders import Folder
from curta.runs.info import Metric
from tests import tiny


def created(name: str | None = "mine", **changes: Any) -> Folder:
    recipe = tiny.recipe(**changes)
    return folders.create(recipe, layout_of(recipe), "addition", [0, 1], name)


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def refused(name: str, match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        curta.load(name)
    assert "\n" not in str(caught.value)


def test_a_new_run_describes_itself() -> None:
    folder = created()
    info = folder.read_info()
    assert (info.name, info.recipe) == ("mine", "addition")
    assert (info.seeds, info.status, info.steps) == ([0, 1], "created", 20)
    assert (info.trained_digits, info.operators) == ((1, 4), ["+"])
    assert {"curta", "jax", "jaxlib", "equinox", "python"} <= set(info.versions)
    assert "2 x" in info.device
    assert folder.read_recipe() == tiny.recipe()


def test_a_comparison_is_told_from_a_run(runs_folder: Path) -> None:
    (runs_folder / "both").mkdir(parents=True)
    (runs_folder / "both" / "comparison.json").write_text("{}")
    refused("both", "^'both' is a comparison without runs$")
    recipe = tiny.recipe()
    folders.create(recipe, layout_of(recipe), "mine", [0], "first", (), inside=runs_folder / "both")
    refused(
        "both", f"^'both' is a comparison: name one of its runs, such as {runs_folder}/both/first$"
    )


def test_a_run_of_a_comparison_is_found_by_both_names(runs_folder: Path, tmp_path: Path) -> None:
    recipe, inside = tiny.recipe(), runs_folder / "both"
    inside.mkdir(parents=True)
    (inside / "comparison.json").write_text("{}")
    found = folders.create(recipe, layout_of(recipe), "mine", [0], "first", (), inside=inside)
    assert folders.find("both/first").path == found.path
    assert found.address == "both/first"
    assert created().address == "mine"
    assert Folder(tmp_path / "elsewhere" / "other").address == "other"
    refused("both/third", "^unknown run 'both/third'")
    assert folders.removable("both/first") == found.path
    assert [part.name for part in verify.verify("both/first")][:2] == ["run.json", "recipe.toml"]
    with pytest.raises(UserError, match="`curta train --resume both/first` trains it"):
        found.newest_checkpoint()


def test_unnamed_runs_are_numbered_after_their_recipe() -> None:
    assert [created(None).name for _ in range(3)] == ["addition", "addition-2", "addition-3"]
    assert folders.existing() == ["addition", "addition-2", "addition-3"]


def test_a_name_that_is_taken_is_refused_and_the_run_left_alone() -> None:
    before = created().read_info()
    with pytest.raises(UserError, match=r"run 'mine' exists already.*curta train --resume mine"):
        created(training__steps=1)
    assert Folder(folders.root() / "mine").read_info() == before


@pytest.mark.parametrize("name", ["a/b", "..", ".", ".hidden", "/tmp/x", "../up"])
def test_a_name_that_is_no_folder_name_is_refused(name: str, runs_folder: Path) -> None:
    with pytest.raises(UserError, match="is no name for a run"):
        created(name)
    assert not runs_folder.exists()


def test_a_folder_with_only_a_recipe_is_incomplete() -> None:
    folder = created()
    (folder.path / "run.json").unlink()
    refused("mine", "run 'mine' is incomplete: run.json is missing")
    assert folders.existing() == []
    assert created(None).name == "addition"


@pytest.mark.parametrize("name", ["recipe.toml", "machine.json"])
def test_a_run_without_one_of_its_files_is_told(name: str) -> None:
    (created().path / name).unlink()
    refused("mine", f"run 'mine' is incomplete: {name} is missing")


# Metrics.

ROWS = [Metric(step, 0, step / 10, None, step / 2) for step in (1, 2, 3)]


def test_metrics_are_read_as_written_without_a_torn_last_line() -> None:
    folder = created()
    assert folder.read_metrics() == []
    metrics.add(folder.metrics, ROWS[:2])
    metrics.add(folder.metrics, ROWS[2:])
    assert folder.read_metrics() == ROWS
    path = folder.path / "metrics.jsonl"
    path.write_text(path.read_text() + '{"step": 4, "lo')
    assert folder.read_metrics() == ROWS


def test_the_last_line_of_every_member_and_lines_spread_evenly() -> None:
    path = created().metrics
    assert metrics.read_last(path, 3) == metrics.read_evenly(path, 3) == []
    rows = [Metric(step, n, 0.5, 0.25, float(step)) for step in (10, 20, 30) for n in range(3)]
    metrics.add(path, rows)
    assert metrics.read_last(path, 3) == rows[-3:]
    assert metrics.read_evenly(path, 4) == [rows[0], rows[2], rows[4], rows[6]]


def test_cutting_metrics_drops_what_is_written_again_and_says_the_time_until_then() -> None:
    folder = created()
    assert metrics.cut(folder.metrics, 0) == 0.0
    metrics.add(folder.metrics, ROWS)
    assert metrics.cut(folder.metrics, 2) == 1.0
    assert folder.read_metrics() == ROWS[:2]
    assert metrics.cut(folder.metrics, 0) == 0.0
    assert folder.read_metrics() == []
