"""The evaluations of a run: where they lie, what they are called, and their partial results.

runs/NAME/evaluation.json               with the recipe's settings
          evaluating.jsonl              while it is under way: a line for each part that is done
          evaluations/digits-500.json   with other settings, named after what differs
          evaluations/digits-500.jsonl  while that one is under way

An evaluation that was interrupted continues after the parts that are done.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.config import files, sections, typed
from curta.config.errors import UserError
from curta.evaluation.results import Gap, SliceResult

if TYPE_CHECKING:
    from curta.evaluation.suite import Find, Keep, PartResult

PARTIAL = "evaluating.jsonl"
"""The parts of the recipe's evaluation that are done, until all are."""


def changes(
    recipe: sections.EvaluationSettings,
    settings: sections.EvaluationSettings,
    num_recurrences: int | None,
) -> dict[str, Any]:
    """Return the fields that differ from the recipe's, as JSON has them."""
    usual, chosen = (json.loads(json.dumps(asdict(section))) for section in (recipe, settings))
    changed = {name: value for name, value in chosen.items() if value != usual[name]}
    return changed if num_recurrences is None else changed | {"num_recurrences": num_recurrences}


@dataclass(frozen=True)
class EvaluatedPart:
    """One size, row of a grid, or gap: its name, its results, and a hash of what they depend on."""

    of: str
    name: str
    rows: list[SliceResult] | list[list[float]] | list[Gap]


@contextmanager
def partial_evaluation(path: Path, depends_on: Any) -> "Iterator[Keep]":
    """Yield what evaluates a part and saves it to a file, or returns it if it is there already.

    The file is removed once the block ends well. Its parts count only if they are of the same
    `depends_on`, the weights and the settings.
    """
    text = json.dumps(depends_on, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    saved = [part for part in read_parts(path) if part.of == digest]
    results: dict[str, PartResult] = {part.name: part.rows for part in saved}
    if path.exists():  # without a torn line, to which the next one would be added
        files.write(path, typed.lines(saved))

    def keep(name: str, find: "Find") -> "PartResult":
        if name not in results:
            results[name] = find()
            path.parent.mkdir(exist_ok=True)
            files.append(path, typed.text(EvaluatedPart(digest, name, results[name])))
        return results[name]

    yield keep
    path.unlink(missing_ok=True)


def read_parts(path: Path) -> Iterator[EvaluatedPart]:
    """Yield the parts on whole lines; one that is torn or damaged is evaluated again."""
    where = f"{str(path)!r}"
    for line in files.read_own(path, where).splitlines() if path.exists() else ():
        try:
            yield typed.parse(EvaluatedPart, line, where, path.name)
        except UserError:
            continue
