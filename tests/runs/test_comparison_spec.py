"""What is to be compared: words, files and products, all checked before anything trains."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.runs import comparison_spec
from tests import tiny

COMMON = tiny.overrides()


def resolved(*words: str, **options: Any) -> comparison_spec.ComparisonSpec:
    return comparison_spec.resolve(
        comparison_spec.draft(words), options.pop("common", COMMON), **options
    )


def refused(*words: str, **options: Any) -> str:
    with pytest.raises(UserError) as found:
        resolved(*words, **options)
    assert "\n" not in str(found.value)
    return str(found.value)


# Words of a command line.


def test_an_entry_is_a_recipe_with_changes_that_are_toml_values() -> None:
    text = 'mine: addition positions.name=rope task.digits=[1, 5] evaluation.digits=["4/2", 3]'
    changes = {
        "positions.name": "rope",
        "task.digits": [1, 5],
        "evaluation.digits": ["4/2", 3],
    }
    assert comparison_spec.entry(text) == comparison_spec.Entry("addition", "mine", changes)
    assert comparison_spec.entry("addition  model.width=64 ") == comparison_spec.Entry(
        "addition", "addition width=64", {"model.width": 64}
    )
    nested = comparison_spec.entry("addition positions.reach={ place = [0, 2] }")
    assert nested.changes == {"positions.reach": {"place": [0, 2]}}


VALUES = st.one_of(
    st.integers(0, 99).map(str),
    st.sampled_from(["rope", "true", '"a,b"', "{ place = [0, 1], row = [1, 2] }"]),
    st.lists(st.integers(0, 9)).map(str),
    st.lists(st.lists(st.integers(0, 9))).map(str),
)


@given(st.lists(VALUES, min_size=1))
def test_cutting_leaves_what_stands_in_brackets_and_quotes_whole(values: list[str]) -> None:
    assert [part.strip() for part in comparison_spec.cut(", ".join(values), ",")] == values


def test_what_an_entry_says_itself_wins_over_what_is_common() -> None:
    made = resolved("addition", "mine: addition training.steps=7")
    assert [row.recipe.training.steps for row in made.rows] == [20, 7]
    assert [row.recipe.model.width for row in made.rows] == [16, 16]
    assert [row.name for row in made.rows] == ["addition", "mine"]


# Files.

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


def written(folder: Path, text: str) -> str:
    path = folder / "two.toml"
    path.write_text(text)
    (folder / "other.toml").write_text('[positions]\nname = "nope"\n')
    return str(path)


def test_a_file_says_the_same_as_words(tmp_path: Path) -> None:
    made = resolved(written(tmp_path, FILE), common={})
    one, two = made.rows
    assert (made.title, made.seeds) == ("Two", [3, 5])
    assert (one.name, two.name) == ("addition heads=2 rope", "mine")
    assert one.changes == {"model.heads": 2, "positions.name": "rope"}
    assert (one.recipe.positions.name, one.recipe.training.steps) == ("rope", 9)
    assert (two.recipe.layout, two.recipe.training.steps) == ("reversed", 5)
    assert two.recipe.positions.name == "nope"
    assert {row.recipe.model.width for row in made.rows} == {16}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title", "titel", "unknown field 'titel': did you mean 'title'?"),
        ('"Two"', "2", "title should be a valid string, not 2"),
        ('"Two"', '"Two', "is not valid TOML"),
        ('recipe = "addition"', "", "entries.0.recipe is missing"),
        ("heads", "haeds", "did you mean 'model.heads'?"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert says in refused(written(tmp_path, FILE.replace(old, new)), common={})


@pytest.mark.parametrize("name", comparison_spec.names())
def test_what_comes_with_the_program_can_be_carried_out(name: str) -> None:
    made = resolved(name, common={})
    budgets = {(row.recipe.training.steps, row.recipe.training.batch) for row in made.rows}
    exams = {str(row.recipe.evaluation) for row in made.rows}
    assert len(made.rows) > 1
    assert len(budgets) == len(exams) == 1


# Sweeps.


def test_several_entries_are_swept_alike(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        """
        title = "Both"
        [sweep]
        training.problems = [3, 30]
        model.width = [16, 32]
        [[entries]]
        recipe = "addition"
        [[entries]]
        name = "plain"
        recipe = "addition"
        changes.task.special = 0.0
        """
    )
    made = comparison_spec.resolve(comparison_spec.read(str(tmp_path / "mine.toml")), {})
    assert made.swept == ("training.problems", "model.width")
    assert [row.entry for row in made.rows] == ["addition"] * 4 + ["plain"] * 4
    assert made.rows[5].name == "plain problems=3 width=32"
    last = made.rows[-1].recipe
    assert (last.training.problems, last.model.width, last.task.special) == (30, 32, 0.0)


def test_a_list_is_swept_where_a_field_takes_one_value() -> None:
    settings = {"task.digits": [1, 5], "evaluation.digits": [20, 100], "model.width": [16, 32]}
    draft = comparison_spec.draft(["addition"])
    swept, common = comparison_spec.with_settings(draft, settings)
    assert swept.sweep == {"model.width": [16, 32]}
    assert set(common) == {"task.digits", "evaluation.digits"}
    swept, _ = comparison_spec.with_settings(draft, {"task.digits": [[1, 5], [1, 9]]})
    assert swept.sweep == {"task.digits": [[1, 5], [1, 9]]}
