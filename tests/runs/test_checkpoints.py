"""Checkpoints: whole or not at all, and noticed when they are not what was written."""

from dataclasses import field, make_dataclass, replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.errors import Notice, UserError
from curta.config.sections import Training
from curta.layouts.texts import layout_of
from curta.runs import checkpoints
from curta.training import trainer
from curta.training.trainer import Member
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


def refused(folder: Path, step: int, like: State, match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        checkpoints.load(folder, step, like, OWNER)
    assert "\n" not in str(caught.value)


def test_members_survive_bit_for_bit(tmp_path: Path) -> None:
    recipe, seeds = tiny.recipe(), jnp.asarray([3, 1])
    layout = layout_of(recipe)
    members = trainer.init(recipe, layout, seeds)
    checkpoints.save(tmp_path, 0, members, OWNER)
    loaded = checkpoints.load(
        tmp_path, 0, jax.eval_shape(lambda: trainer.init(recipe, layout, seeds)), OWNER
    )
    assert isinstance(loaded, Member)
    assert tiny.same(loaded, members)


@pytest.mark.parametrize("place", [0, 20, -1])
def test_a_flipped_byte_is_noticed(saved: Path, place: int) -> None:
    path = saved / "00000005.safetensors"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    refused(saved, 5, state(), "damaged")
    path.unlink()
    refused(saved, 5, state(), "missing or unreadable")


def test_a_checkpoint_of_another_shape_is_refused(saved: Path) -> None:
    refused(saved, 5, state()._replace(count=np.zeros(3, np.int32)), "does not fit .*count")


@pytest.mark.parametrize("most", [0, 1, 2, 3, 9])
def test_only_the_newest_are_kept(tmp_path: Path, most: int) -> None:
    written = [2, 4, 6, 8]
    for step in written:
        checkpoints.save(tmp_path, step, state(step), OWNER, most)
    newest = written[-most:] if most else written
    stems = {f"{step:08d}" for step in newest}
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{stem}.{kind}" for stem in stems for kind in ("json", "safetensors")
    }
    for step in newest:
        assert tiny.same(checkpoints.load(tmp_path, step, state(), OWNER), state(step))


def test_none_is_removed_before_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(tmp_path, 5, state(), OWNER, 1)

    def full(*arguments: object) -> None:
        raise UserError("no space left")

    monkeypatch.setattr("curta.config.files.write", full)
    with pytest.raises(UserError, match="no space left"):
        checkpoints.save(tmp_path, 6, state(6), OWNER, 1)
    assert tiny.same(checkpoints.load(tmp_path, 5, state(), OWNER), state())


def test_what_a_killed_write_leaves_behind_is_ignored(saved: Path) -> None:
    """Files under temporary names, or weights whose record was still to be written."""
    (saved / ".00000006.json.abc").write_text("{")
    (saved / ".00000006.safetensors.abc").write_bytes(b"half")
    (saved / "00000006.safetensors").write_bytes(b"half")
    (saved / "notes.json").write_text("{}")
    assert checkpoints.steps(saved)[-1] == 5
    checkpoints.save(saved, 6, state(6), OWNER)
    assert tiny.same(checkpoints.load(saved, 6, state(), OWNER), state(6))


def test_a_checkpoint_of_other_seeds_or_another_recipe_is_refused(tmp_path: Path) -> None:
    recipe = tiny.recipe()
    mine = checkpoints.owner(recipe, [0, 1], 5)
    checkpoints.save(tmp_path, 5, state(), mine)
    assert tiny.same(checkpoints.load(tmp_path, 5, state(), mine), state())
    longer = tiny.recipe(training__steps=30)
    for other in (checkpoints.owner(recipe, [0, 2], 5), checkpoints.owner(longer, [0, 1], 5)):
        with pytest.raises(UserError, match="is of another recipe or of other seeds"):
            checkpoints.load(tmp_path, 5, state(), other)


def test_up_to_each_end_a_checkpoint_belongs_to_the_training_that_ended_there_too() -> None:
    def owner(step: int, *ends: int) -> str:
        asked = {"training__steps": ends[-1], "training__extended_at": [*ends[:-1]]}
        return checkpoints.owner(tiny.recipe(**asked), [0], step)

    assert owner(20, 20) == owner(20, 20, 40) == owner(10, 20, 60)
    assert owner(40, 20, 40) == owner(21, 20, 40) == owner(40, 20, 40, 60)
    assert len({owner(20, 20), owner(40, 20, 40), owner(40, 20, 60), owner(40, 20, 30, 40)}) == 4


def test_a_field_that_a_later_version_has_leaves_checkpoints_usable_at_its_default() -> None:
    recipe, later = tiny.recipe(), [("novel", int, field(default=0))]
    training = make_dataclass("Training", later, bases=(Training,), frozen=True)

    def owner(**novel: int) -> str:
        changed = training(**vars(recipe.training), **novel)
        return checkpoints.owner(replace(recipe, training=changed), [0], 5)

    assert owner() == checkpoints.owner(recipe, [0], 5)
    assert owner(novel=1) != owner()


def test_the_newest_that_is_whole_is_found_and_the_others_are_named(tmp_path: Path) -> None:
    for step in (5, 6, 7):
        checkpoints.save(tmp_path, step, state(step), OWNER)
    (tmp_path / "00000006.safetensors").write_bytes(b"")
    (tmp_path / "00000007.json").write_text("{")
    with pytest.warns(Notice) as said:
        assert checkpoints.newest_whole(tmp_path) == 5
    assert [f"0000000{step}" in str(one.message) for one, step in zip(said, (7, 6), strict=True)]
    (tmp_path / "00000005.json").write_text("{}")
    with pytest.raises(UserError, match=r"00000007.*is damaged"):
        checkpoints.newest_whole(tmp_path)
