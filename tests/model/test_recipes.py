"""Recipes that come with runs: none of them has a file executed."""

from typing import Any

import pytest

from curta.config.errors import UserError
from curta.model import recipes


@pytest.mark.parametrize(
    "fields",
    [
        {"program": ["addition", "/tmp/code.py"]},
        {"program": "addition", "positions": {"name": "code.py"}},
        {"program": "addition", "evaluation": {"layouts": ["code.py"]}},
    ],
    ids=str,
)
def test_a_recipe_of_a_run_that_names_a_file_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"the recipe names the file '.*code\.py'"):
        recipes.check_kept(fields, "the recipe")
    recipes.check_kept({"program": "code.py@0123456789ab", "positions": 5}, "the recipe")
