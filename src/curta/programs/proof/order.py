"""What can still be written, and where, after a token: from moves alone.

A list of windows says which roles follow which, and by which moves. From these alone follows that
some squares around a token are settled when it is written: whatever they hold, they hold for
good. Addition's sums are written to the left of each other, so the sum to the right is settled.
"""

import itertools
import math
import time
from functools import cache, cached_property

import numpy as np

from curta.programs.machine.machine import Machine
from curta.programs.machine.table import WindowTable
from curta.programs.proof.rules import Cell, fixed

Edge = tuple[int, int]
"""A role, and a token that can follow it."""


class TooManyError(RuntimeError):
    """A step with too many rows, or one that comes too late."""


class Order:
    """Where roles can be written after others, up to `reach` squares away.

    A displacement of `reach` stands for all from there on, and so does `-reach`.
    """

    def __init__(
        self,
        machine: Machine,
        table: WindowTable,
        given: frozenset[int],
        reach: int,
        prompt: frozenset[int] = frozenset(),
        until: float = math.inf,
    ) -> None:
        """`given` are the roles that only prompts have, `prompt` all that they have.

        Asked after `until`, by the clock of the thread, it raises TooManyError.
        """
        self.machine, self.given, self.reach, self.until = machine, given, reach, until
        self.prompt = prompt | given
        roles = machine.role[table.rows[:, 0]]
        pairs = np.unique(np.stack([roles, table.targets], axis=1), axis=0)
        self.edges: list[Edge] = [(int(role), int(token)) for role, token in pairs]
        self.later = cache(self._later)
        self.reaches = cache(self._reaches)

    @cached_property
    def steps(self) -> dict[int, set[tuple[int, tuple[tuple[bool, int], ...]]]]:
        """For each role what follows it: a role, and whether home and how far on each axis."""
        home, offset = self.machine.moves
        found: dict[int, set[tuple[int, tuple[tuple[bool, int], ...]]]] = {}
        for role, token in self.edges:
            move = zip(home[token].tolist(), offset[token].tolist(), strict=True)
            found.setdefault(role, set()).add((int(self.machine.role[token]), tuple(move)))
        return found

    def settled(self, role: int, cell: Cell) -> bool:
        """Whether a square around a token of that role never changes after the token."""
        return not self.reaches(role, cell[0], self._known(cell, cell[0]))

    def before(self, role: int, cell: Cell) -> bool:
        """Whether something may stand on a square by the time a token of that role is written."""
        away = self._known(cell, cell[0])
        return self.reaches(cell[0], role, tuple(None if d is None else -d for d in away))

    def _known(self, cell: Cell, role: int) -> tuple[int | None, ...]:
        """How far a square is; None on axes on which it is wide or given by a coordinate."""
        ways = zip(self.machine.wide[role].tolist(), cell[1], strict=True)
        return tuple(None if wide or fixed(step) else step for wide, step in ways)

    def _reaches(self, role: int, other: int, away: tuple[int | None, ...]) -> bool:
        """Whether another role may be written so far from a token of that role, after it."""
        return any(
            to == other and all(x is None or x == y for x, y in zip(away, at, strict=True))
            for to, at in self.later(role)
        )

    def _later(self, role: int) -> set[Cell]:
        """The roles that may be written after a token of that role, and how far from it."""
        start = (role, (0,) * len(self.machine.axes))
        found: set[Cell] = set()
        waiting = [start]
        while waiting:
            at, displacement = waiting.pop()
            if time.thread_time() > self.until:
                raise TooManyError("it takes too long")
            for to, move in self.steps.get(at, ()):
                options = [self._moved(d, *m) for d, m in zip(displacement, move, strict=True)]
                for place in itertools.product(*options):
                    if (to, place) not in found:
                        found.add((to, place))
                        waiting.append((to, place))
        return found

    def _moved(self, displacement: int, home: bool, step: int) -> range:
        """Where a displacement can be after a move: anywhere after home.

        With a reach of 3, from 1 by +1: 2; from 3, which is 3 or more, by -1: 2 or 3.
        """
        far = self.reach
        if home:
            return range(-far, far + 1)
        to = max(-far, min(far, displacement + step))
        if displacement == far and step < 0:
            return range(to, far + 1)
        if displacement == -far and step > 0:
            return range(-far, to + 1)
        return range(to, to + 1)
