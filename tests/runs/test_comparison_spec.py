"""What is to be compared: words, files and sweeps, all checked before anything trains."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.runs import comparison_spec
from curta.runs.comparison_spec import Entry, plan
from tests import tiny


def test_an_entry_is_a_recipe_with_changes_that_are_toml_values() -> None:
    text = 'mine: addition  positions.reach={ place = [0, 2] } evaluation.digits=["4/2", 3] '
    changes = {"positions.reach": {"place": [0, 2]}, "evaluation.digits": ["4/2", 3]}
    assert comparison_spec.entry(text) == Entry("addition", "mine", changes)


VALUES = st.one_of(
    st.integers(0, 99).map(str),
    st.sampled_from(["rope", "true", '"a,b"', "{ place = [0, 1], row = [1, 2] }"]),
    st.lists(st.lists(st.integers(0, 9))).map(str),
)


@given(st.lists(VALUES, min_size=1))
def test_cutting_leaves_what_stands_in_brackets_and_quotes_whole(values: list[str]) -> None:
    assert [part.strip() for part in comparison_spec.cut(", ".join(values), ",")] == values


def test_what_an_entry_says_itself_wins_over_what_is_common() -> None:
    spec = plan(["addition", "addition training.steps=7"], tiny.overrides(), 2)
    assert [row.recipe.training.steps for row in spec.rows] == [20, 7]
    assert [row.recipe.model.width for row in spec.rows] == [16, 16]
    assert [row.name for row in spec.rows] == ["addition", "addition steps=7"]
    assert (spec.title, spec.base) == ("addition, addition steps=7", "addition-addition-steps-7")


FILE = """
title = "Two"
seeds = [3, 5]
[common]
training.steps = 9
model.width = 16
[[entries]]
recipe = "addition"
changes.model.heads = 2
changes.positions.name = "rope"
[[entries]]
name = "mine"
recipe = "other.toml"
changes = { layout = "reversed", training.steps = 5 }
"""


def write(folder: Path, text: str) -> str:
    path = folder / "two.toml"
    path.write_text(text)
    (folder / "other.toml").write_text('[positions]\nname = "nope"\n')
    return str(path)


def test_a_file_says_the_same_as_words(tmp_path: Path) -> None:
    spec = plan([write(tmp_path, FILE)])
    first, second = spec.rows
    assert (spec.title, spec.base, spec.seeds) == ("Two", "two", [3, 5])
    assert (first.name, second.name) == ("addition heads=2 rope", "mine")
    assert first.changes == {"model.heads": 2, "positions.name": "rope"}
    assert (first.recipe.positions.name, first.recipe.training.steps) == ("rope", 9)
    assert (second.recipe.layout, second.recipe.training.steps) == ("reversed", 5)
    assert second.recipe.positions.name == "nope"
    assert {row.recipe.model.width for row in spec.rows} == {16}


@pytest.mark.parametrize("name", comparison_spec.names())
def test_shipped_comparisons_have_one_budget_and_one_evaluation(name: str) -> None:
    recipes = [row.recipe for row in plan([name]).rows]
    assert len(recipes) > 1
    assert len({(recipe.training.steps, recipe.training.batch) for recipe in recipes}) == 1
    assert len({str(recipe.evaluation) for recipe in recipes}) == 1


def test_several_entries_are_swept_alike(tmp_path: Path) -> None:
    sweep = "[sweep]\ntraining.problems = [3, 30]\nmodel.width = [16, 32]\n"
    entries = '[[entries]]\nrecipe = "addition"\n[[entries]]\nname = "plain"\nrecipe = "addition"\n'
    spec = plan([write(tmp_path, f'title = "Both"\n{sweep}{entries}changes.task.special = 0.0\n')])
    assert spec.swept == ("training.problems", "model.width")
    assert spec.base == "two-by-problems-width"
    assert [row.entry for row in spec.rows] == ["addition"] * 4 + ["plain"] * 4
    assert spec.rows[5].name == "plain problems=3 width=32"
    last = spec.rows[-1].recipe
    assert (last.training.problems, last.model.width, last.task.special) == (30, 32, 0.0)


def test_a_list_is_swept_where_a_field_takes_one_value() -> None:
    settings: dict[str, Any] = {"task.digits": [1, 5], "model.width": [16, 32]}
    spec = plan(["addition"], settings)
    assert (spec.swept, spec.title) == (("model.width",), "addition: model.width")
    assert [row.name for row in spec.rows] == ["width=16", "width=32"]
    assert {row.recipe.task.digits for row in spec.rows} == {(1, 5)}
    spec = plan(["addition"], {"task.digits": [[1, 5], [1, 9]]})
    assert [row.recipe.task.digits for row in spec.rows] == [(1, 5), (1, 9)]
    with pytest.raises(UserError, match="is one recipe: name several"):
        plan(["addition"], {"task.digits": [1, 5]})
