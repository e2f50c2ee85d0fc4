"""Recipes that come with runs: none of them has a file executed."""

from typing import Any

import pytest

from curta.config.errors import UserError
from curta.model import recipes


@pytest.mark.parametrize(
    "fields",
    [
        {"program": "code.py"},
        {"program": ["addition", "/tmp/code.py"]},
        {"program": "addition", "positions": {"name": "code.py"}},
        {"program": "addition", "evaluation": {"layouts": ["code.py"]}},
    ],
    ids=str,
)
def test_a_kept_recipe_that_names_a_file_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"the recipe names the file '.*code\.py'"):
        recipes.kept(fields, "the recipe")


@pytest.mark.parametrize(
    "fields",
    [{}, {"program": "code.py@0123456789ab"}, {"program": 5, "positions": 5, "evaluation": []}],
    ids=str,
)
def test_any_other_is_not(fields: dict[str, Any]) -> None:
    recipes.kept(fields, "the recipe")


def test_a_run_older_than_the_field_keeps_the_split_of_its_table() -> None:
    """Its recipe has every field that there was, so one that lacks this one is older."""
    table = {"operator": "+", "values": [0, 9], "held_out": 40, "special": 0.0}
    other = {"operator": "-", "digits": [1, 3]}
    found = recipes.kept({"task": [table, other]}, "a run")
    assert found["task"] == [table | {"twins_together": False}, other]
    assert recipes.kept({"task": table | {"twins_together": True}}, "")["task"]["twins_together"]
    assert recipes.kept({"task": other}, "a run")["task"] == other
    assert recipes.kept({}, "a run") == {}
