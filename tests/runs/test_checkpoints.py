"""Checkpoints: whole or not at all, and noticed when they are not what was written."""

from dataclasses import field, make_dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from curta.config.errors import Notice, UserError
from curta.config.sections import Training
from curta.runs import checkpoints
from tests import tiny

OWNER = "a recipe and its seeds"


class State(NamedTuple):
    """A small state with every dtype that members have."""

    weights: tuple[np.ndarray, ...]
    count: np.ndarray
    alive: np.ndarray


def state(seed: int = 0) -> State:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(2, 3, 4)).astype(np.float32)
    special = np.array([np.nan, -np.inf, -0.0, 1e-45], np.float32)
    return State((weights, special), np.array([7, -1], np.int32), np.array([True, False]))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with the checkpoint of step 5."""
    checkpoints.save(tmp_path, 5, state(), OWNER)
    return tmp_path


def same(folder: Path, step: int, seed: int) -> bool:
    return tiny.same(checkpoints.load(folder, step, state(), OWNER), state(seed))


@pytest.mark.parametrize("place", [0, 20, -1])
def test_a_flipped_byte_is_noticed(saved: Path, place: int) -> None:
    path = saved / "00000005.safetensors"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match="damaged"):
        checkpoints.load(saved, 5, state(), OWNER)
    path.unlink()
    with pytest.raises(UserError, match="missing or unreadable"):
        checkpoints.load(saved, 5, state(), OWNER)


def test_a_checkpoint_of_another_shape_or_owner_is_refused(saved: Path) -> None:
    with pytest.raises(UserError, match=r"does not fit .*count"):
        checkpoints.load(saved, 5, state()._replace(count=np.zeros(3, np.int32)), OWNER)
    with pytest.raises(UserError, match="is of another recipe or of other seeds"):
        checkpoints.load(saved, 5, state(), "another recipe")


@pytest.mark.parametrize("most", [0, 1, 3, 9])
def test_only_the_newest_are_kept(tmp_path: Path, most: int) -> None:
    steps = [2, 4, 6, 8]
    for step in steps:
        checkpoints.save(tmp_path, step, state(step), OWNER, most)
    newest = steps[-most:] if most else steps
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{step:08d}.{kind}" for step in newest for kind in ("json", "safetensors")
    }
    assert all(same(tmp_path, step, step) for step in newest)


def test_none_is_removed_before_the_new_one_is_whole(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise UserError("no space left")

    monkeypatch.setattr("curta.config.files.write", full)
    with pytest.raises(UserError, match="no space left"):
        checkpoints.save(saved, 6, state(6), OWNER, 1)
    assert same(saved, 5, 0)


def test_what_a_killed_write_leaves_behind_is_ignored(saved: Path) -> None:
    """Files under temporary names, or weights whose record was still to be written."""
    (saved / ".00000006.json.abc").write_text("{")
    (saved / "00000006.safetensors").write_bytes(b"half")
    (saved / "notes.json").write_text("{}")
    assert checkpoints.steps(saved)[-1] == 5
    checkpoints.save(saved, 6, state(6), OWNER)
    assert same(saved, 6, 6)


def owner(step: int, *ends: int, seed: int = 0) -> str:
    fields = {"training__steps": ends[-1], "training__extended_at": [*ends[:-1]]}
    return checkpoints.owner(tiny.recipe(**fields), [seed], step)


def test_up_to_each_end_a_checkpoint_belongs_to_the_training_that_ended_there_too() -> None:
    assert owner(20, 20) == owner(20, 20, 40) == owner(10, 20, 60)
    assert owner(40, 20, 40) == owner(21, 20, 40) == owner(40, 20, 40, 60)
    others = owner(20, 20), owner(40, 20, 40), owner(40, 20, 60), owner(40, 20, 30, 40)
    assert len({*others, owner(20, 20, seed=1)}) == 5


def test_a_field_that_a_later_version_has_leaves_checkpoints_usable_at_its_default() -> None:
    recipe, later = tiny.recipe(), [("novel", int, field(default=0))]
    training = make_dataclass("Training", later, bases=(Training,), frozen=True)
    usual = replace(recipe, training=training(**vars(recipe.training)))
    other = replace(recipe, training=training(**vars(recipe.training), novel=1))
    assert checkpoints.owner(usual, [0], 5) == checkpoints.owner(recipe, [0], 5)
    assert checkpoints.owner(other, [0], 5) != checkpoints.owner(recipe, [0], 5)


def test_the_newest_that_is_whole_is_found_and_the_others_are_named(tmp_path: Path) -> None:
    for step in (5, 6, 7):
        checkpoints.save(tmp_path, step, state(step), OWNER)
    (tmp_path / "00000006.safetensors").write_bytes(b"")
    (tmp_path / "00000007.json").write_text("{")
    with pytest.warns(Notice, match="00000007"), pytest.warns(Notice, match="00000006"):
        assert checkpoints.newest_whole(tmp_path) == 5
    (tmp_path / "00000005.json").write_text("{}")
    with pytest.raises(UserError, match=r"00000007.*is damaged"):
        checkpoints.newest_whole(tmp_path)
