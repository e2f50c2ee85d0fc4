"""An evaluation part by part: interrupted, it goes on where it was; several processes share it.

evaluating.jsonl holds a line for each size and each row of a grid, and is removed once
evaluation.json is there; an evaluation with other settings has a file of its own.
"""

import hashlib
import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.config import files, typed
from curta.config.errors import UserError
from curta.evaluation.exact_match import GridRow
from curta.evaluation.results import Gap, SliceResult
from curta.evaluation.suite import Find, PartResult
from curta.runs import interrupts
from curta.runs.team import Message, Team

TICK = 0.1
"""Seconds between two looks at whether a signal came, while another process is waited for."""


@dataclass(frozen=True)
class EvaluatedPart:
    """One size, row of a grid, or gap: its name, its results, and a hash of what they depend on."""

    of: str
    name: str
    rows: list[SliceResult] | GridRow | list[Gap]


class KeptParts:
    """The results of an evaluation's parts by name; each new one is appended to a file."""

    def __init__(self, path: Path, owner: str) -> None:
        self.path, self.owner = path, owner
        own_parts = [part for part in _read(path) if part.of == owner]
        self.results: dict[str, PartResult] = {part.name: part.rows for part in own_parts}
        if path.exists():  # without a torn line, to which the next one would be added
            files.write(path, typed.lines(own_parts))

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


def newest_parts(path: Path) -> list[EvaluatedPart]:
    """Return the parts of the evaluation that wrote the last one; empty without any."""
    parts = list(_read(path))
    return [part for part in parts if part.of == parts[-1].of]


def _read(path: Path) -> Iterator[EvaluatedPart]:
    """Yield the parts on whole lines; one that is torn or damaged is evaluated again."""
    where = f"{str(path)!r}"
    for line in files.read_own(path, where).splitlines() if path.exists() else ():
        try:
            yield typed.parse(EvaluatedPart, line, where, path.name)
        except UserError:
            continue


class Shares:
    """Parts divided among processes: each does one that no other has begun.

    Process 0 takes them from the front, the others from the back, where the largest sizes are, one
    after the other as they are done. Results do not depend on who else takes part.
    """

    def __init__(self, team: Team, names: Iterable[str]) -> None:
        """Give each of the others, which know of the evaluation already, its first part."""
        self._team, self._waiting = team, deque(names)
        self._results: dict[str, Future[PartResult]] = {}
        self._guard = threading.Lock()
        team.answered = self._answered
        for index in team.connections:
            self._give(index)

    def find(self, name: str, find: Find) -> PartResult:
        """Return a part's results: by this process, unless another has begun it."""
        if self.take(name):
            return find()
        result = self._results[name]
        while not result.done():
            interrupts.check()
            wait([result], TICK)
        return result.result()

    def take(self, name: str) -> bool:
        """Take a part from those that wait; return whether it did."""
        with self._guard:
            waits = name in self._waiting
            if waits:
                self._waiting.remove(name)
        return waits

    def _give(self, index: int) -> None:
        """Give a process the next part; None where there is no other."""
        with self._guard:
            name = self._waiting.pop() if self._waiting else None
            if name is not None:
                self._results[name] = Future()
        self._team.give(index, part=name)

    def _answered(self, index: int, message: Message) -> None:
        part = typed.parse(EvaluatedPart, message["part"], f"process {index}", "what it found")
        self._results[part.name].set_result(part.rows)
        self._give(index)
