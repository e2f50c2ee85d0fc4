"""What a recipe says of itself once fields of it were changed: made of its fields.

The summary that comes with a recipe tells what that recipe does, and no other.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from curta.config.limits import LETTERS
from curta.config.printable import shortened
from curta.config.recipe import SIZES, Recipe, as_table, lookup
from curta.config.table import spanned
from curta.config.task import Task

ASKED = ("summary", "evaluation")
"""Sections that change nothing of what is trained."""

SPANS = {f"task.{name}" for name in (*SIZES, "values")}
"""Fields of a lowest and a highest value."""


def described(
    recipe: Recipe, own: Recipe | None, name: str, overrides: Mapping[str, Any]
) -> Recipe:
    """The recipe of that name with `overrides`, and a summary that holds for it.

    `own` is the recipe as it is without them, if it is one, whose summary stays where they change
    nothing of what is trained.
    """
    found, before = as_table(recipe), as_table(own) if own else {}
    changed = {
        path: lookup(found, path)
        for path in overrides
        if path.partition(".")[0] not in ASKED and lookup(found, path) != lookup(before, path)
    }
    if not changed or "summary" in overrides:
        return recipe
    return replace(recipe, summary=_summary(recipe, name, changed))


def _summary(recipe: Recipe, name: str, changed: Mapping[str, Any]) -> str:
    """Such as `addition with model.width 32: + of 1 to 10 digits, program addition, positions
    window`."""
    positions = recipe.positions.name
    changes = ", ".join(f"{path} {_value(path, value)}" for path, value in changed.items())
    tasks = ", ".join(map(_task, recipe.tasks))
    programs = ", ".join(map(short, recipe.programs))
    how = f"layout {short(recipe.layout)}" if recipe.layout else f"program {programs}"
    text = f"{short(name)} with {changes}: {tasks}, {how}, positions {short(positions)}"
    return shortened(text, LETTERS)


def short(name: str) -> str:
    """A name; of a file, or of the tag of one, the file's own, as a run may be sent.

    >>> short("addition"), short("/home/me/gcd.py"), short("gcd.py@52e2092998dd")
    ('addition', 'gcd.py', 'gcd.py')
    """
    file = re.fullmatch(r"(?:.*[/\\])?([^/\\]+\.(?:py|toml))(?:@[0-9a-f]+)?", name)
    return file[1] if file else name


def _task(task: Task) -> str:
    if task.values:
        return f"{task.operator} of numbers from {task.values[0]:,} to {task.values[1]:,}"
    return f"{task.operator} of {spanned(task.digits, 'digit')}"


def _value(path: str, value: Any) -> str:
    if isinstance(value, list):
        return (" to " if path in SPANS else ", ").join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "not set" if value is None else short(str(value))
