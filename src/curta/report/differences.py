"""In which fields the recipes of several runs differ."""

import tomllib
from typing import Any

from curta.report.compared import Compared
from curta.report.markup import Markup, element, table
from curta.report.summary import MISSING, cell

Fields = dict[str, Any]
"""`{"section.field": value}`; of a list of tasks `{"task +.field": value}`."""


def differences(compared: Compared) -> Markup:
    """A row for every field that is not the same everywhere; a column for every run."""
    recipes = {name: fields(run.recipe) for name, run in compared.runs.items()}
    if len(recipes) < 2:
        return Markup()
    every = dict.fromkeys(path for recipe in recipes.values() for path in recipe)
    shown = {path: [_shown(recipe, path) for recipe in recipes.values()] for path in every}
    differing = {path: values for path, values in shown.items() if len(set(values)) > 1}
    same = f"All other {len(every) - len(differing):,} fields are the same."
    if not differing:
        return element(
            "section", element("h2", "Recipes side by side"), element("p", "They are the same.")
        )
    head = element(
        "tr", *(element("th", name, class_="word", scope="col") for name in ("Field", *recipes))
    )
    body = (_row(path, values) for path, values in differing.items())
    found = table("Fields in which the recipes differ", [head], body)
    return element("section", element("h2", "Recipes side by side"), found, element("p", same))


def fields(recipe: str) -> Fields:
    """The fields of a recipe's TOML by their paths."""
    found: Fields = {}
    for section, value in tomllib.loads(recipe).items():
        tasks = value if isinstance(value, list) else [value]
        for one in tasks:
            name = f"{section} {one['operator']}" if section == "task" else section
            inner = one.items() if isinstance(one, dict) else [("", one)]
            found |= {f"{name}.{key}".rstrip("."): item for key, item in inner}
    return found


def _shown(recipe: Fields, path: str) -> str:
    value = recipe.get(path)
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(item)}" for key, item in value.items()) or MISSING
    return f"{value:g}" if isinstance(value, float) else cell(value) or MISSING


def _row(path: str, values: list[str]) -> Markup:
    shown = (element("td", value, class_="value") for value in values)
    return element("tr", element("th", path, class_="entry", scope="row"), *shown)
