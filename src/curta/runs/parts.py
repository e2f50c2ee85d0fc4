"""An evaluation that goes on where it was interrupted: what is found is kept part by part.

evaluating.jsonl holds a line for each size and each row of a grid, and is removed once
evaluation.json is there; an evaluation with other settings has a file of its own, named as it is.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.config import files, typed
from curta.config.errors import UserError
from curta.evaluation.exact_match import Cells
from curta.evaluation.results import Gap, SliceResult
from curta.evaluation.suite import Find, PartResult

FILE = "evaluating.jsonl"


@dataclass(frozen=True)
class Part:
    """One size, row of a grid, or gap: its name, what was found, the hash of what that is of."""

    of: str
    name: str
    rows: list[SliceResult] | Cells | list[Gap]


class Kept:
    """What is known of an evaluation, by the names of its parts; more is written to the file."""

    def __init__(self, path: Path, of: str) -> None:
        self.path, self.of = path, of
        parts = [part for part in _read(path) if part.of == of]
        self.known: dict[str, PartResult] = {part.name: part.rows for part in parts}
        if path.exists():  # without a torn line, to which the next one would be added
            files.write(path, typed.lines(parts))

    def __call__(self, name: str, find: Find) -> PartResult:
        if name not in self.known:
            self.known[name] = find()
            self.path.parent.mkdir(exist_ok=True)
            files.append(self.path, typed.text(Part(self.of, name, self.known[name])))
        return self.known[name]


@contextmanager
def kept(path: Path, given: Any) -> Iterator[Kept]:
    """Looks parts up in a file, and writes them there, that belong to `given`: the weights and the
    settings."""
    yield Kept(path, hashlib.sha256(json.dumps(given, default=str).encode()).hexdigest())
    path.unlink(missing_ok=True)


def newest(path: Path) -> list[Part]:
    """What the evaluation that wrote the last part has found so far; empty without one."""
    parts = list(_read(path))
    return [part for part in parts if part.of == parts[-1].of]


def _read(path: Path) -> Iterator[Part]:
    """Whole lines only: one that is torn or damaged is found again."""
    where = f"{str(path)!r}"
    for line in files.read_own(path, where).splitlines() if path.exists() else ():
        try:
            yield typed.parse(Part, line, where, path.name)
        except UserError:
            continue
