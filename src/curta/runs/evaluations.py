"""Where the evaluations of a run lie, and what they are called.

runs/NAME/evaluation.json               as the recipe's settings say
          evaluating.jsonl              while it is under way: a line for each part that is done
          evaluations/digits-500.json   with other settings, named after what differs
          evaluations/digits-500.jsonl  while that one is under way
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

PARTIAL = "evaluating.jsonl"
"""The parts of the recipe's evaluation that are done, until all are."""

LONGEST = 40
"""Characters of a value that a file's name repeats as it is."""


def changes(
    recipe: sections.Evaluation, settings: sections.Evaluation, num_recurrences: int | None
) -> dict[str, Any]:
    """Return the fields that differ from the recipe's, as JSON has them."""
    usual, chosen = (json.loads(json.dumps(asdict(section))) for section in (recipe, settings))
    changed = {name: value for name, value in chosen.items() if value != usual[name]}
    return changed if num_recurrences is None else changed | {"num_recurrences": num_recurrences}


def named(changed: Mapping[str, Any]) -> str:
    """Return the name of an evaluation with such changes, for a file; empty for the recipe's.

    Numbers and sizes stand as they are, any other value as a hash.

    >>> named({"digits": [500, "50/25"], "count": 20})
    'digits-500_50-25.count-20'
    """
    words = []
    for field, value in changed.items():
        items = value if isinstance(value, list) else [value]
        text = "_".join(str(item).lower().replace("/", "-") for item in items)
        if len(text) > LONGEST or not re.fullmatch(r"[0-9x_-]+|true|false", text):
            text = hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]
        words.append(f"{field}-{text}")
    return ".".join(words)


def path_of(folder: Path, name: str) -> Path:
    """Return where an evaluation lies in a run's folder, by its name; the recipe's for ""."""
    return folder / FOLDER / f"{name}.json" if name else folder / "evaluation.json"


def partial_file(folder: Path, changed: Mapping[str, Any]) -> Path:
    """Return where the parts of an evaluation with such changes lie until all are done."""
    return path_of(folder, named(changed)).with_suffix(".jsonl") if changed else folder / PARTIAL


def names(folder: Path) -> list[str]:
    """Return the names of a run's evaluations beside the recipe's."""
    place = folder / FOLDER
    return sorted(path.stem for path in place.glob("*.json")) if not place.is_symlink() else []
