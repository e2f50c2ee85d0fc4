"""An evaluation that goes on where it was interrupted: what is found is kept size by size.

evaluating.jsonl holds a line for each size, and is removed once evaluation.json is there; an
evaluation with other settings has a file of its own, named as it is.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.config import files, typed
from curta.config.errors import UserError
from curta.evaluation.results import SliceResult
from curta.evaluation.suite import Keep

FILE = "evaluating.jsonl"


@dataclass(frozen=True)
class Part:
    """One size: its name, its rows, and the hash of what they were found with."""

    of: str
    name: str
    rows: list[SliceResult]


@contextmanager
def kept(path: Path, given: Any) -> Iterator[Keep]:
    """Looks rows up in a file, and writes them there, that belong to `given`: the weights and the
    settings."""
    of = hashlib.sha256(json.dumps(given, default=str).encode()).hexdigest()
    known = {part.name: part.rows for part in _read(path) if part.of == of}

    def keep(name: str, find: Callable[[], list[SliceResult]]) -> list[SliceResult]:
        if name not in known:
            known[name] = find()
            path.parent.mkdir(exist_ok=True)
            files.append(path, typed.text(Part(of, name, known[name])))
        return known[name]

    yield keep
    path.unlink(missing_ok=True)


def _read(path: Path) -> Iterator[Part]:
    """Whole lines only: one that is torn or damaged is found again."""
    where = f"{str(path)!r}"
    for line in files.read_own(path, where).splitlines() if path.exists() else ():
        try:
            yield typed.parse(Part, line, where, path.name)
        except UserError:
            continue
