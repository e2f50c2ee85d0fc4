"""In which fields the recipes of several runs differ."""

import tomllib
from typing import Any, NamedTuple

from curta.report.compared import Compared
from curta.report.summary import MISSING, cell

Fields = dict[str, Any]
"""`{"section.field": value}`; of a list of tasks `{"task +.field": value}`."""


class Differences(NamedTuple):
    """For every field that is not the same everywhere, its value in each run; how many are."""

    names: list[str]
    differing: dict[str, list[str]]
    same: int


def differences(compared: Compared) -> Differences | None:
    """In what the recipes differ; None for a single one."""
    recipes = {name: fields(run.recipe) for name, run in compared.runs.items()}
    if len(recipes) < 2:
        return None
    every = dict.fromkeys(path for recipe in recipes.values() for path in recipe)
    shown = {path: [_shown(recipe, path) for recipe in recipes.values()] for path in every}
    differing = {path: values for path, values in shown.items() if len(set(values)) > 1}
    return Differences(list(recipes), differing, len(every) - len(differing))


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
