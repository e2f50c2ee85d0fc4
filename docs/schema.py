"""The JSON schema of recipes, with which an editor completes and checks them.

`python -m docs.schema` prints it; `make docs` puts it beside the site's pages.
"""

import copy
import json
from typing import Any

from curta.config import descriptions
from curta.config.recipe import Recipe, sections
from curta.config.sections import AdamW
from curta.config.typed import adapter

USERS = {
    "properties": {
        "name": {"type": "string", "pattern": r"\.py$", "description": "Path of a file of yours."}
    },
    "required": ["name"],
}
"""A position encoding of a user: its file says which other fields it has."""


def schema() -> dict[str, Any]:
    """Return the schema of a recipe's file: every field with its text, no field besides."""
    content: dict[str, Any] = copy.deepcopy(adapter(Recipe).json_schema())
    content["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    content["additionalProperties"] = False
    _describe(content, Recipe)
    kinds = {kind.__name__: kind for section in sections([]).values() for kind in section}
    for name, definition in content["$defs"].items():
        if name not in kinds:
            definition |= USERS
            continue
        _describe(definition, kinds[name])
        definition["additionalProperties"] = False
        if "name" in definition["properties"] and kinds[name] is not AdamW:
            definition["required"] = ["name"]
    return content


def _describe(definition: dict[str, Any], kind: type[Any]) -> None:
    """Put the text below each field of a dataclass into its properties."""
    texts = descriptions.texts(kind)
    for field, properties in definition["properties"].items():
        properties["description"] = texts.get(field, "")


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
