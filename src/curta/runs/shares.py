"""An evaluation shared by several processes: each does the parts that no other has begun.

Process 0 takes them from the front, the others from the back, where the largest sizes are, one
after the other as they are done. What one finds does not depend on who else takes part.
"""

import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, wait

from curta.config import typed
from curta.evaluation.suite import Find, PartResult
from curta.runs import interrupts
from curta.runs.parts import Part
from curta.runs.team import Message, Team

TICK = 0.1
"""Seconds between two looks at whether a signal came, while another process is waited for."""


class Shares:
    """The parts that process 0 shares with the others, which have been told of the evaluation."""

    def __init__(self, team: Team, names: Iterable[str]) -> None:
        self._team, self._waiting = team, deque(names)
        self._found: dict[str, Future[PartResult]] = {}
        self._guard = threading.Lock()
        team.answered = self._answered
        for index in team.connections:
            self._give(index)

    def find(self, name: str, find: Find) -> PartResult:
        """What is found in a part: by this process, unless another has begun it."""
        with self._guard:
            mine = name in self._waiting
            if mine:
                self._waiting.remove(name)
        return find() if mine else self._awaited(self._found[name])

    def drop(self, name: str) -> None:
        """Takes a part from those that are given out: it is not needed."""
        with self._guard:
            if name in self._waiting:
                self._waiting.remove(name)

    def _awaited(self, found: "Future[PartResult]") -> PartResult:
        while not found.done():
            interrupts.check()
            wait([found], TICK)
        return found.result()

    def _give(self, index: int) -> None:
        """The next part for a process; None where there is no other."""
        with self._guard:
            name = self._waiting.pop() if self._waiting else None
            if name is not None:
                self._found[name] = Future()
        self._team.give(index, part=name)

    def _answered(self, index: int, message: Message) -> None:
        part = typed.parse(Part, message["part"], f"process {index}", "what it found")
        self._found[part.name].set_result(part.rows)
        self._give(index)
