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
        recipes.check_kept(fields, "the recipe")


@pytest.mark.parametrize(
    "fields",
    [{}, {"program": "code.py@0123456789ab"}, {"program": 5, "positions": 5, "evaluation": []}],
    ids=str,
)
def test_any_other_is_not(fields: dict[str, Any]) -> None:
    recipes.check_kept(fields, "the recipe")
