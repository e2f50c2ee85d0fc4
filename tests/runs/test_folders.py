"""Run folders: self-describing, and told in one line when something is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

import curta
from curta.config.errors import UserError
from curta.config.recipe import dump
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.runs import folders
from curta.runs.folders import Folder
from tests import tiny


def created(name: str | None = "mine", **changes: Any) -> Folder:
    recipe = tiny.recipe(**changes)
    return folders.create(recipe, layout_of(recipe), "addition", [0, 1], name)


def refused(name: str, match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        curta.load(name)
    assert "\n" not in str(caught.value)


def test_a_new_run_describes_itself() -> None:
    folder = created()
    info = folder.info
    assert (info["format"], info["name"], info["recipe"]) == (folders.FORMAT, "mine", "addition")
    assert (info["seeds"], info["status"], info["steps"]) == ([0, 1], "training", 20)
    assert (info["trained_digits"], info["operators"]) == ([1, 4], ["+"])
    assert set(info["versions"]) == {"curta", "jax", "python"}
    assert "2 x" in info["device"]
    assert folder.recipe == tiny.recipe()


def test_a_run_says_what_structure_its_model_is_given() -> None:
    told = folders.structure
    assert "role_embeddings:" in told(tiny.recipe(model__role_embeddings=True))
    plain = told(tiny.with_encoding("nope", layout="plain", model__role_embeddings=False))
    assert "role_embeddings:" not in plain
    assert "compositional_embeddings:" not in plain
    assert "compositional_embeddings:" in told(tiny.recipe(model__compositional_embeddings=True))
    assert told(tiny.recipe()).startswith("program addition: the algorithm's steps are what it is")
    assert "squared paper: the squares of the prompt, and a move with" in told(tiny.recipe())
    assert plain.startswith("layout plain: digits in the usual order")
    assert "positions nope: No positions are given to the model" in plain


def test_a_run_is_found_by_name_and_by_path() -> None:
    folder = created()
    assert folders.find("mine").path == folder.path
    assert folders.find(str(folder.path)).path == folder.path


def test_a_run_in_the_current_folder_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = created()
    monkeypatch.chdir(folder.path.parent)
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path / "elsewhere"))
    assert folders.find("mine").info == folder.info


def test_unnamed_runs_are_numbered_after_their_recipe() -> None:
    assert [created(None).name for _ in range(3)] == ["addition", "addition-2", "addition-3"]
    assert folders.existing() == ["addition", "addition-2", "addition-3"]


def test_a_name_that_is_taken_is_refused_and_the_run_left_alone() -> None:
    before = created().info
    with pytest.raises(UserError, match=r"run 'mine' exists already.*curta resume mine"):
        created(training__steps=1)
    assert Folder(folders.root() / "mine").info == before


@pytest.mark.parametrize("name", ["a/b", "..", ".", ".hidden", "/tmp/x", "../up"])
def test_a_name_that_is_no_folder_name_is_refused(name: str, runs_folder: Path) -> None:
    with pytest.raises(UserError, match="is no name for a run"):
        created(name)
    assert not runs_folder.exists()


def test_a_name_that_is_not_there_is_told_with_the_nearest_one() -> None:
    refused("mine", "no run 'mine' in .*curta train")
    created()
    refused("mien", "unknown run 'mien': did you mean 'mine'?")


def test_a_folder_with_only_a_recipe_is_incomplete() -> None:
    folder = created()
    (folder.path / "run.json").unlink()
    refused("mine", "run 'mine' is incomplete: run.json is missing")
    assert folders.existing() == []
    assert created(None).name == "addition"


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "\xff"])
def test_a_damaged_run_json_is_told(content: str) -> None:
    folder = created()
    (folder.path / "run.json").write_bytes(content.encode("latin-1"))
    refused("mine", "run 'mine' is damaged: run.json")


@pytest.mark.parametrize("field", ["seeds", "format", "stopped"])
def test_a_run_json_that_lacks_a_field_is_told(field: str) -> None:
    folder = created()
    info = {key: value for key, value in folder.info.items() if key != field}
    (folder.path / "run.json").write_text(json.dumps(info))
    with pytest.raises(UserError):
        curta.load("mine").train()


def test_a_run_of_a_newer_version_is_told() -> None:
    created().update(format=folders.FORMAT + 1)
    refused("mine", f"made by a newer version .format {folders.FORMAT + 1}.: update curta")


def test_a_run_without_its_recipe_is_told() -> None:
    (created().path / "recipe.toml").unlink()
    refused("mine", r"recipe\.toml.*No such file")


def test_a_run_without_a_checkpoint_is_told_how_to_get_one() -> None:
    with pytest.raises(UserError, match="has no checkpoint yet: `curta resume mine`"):
        folders.last_step(created())


def test_an_update_changes_only_its_fields() -> None:
    folder = created()
    before = folder.info
    folder.update(status="finished", note="Größe")
    assert folder.info == before | {"status": "finished", "note": "Größe"}


def test_a_run_of_programs_has_their_machine_and_one_of_a_layout_has_none() -> None:
    assert created().machine.exists()
    dense = tiny.dense()
    assert not folders.create(dense, layout_of(dense), "plain", [0], "plain").machine.exists()


def test_a_run_of_programs_without_its_machine_is_told() -> None:
    created().machine.unlink()
    with pytest.raises(UserError, match=r"run 'mine' is incomplete: machine\.json is missing"):
        _ = curta.load("mine").layout


# Metrics.

ROWS = [{"step": step, "loss": step / 10, "seconds": step / 2} for step in (1, 2, 3)]


def test_metrics_are_read_as_written_without_a_torn_last_line() -> None:
    folder = created()
    assert list(folder.metrics()) == []
    folder.add_metrics(ROWS[:2])
    folder.add_metrics(ROWS[2:])
    assert list(folder.metrics()) == ROWS
    path = folder.path / "metrics.jsonl"
    path.write_text(path.read_text() + '{"step": 4, "lo')
    assert list(folder.metrics()) == ROWS


def test_cutting_metrics_drops_what_is_written_again_and_says_the_time_until_then() -> None:
    folder = created()
    assert folder.cut_metrics(0) == 0.0
    folder.add_metrics(ROWS)
    assert folder.cut_metrics(2) == 1.0
    assert list(folder.metrics()) == ROWS[:2]
    assert folder.cut_metrics(0) == 0.0
    assert list(folder.metrics()) == []


def test_an_evaluation_is_read_as_saved() -> None:
    folder = created()
    assert folder.evaluation == {}
    folder.save_evaluation({"seed": 1, "lengths": [{"exact": [0.5]}]})
    assert folder.evaluation == {"seed": 1, "lengths": [{"exact": [0.5]}]}


def test_a_run_keeps_the_recipe_it_was_made_of_whatever_happens_to_the_shipped_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(dump(tiny.recipe()))
    recipe = recipes.load(str(path))
    folder = folders.create(recipe, layout_of(recipe), str(path), [0], None)
    path.write_text("")
    assert folder.name == "mine"
    assert folder.recipe == tiny.recipe()
