"""Evaluations beside the recipe's own: asked for with other settings, and kept by these.

runs/NAME/evaluation.json                   what the recipe asks for
          evaluations/digits-500.json       further ones, named after what is different
          evaluations/digits-500.jsonl      one that was interrupted: what is found of it so far
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curta.config import sections

FOLDER = "evaluations"

LONGEST = 40
"""Characters of a value that stands in a file's name as it is."""


def changes(
    recipe: sections.Evaluation, asked: sections.Evaluation, num_recurrences: int | None
) -> dict[str, Any]:
    """The fields that are asked for otherwise than by the recipe, as JSON has them."""
    own, given = _plain(recipe), _plain(asked)
    found = {name: value for name, value in given.items() if value != own[name]}
    return found if num_recurrences is None else found | {"num_recurrences": num_recurrences}


def named(changed: Mapping[str, Any]) -> str:
    """The name of an evaluation with such changes, for a file; empty for the recipe's own.

    >>> named({"digits": [500, "50/25"], "count": 20})
    'digits-500_50-25.count-20'
    """
    return ".".join(f"{name}-{_written(value)}" for name, value in changed.items())


def path_of(folder: Path, name: str) -> Path:
    """Where an evaluation lies in a run's folder, by its name; the recipe's for an empty one."""
    return folder / FOLDER / f"{name}.json" if name else folder / "evaluation.json"


def names(folder: Path) -> list[str]:
    """The further evaluations of a run, by their names."""
    place = folder / FOLDER
    return sorted(path.stem for path in place.glob("*.json")) if not place.is_symlink() else []


def _plain(settings: sections.Evaluation) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    return plain


def _written(value: Any) -> str:
    """A number, or sizes, as they are; of anything else a hash."""
    items = value if isinstance(value, list) else [value]
    text = "_".join(str(item).lower().replace("/", "-") for item in items)
    if len(text) <= LONGEST and re.fullmatch(r"[0-9x_-]+|true|false", text):
        return text
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]
