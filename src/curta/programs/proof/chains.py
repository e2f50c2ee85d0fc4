"""What became of squares around a token, from what was written next.

A square beside a finished row is empty because the row ended there: that follows from the tokens
written after the row's last one. Chains follow views for a few steps and say what the squares
hold once they cannot change any more, or that anything is possible.
"""

from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from curta.programs.proof.overlap import Overlap
from curta.programs.proof.rules import Cell, Column, Grid

Away = tuple[int | None, ...]
"""How far the pen is from the token on each axis; None once it went home."""

ANYTHING = -1
"""On a square of a pattern: any token of its role, or none."""

Groups = list[tuple[tuple[int, ...], Int[np.ndarray, " codes"]]]
"""For some columns of patterns each time the codes of what stands in them."""


Asked = tuple[int, tuple[int, ...], tuple[Cell, ...]]
"""A role, columns of its views, and squares around it."""


class State(NamedTuple):
    """Views on a chain, and the pattern around its token that each belongs to."""

    role: int
    away: Away
    rows: Grid
    patterns: Int[np.ndarray, "n cells"]
    cells: tuple[Cell, ...]
    """Those of the patterns."""


@dataclass
class Chains:
    """Patterns of the views so far; those that are `known` hold while there are no more views."""

    overlap: Overlap
    steps: int
    """How many tokens a chain follows."""
    known: dict[Asked, tuple[int, Groups]] = field(default_factory=dict)

    def follow(self, asked: Asked) -> Groups:
        """The patterns of a role: columns of its views, then what became of some more squares.

        The squares are empty when the token is written. Patterns come in groups, each with the
        columns about which it says something.
        """
        (role, _, cells), views = asked, self.overlap.views
        several = self.steps > 1 and len(cells) > 0
        version = sum(len(views[r].rows) for r in (views if several else (role,)))
        if asked not in self.known or self.known[asked][0] != version:
            self.known[asked] = version, self._groups(asked)
        return self.known[asked][1]

    def _groups(self, asked: Asked) -> Groups:
        role, columns, cells = asked
        own = self.overlap.views[role].layout.cells
        shown = (*(own[column] for column in columns), *cells)
        rows = self._follow(asked, shown)
        certain, groups = rows != ANYTHING, []
        kinds = certain @ (1 << np.arange(rows.shape[1]))
        for kind in np.unique(kinds).tolist():
            keep = [place for place in range(rows.shape[1]) if kind >> place & 1]
            mine = rows[kinds == kind][:, keep]
            codes = self.overlap.coder.code(mine, tuple(shown[k] for k in keep), zones=False)
            groups.append((tuple(keep), np.unique(codes)))
        return groups

    def _follow(self, asked: Asked, shown: tuple[Cell, ...]) -> Int[np.ndarray, "m shown"]:
        """The patterns that chains of `steps` tokens end with; ANYTHING where that is open."""
        role, columns, cells = asked
        views, none = self.overlap.views[role], len(self.overlap.machine.tokens)
        known = views.rows[:, columns]
        if not cells:
            return known
        empty = np.full((len(known), len(cells)), none, known.dtype)
        still: Away = (0,) * len(self.overlap.machine.axes)
        waiting = [State(role, still, views.rows, np.concatenate([known, empty], axis=1), shown)]
        done = [np.zeros((0, len(shown)), known.dtype)]
        for left in range(self.steps, 0, -1):
            steps = (self._step(state, cells, done, left == 1) for state in waiting)
            waiting = list(chain.from_iterable(steps))
        return np.concatenate(done)

    def _step(
        self, state: State, cells: tuple[Cell, ...], done: list[np.ndarray], last: bool
    ) -> list[State]:
        table, machine = self.overlap.table, self.overlap.machine
        number = table.find(self.overlap.window(state.role, state.rows))
        done.append(state.patterns[number < 0])
        targets, going = np.append(table.targets, -1)[number], []
        for token in np.unique(targets[targets >= 0]).tolist():
            rows = targets == token
            to, away = int(machine.role[token]), self._away(state.away, token)
            patterns = state.patterns[rows].copy()
            open_ = self._write(patterns, cells, token, away)
            lost = any(self._lost(away, cell) for cell in open_)
            if not open_ or lost or last or not self.overlap.order.steps.get(to):
                done.append(self._anything(self._different(patterns, state.cells)[0], cells, open_))
                continue
            patterns, tags = self._different(patterns, state.cells)
            made = self.overlap.after(state.role, state.rows[rows], token, tags)
            going.append(State(to, away, made.values, patterns[tags[made.source]], state.cells))
        return going

    def _away(self, away: Away, token: int) -> Away:
        home, offset = (part[token].tolist() for part in self.overlap.machine.moves)
        return tuple(
            None if d is None or h else d + o for d, h, o in zip(away, home, offset, strict=True)
        )

    def _lost(self, away: Away, cell: Cell) -> bool:
        wide = self.overlap.machine.wide[cell[0]]
        return any(d is None and not w for d, w in zip(away, wide, strict=True))

    def _write(
        self, patterns: Int[np.ndarray, "n cells"], cells: tuple[Cell, ...], token: int, away: Away
    ) -> list[Cell]:
        """Enters a token where it is written; the squares that may still be empty and change.

        After home it is not known here where a token stands: any square of its role may be it.
        `patterns` end with a column for each of `cells`, and are changed in place.
        """
        machine, open_ = self.overlap.machine, []
        role = int(machine.role[token])
        before = patterns.shape[1] - len(cells)
        for column, cell in enumerate(cells, before):
            wide = machine.wide[cell[0]].tolist()
            ways = list(zip(wide, away, cell[1], strict=True))
            maybe = role == cell[0] and all(w or d in (None, x) for w, d, x in ways)
            if maybe and all(w or d == x for w, d, x in ways):
                patterns[:, column] = token
            none = patterns[:, column] == len(machine.tokens)
            if none.any() and (maybe or not self._final(role, away, cell)):
                open_.append(cell)
        return open_

    def _final(self, role: int, away: Away, cell: Cell) -> bool:
        """Whether nothing can be written on a square any more, the pen being where it is."""
        far, wide = self.overlap.order.reach, self.overlap.machine.wide[cell[0]].tolist()
        back = tuple(
            None if w or d is None else max(-far, min(far, x - d))
            for w, d, x in zip(wide, away, cell[1], strict=True)
        )
        return not self.overlap.order.reaches(role, cell[0], back)

    def _anything(
        self, patterns: Int[np.ndarray, "n cells"], cells: tuple[Cell, ...], open_: list[Cell]
    ) -> Int[np.ndarray, "n cells"]:
        """The same patterns, with anything on squares that are empty but open.

        Digit, none, with the second square open: digit, ANYTHING.
        """
        before = patterns.shape[1] - len(cells)
        for cell in open_:
            column = before + cells.index(cell)
            empty = patterns[:, column] == len(self.overlap.machine.tokens)
            patterns[empty, column] = ANYTHING
        return patterns

    def _different(
        self, rows: Int[np.ndarray, "n cells"], of: tuple[Cell, ...]
    ) -> tuple[Int[np.ndarray, "m cells"], Column]:
        """Each row once, and which of them each row is: of a, b, a these are a, b and 0, 1, 0."""
        codes = self.overlap.coder.code(rows, of, zones=False)
        _, first, tags = np.unique(codes, return_index=True, return_inverse=True)
        return rows[first], tags.ravel()
