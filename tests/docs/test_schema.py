"""The schema of recipes takes what Curta takes, and refuses misspelt fields."""

import tomllib
from typing import Any

import jsonschema
import pytest

from curta.config import recipe
from docs.schema import schema

SCHEMA = schema()


@pytest.mark.parametrize("name", recipe.shipped_names())
def test_every_recipe_that_comes_along_is_valid(name: str) -> None:
    jsonschema.validate(recipe.shipped(name), SCHEMA)


def test_an_encoding_from_a_file_may_have_any_fields() -> None:
    positions = {"name": "docs/examples/decay.py", "strength": 0.25}
    jsonschema.validate({"layout": "reversed", "positions": positions}, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "sumary = 'a typing error'",
        "[model]\nwidht = 32",
        "[model]\nwidth = 'wide'",
        "[positions]\nname = 'rope'\nperiod = 3",
        "[optimizer]\nname = 'sgd'\nbeta2 = 0.9",
        "[training]\nloss = 'most'",
    ],
)
def test_what_curta_refuses_is_marked(text: str) -> None:
    fields: dict[str, Any] = tomllib.loads(text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(fields, SCHEMA)
