"""The evaluations of a run: where they lie, what they are called, and their partial results.

runs/NAME/evaluation.json               with the recipe's settings
          evaluating.jsonl              while it is under way: a line for each part that is done
          evaluations/digits-500.json   with other settings, named after what differs
          evaluations/digits-500.jsonl  while that one is under way

An evaluation that was interrupted continues after the parts that are done.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curta.config import files, sections, typed
from curta.config.errors import UserError
from curta.evaluation.exact_match import Cells
from curta.evaluation.results import Gap, SliceResult
from curta.evaluation.suite import Find, PartResult
from curta.runs.folders import Folder, evaluation_name

PARTIAL = "evaluating.jsonl"
"""The parts of the recipe's evaluation that are done, until all are."""


def changes(
    recipe: sections.Evaluation, settings: sections.Evaluation, num_recurrences: int | None
) -> dict[str, Any]:
    """Return the fields that differ from the recipe's, as JSON has them."""
    usual, chosen = (json.loads(json.dumps(asdict(section))) for section in (recipe, settings))
    changed = {name: value for name, value in chosen.items() if value != usual[name]}
    return changed if num_recurrences is None else changed | {"num_recurrences": num_recurrences}


def partial_file(folder: Folder, changed: Mapping[str, Any]) -> Path:
    """Return where the parts of an evaluation with such changes lie until all are done."""
    if not changed:
        return folder.path / PARTIAL
    return folder.evaluations / f"{evaluation_name(changed)}.jsonl"


@dataclass(frozen=True)
class EvaluatedPart:
    """One size, row of a grid, or gap: its name, its results, and a hash of what they depend on."""

    of: str
    name: str
    rows: list[SliceResult] | Cells | list[Gap]


class KeptParts:
    """The results of an evaluation's parts by name; each new one is appended to a file."""

    def __init__(self, path: Path, owner: str) -> None:
        self.path, self.owner = path, owner
        parts = [part for part in read_parts(path) if part.of == owner]
        self.results: dict[str, PartResult] = {part.name: part.rows for part in parts}
        if path.exists():  # without a torn line, to which the next one would be added
            files.write(path, typed.lines(parts))

    def __call__(self, name: str, find: Find) -> PartResult:
        if name not in self.results:
            self.results[name] = find()
            self.path.parent.mkdir(exist_ok=True)
            files.append(self.path, typed.text(EvaluatedPart(self.owner, name, self.results[name])))
        return self.results[name]


@contextmanager
def kept_parts(path: Path, owner: Any) -> Iterator[KeptParts]:
    """Keep parts in a file until the block ends well; those there of another `owner` are dropped.

    The owner is what results depend on: the weights and the settings.
    """
    yield KeptParts(path, hashlib.sha256(json.dumps(owner, default=str).encode()).hexdigest())
    path.unlink(missing_ok=True)


def read_parts(path: Path) -> Iterator[EvaluatedPart]:
    """Yield the parts on whole lines; one that is torn or damaged is evaluated again."""
    where = f"{str(path)!r}"
    for line in files.read_own(path, where).splitlines() if path.exists() else ():
        try:
            yield typed.parse(EvaluatedPart, line, where, path.name)
        except UserError:
            continue
