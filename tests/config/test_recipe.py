"""Recipes: read strictly, with one line and the nearest right name for every mistake."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.positions import Abacus, RoPE
from curta.config.recipe import (
    Recipe,
    dump,
    field_paths,
    lookup,
    shipped,
    shipped_names,
    with_overrides,
)
from curta.config.sections import SGD
from curta.model import recipes
from tests import tiny

SEEING = {"positions.name": "rope"}


def parsed(overrides: dict[str, Any], base: dict[str, Any] = tiny.TINY) -> Recipe:
    return recipes.parse(with_overrides(base, overrides), where="recipe 'mine'")


def test_a_section_that_is_a_value_cannot_be_overridden() -> None:
    for base in ({"positions": 3}, {"model": 3}):
        section = next(iter(base))
        with pytest.raises(UserError, match=section):
            parsed({f"{section}.name": "rope"}, base)


SUMMARY = recipes.load("addition").summary
CHANGED = {"positions.name": "rope", "model.gated": True, "task.digits": [1, 3]}


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        (CHANGED, "addition with positions.name=rope, model.gated=true, task.digits=[1, 3]"),
        ({"model.width": recipes.load("addition").model.width}, SUMMARY),  # what it is already
        ({"evaluation.digits": [2], "evaluation.count": 3}, SUMMARY),  # not what is trained
    ],
)
def test_a_summary_says_what_is_trained_otherwise(
    fields: dict[str, Any], summary: str, tmp_path: Path
) -> None:
    """A recipe that was changed does not claim what it was before; no path is in its summary."""
    assert recipes.resolve("addition", fields, "a test").summary == summary
    path = tmp_path / "mine.toml"
    path.write_text(tomli_w.dumps(shipped("addition")))
    copied = recipes.resolve(str(path), fields, "a test").summary
    assert copied == summary.replace("addition with", "mine.toml with")


# What is dumped can be read again, and says everything.


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_recipe_survives_dump_and_load(name: str, tmp_path: Path) -> None:
    recipe, path = recipes.load(name), tmp_path / "again.toml"
    path.write_text(dump(recipe), "utf-8")
    assert recipes.load(str(path)) == recipe
    assert recipe.summary


@given(
    digits=st.tuples(st.integers(1, 9), st.integers(9, 15)),
    rate=st.floats(1e-6, 10),
    summary=st.text(st.characters(codec="utf-8").filter(str.isprintable)),
    name=st.sampled_from(sorted(tiny.ENCODINGS)),
)
def test_any_recipe_survives_dump_and_load(
    digits: tuple[int, int], rate: float, summary: str, name: str
) -> None:
    recipe = tiny.with_encoding(
        name, task__digits=list(digits), optimizer__learning_rate=rate, summary=summary
    )
    assert recipes.parse(tomllib.loads(dump(recipe)), where="dump") == recipe


def test_a_dump_holds_every_field_defaults_included() -> None:
    table = tomllib.loads(dump(recipes.parse({"program": "addition"}, where="little")))
    optional = {  # TOML has no None
        "layout",
        *("task.second", "task.operands", "task.values"),
        *("model.num_kv_heads", "training.stop_at", "training.evaluate_digits"),
        "optimizer.momentum",  # AdamW has none
    }
    for path in field_paths():
        if not path.startswith("positions.") and path not in optional:
            assert lookup(table, path) is not None, path


def test_a_layout_takes_the_place_of_a_program_and_the_other_way_round() -> None:
    assert recipes.parse({"program": "addition"}, where="little") == Recipe(program="addition")
    dense = parsed({"layout": "plain"} | SEEING)
    assert (dense.layout, dense.programs) == ("plain", ())
    assert with_overrides({"layout": "plain"}, {"program": "sums"}) == {"program": "sums"}


# Overrides.


def test_overrides_change_their_fields_and_no_other() -> None:
    before = with_overrides(tiny.TINY, {})
    changed = parsed({"model.width": 32, "layout": "reversed"} | SEEING)
    assert (changed.model.width, changed.layout, changed.positions) == (32, "reversed", RoPE())
    assert changed.task == tiny.recipe().task
    assert before == tiny.TINY


def test_the_same_encoding_keeps_its_section_and_another_optimiser_what_both_have() -> None:
    base = {"layout": "reversed", "positions": {"name": "abacus", "rows": 999}}
    overrides = {"positions.name": "abacus", "positions.max_offset": 7}
    assert parsed(overrides, base).positions == Abacus(rows=999, max_offset=7)
    base = tiny.TINY | {"optimizer": {"learning_rate": 0.5, "weight_decay": 0.1}}
    other = parsed({"optimizer.name": "sgd"}, base)
    assert other.optimizer == SGD(learning_rate=0.5)
    assert "weight_decay" not in dump(other)
