"""Views: what may stand around a token when it has just been written, as rows of numbers.

A layout says which squares a role's view has: the token's own, its window's, and some more that
the next tokens need. A row of a view is the tokens on those squares (the number of tokens stands
for none), then the zone on each axis: the coordinate of the token, cut off at both ends.

Axes of the arrays: `n` rows, `columns` the squares of a layout and the zones.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int

from curta.config.errors import UserError
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.tokens import HOME
from curta.programs.proof.order import Order
from curta.programs.proof.rules import Cell, Column, Grid, Mask, at_home, fixed

WIDEST = 1 << 62

Parents = Int[np.ndarray, "n 2"]
"""From which view each was reached first: a role and a row."""


class TooWideError(UserError):
    """A view with more squares than can be told apart in one number."""


@dataclass(frozen=True)
class Layout:
    """The squares of a role's view; the window's come first, in its order."""

    role: int
    cells: tuple[Cell, ...]
    """The first is the token's own."""
    window: int
    """How many of the cells are the token and its window."""

    def column(self, cell: Cell) -> int | None:
        return self.cells.index(cell) if cell in self.cells else None


def square(machine: Machine, role: int, displacement: tuple[int, ...]) -> Cell:
    """A cell; displacements do not matter on axes on which a role is found from everywhere."""
    wide = machine.wide[role].tolist()
    return role, tuple(0 if w else d for w, d in zip(wide, displacement, strict=True))


def layouts(
    machine: Machine,
    windows: Windows,
    order: Order,
    box: int,
    memory: tuple[int, bool, bool, bool],
    anchor: Cell,
    filled: int = -1,
) -> dict[int, Layout]:
    """For each role its window, and what the views after it need that lies within the box.

    With `memory` (`closure.Care`), also what the window before it showed, of the prompt only where
    that is asked for, as long as it lies within the box; and, where a token goes home, the
    `anchor`: the prompt's last sign with its square.
    """
    numbers, still = machine.role_numbers, (0,) * len(machine.axes)
    cells = {
        numbers[role]: [(numbers[role], still), *(square(machine, numbers[q], d) for q, d in mine)]
        for role, mine in windows.items()
    }
    sizes = {role: len(mine) for role, mine in cells.items()}
    cells.update({r: [(r, still)] for r in range(len(machine.roles)) if r not in cells})
    keep, prompt, home, window = memory

    def extend(role: int, wanted: list[Cell | None], most: int = box) -> None:
        """More squares, unless they are far or nothing is ever on them by then."""
        for cell in wanted:
            if cell is None or cell in cells[role] or _far(cell) > most:
                continue
            if cell[0] in order.prompt or order.before(role, cell):
                cells[role].append(cell)

    for _, token in order.edges if keep else ():
        extend(int(machine.role[token]), [_anchor(machine, order, anchor, token)], 1)
    of_text = order.given - {anchor[0]}
    known = {r: [c for c in mine if prompt or c[0] not in of_text] for r, mine in cells.items()}
    kept = {role: mine if window else mine[:1] for role, mine in known.items()}
    before = 0
    while sum(map(len, cells.values())) > before:
        before = sum(map(len, cells.values()))
        for role, token in order.edges:
            to = int(machine.role[token])
            needed = [cell for cell in cells[to][1:] if not keep or cell[0] != anchor[0]]
            earlier = [shifted(machine, cell, token) for cell in needed]
            extend(role, [c for c in earlier if home or not at_home(c)])
            carried = kept[role] if keep else [c for c in kept[role] if prompt and c[0] == filled]
            extend(to, [shifted(machine, cell, token, -1) for cell in carried])
    return {role: Layout(role, tuple(mine), sizes.get(role, 1)) for role, mine in cells.items()}


def _anchor(machine: Machine, order: Order, anchor: Cell, token: int) -> Cell | None:
    """The anchor's square, seen from a token that goes home on every axis before others."""
    role, at = anchor
    if not at or not machine.moves.home[token].all() or not order.steps.get(machine.role[token]):
        return None
    away = zip(at, machine.moves.offset[token].tolist(), strict=True)
    return square(machine, role, tuple(x - o for x, o in away))


def shifted(machine: Machine, cell: Cell, token: int, way: int = 1) -> Cell | None:
    """A square seen from a new token, as the token before it sees it: by coordinates after home.

    The other way, `-1`: what the token before it saw, as the new one sees it; None after home.
    After a move by +1 the square at -1 is the old token's own, 0; the other way 0 is at -1.
    """
    role, displacement = cell
    home, offset = machine.moves.home[token].tolist(), machine.moves.offset[token].tolist()
    wide, found = machine.wide[role].tolist(), []
    for d, h, o, w in zip(displacement, home, offset, wide, strict=True):
        if h and not w and not fixed(d) and way < 0:
            return None
        found.append(d if fixed(d) else HOME + d + o if h else d + way * o)
    return square(machine, role, tuple(found))


def _far(cell: Cell) -> int:
    """How far a square is, from the token or from the origin."""
    return max(abs(step - HOME * fixed(step)) for step in cell[1])


@dataclass
class Zones:
    """The coordinates that are told apart on each axis, from `low` to `high`."""

    low: int
    high: int

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    def step(self, home: bool, offset: int) -> Bool[np.ndarray, "zones zones"]:
        """Which zones lead to which by a move; both ends stand for all squares beyond.

        >>> Zones(0, 2).step(home=False, offset=1).astype(int).tolist()
        [[1, 1, 0], [0, 0, 1], [0, 0, 1]]
        """
        table = np.zeros((self.count, self.count), bool)
        for zone in range(self.low, self.high + 1):
            to = offset if home else zone + offset
            first = last = max(self.low, min(self.high, to))
            if not home and zone == self.high and offset < 0:
                last = self.high
            if not home and zone == self.low and offset > 0:
                first = self.low
            table[zone - self.low, first - self.low : last - self.low + 1] = True
        return table


class Coder:
    """Rows of numbers as one number each.

    Cells of roles with 3 and 2 tokens: row (second token, none) is 1 * 3 + 2 = 5.
    """

    def __init__(self, machine: Machine, zones: Zones) -> None:
        self.axes, self.zones = len(machine.axes), zones
        none = len(machine.tokens)
        self.sizes = np.bincount(machine.role, minlength=len(machine.roles)) + 1
        self.local = np.zeros((len(machine.roles), none + 1), np.int64)
        for role in range(len(machine.roles)):
            mine = np.flatnonzero(machine.role == role)
            self.local[role, mine] = np.arange(len(mine))
            self.local[role, none] = len(mine)

    def code(self, rows: Grid, cells: tuple[Cell, ...], zones: bool = True) -> Column:
        """One number for each row of these cells, and of the zones behind them.

        Raises TooWideError where rows have more values than one number can tell apart.
        """
        code, most = np.zeros(len(rows), np.int64), 1
        for column, cell in enumerate(cells):
            home, size = at_home(cell), int(self.sizes[cell[0]])
            there = self.local[cell[0]][rows[:, column]]
            code = code * (2 if home else size) + (there == size - 1 if home else there)
            most *= 2 if home else size
        for column in range(len(cells), len(cells) + self.axes * zones):
            code = code * self.zones.count + (rows[:, column] - self.zones.low)
            most *= self.zones.count
        if most > WIDEST:
            raise TooWideError(f"a view of {len(cells)} squares has too many values")
        return code


@dataclass
class Views:
    """The views of one role that were reached so far, and from which each was reached first."""

    layout: Layout
    rows: Grid
    codes: Column = field(default_factory=lambda: np.zeros(0, np.int64))
    parents: Parents = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def add(self, rows: Grid, codes: Column, parents: Parents) -> None:
        """Enters the rows that are not here yet, by their codes.

        Codes 5, 5, 8 where 8 is known: the first row alone.
        """
        codes, first = np.unique(codes, return_index=True)
        fresh = ~among(codes, self.codes)
        new = np.sort(first[fresh])
        self.rows = np.concatenate([self.rows, rows[new]])
        self.parents = np.concatenate([self.parents, parents[new]])
        self.codes = np.sort(np.concatenate([self.codes, codes[fresh]]))


def among(values: Column, known: Int[np.ndarray, " sorted"]) -> Mask:
    """Which values are among the known ones, which are in order.

    >>> among(np.array([5, 6]), np.array([1, 5, 9])).tolist()
    [True, False]
    """
    if not len(known):
        return np.zeros(len(values), bool)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)
