"""A recipe that was changed does not claim what it was before."""

from pathlib import Path
from typing import Any

from curta.config import recipe
from curta.model import recipes

OWN = recipes.resolve("addition", {}, "a test").summary


def summary(name: str = "addition", **overrides: Any) -> str:
    fields = {path.replace("__", "."): value for path, value in overrides.items()}
    return recipes.resolve(name, fields, "a test").summary


def test_a_change_of_what_is_trained_is_said() -> None:
    changed = summary(positions__name="rope", model__gated=True, task__digits=[1, 3])
    assert changed == "addition with positions.name=rope, model.gated=true, task.digits=[1, 3]"


def test_what_changes_nothing_of_it_keeps_the_summary() -> None:
    width = recipes.resolve("addition", {}, "a test").model.width
    assert summary(model__width=width) == summary() == OWN
    assert summary(evaluation__digits=[2], evaluation__count=3) == OWN


def test_no_path_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text((Path(recipe.__file__).parent / "recipes" / "addition.toml").read_text())
    assert summary(str(path), model__width=64) == "mine.toml with model.width=64"
