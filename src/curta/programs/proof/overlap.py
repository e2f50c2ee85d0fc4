"""From a view to the next: what stays known, what is new, and what it must agree with."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int

from curta.programs.machine.machine import Machine
from curta.programs.machine.table import WindowTable
from curta.programs.machine.tokens import HOME
from curta.programs.proof.order import Order, TooManyError
from curta.programs.proof.rules import At, Cell, Column, Good, Grid, Mask, Rules, at_home, fixed
from curta.programs.proof.views import Coder, Layout, Views, Zones, among, shifted, square

if TYPE_CHECKING:
    from curta.programs.proof.chains import Chains, Groups

MOST = 1_000_000
"""Most rows of one step; a proof that needs more is given up."""


class Rows(NamedTuple):
    """Views while they are made: the squares that are filled in so far, a row for each view.

    `values` has the token on each square, then the zone on each axis; `source` is the row of the
    old views from which each came.
    """

    cells: tuple[Cell, ...]
    values: Grid
    source: Column

    def only(self, keep: Mask) -> "Rows":
        """These of the rows."""
        return Rows(self.cells, self.values[keep], self.source[keep])

    def at(self, cell: Cell) -> At:
        """The coordinates of a square in each row.

        >>> rows = Rows(((0, (0,)),), np.array([[7, 3], [8, 4]]), np.arange(2))
        >>> rows.at((0, (-1,))).tolist(), rows.at((0, (HOME + 2,))).tolist()
        ([[2], [3]], [[2], [2]])
        """
        steps = np.array(cell[1], self.values.dtype)
        zones = self.values[:, -len(steps) :]
        return np.where(steps > HOME // 2, steps - HOME, zones + steps)

    def with_square(self, cell: Cell, good: Good, options: Int[np.ndarray, " c"]) -> "Rows":
        """One more square: a row for each good candidate of each row.

        >>> rows = Rows(((0, (0,)),), np.array([[7, 3]]), np.array([5]))
        >>> rows.with_square((1, (1,)), np.array([[True, True]]), np.array([8, 9])).values.tolist()
        [[7, 8, 3], [7, 9, 3]]
        """
        row, option = np.nonzero(good)
        if len(row) > MOST:
            raise TooManyError(f"a step of {len(row):,} rows")
        chosen = options[option].astype(self.values.dtype)[:, None]
        tokens, zones = np.split(self.values[row], [len(self.cells)], axis=1)
        values = np.concatenate([tokens, chosen, zones], axis=1)
        return Rows((*self.cells, cell), values, self.source[row])


@dataclass
class Overlap:
    """What all steps of one proof share."""

    machine: Machine
    table: WindowTable
    rules: Rules
    order: Order
    zones: Zones
    coder: Coder
    views: dict[int, Views]
    start: int
    """The role of the prompt's last sign."""
    chains: "Chains | None" = None
    """Without them it does not count what became of squares after a token was written."""

    def after(self, role: int, rows: Grid, token: int, tags: Column | None = None) -> Rows:
        """The views in which a token can be written after these of a role.

        Rows that lead to the same are taken once, or once for each of their tags. Raises
        TooManyError when time is up, or for more than MOST rows.
        """
        if time.thread_time() > self.order.until:
            raise TooManyError("it takes too long")
        layout, to = (self.views[r].layout for r in (role, int(self.machine.role[token])))
        cells, columns = [to.cells[0]], [np.full(len(rows), token, rows.dtype)]
        for cell in to.cells[1:]:
            earlier = shifted(self.machine, cell, token)
            column = None if earlier is None else layout.column(earlier)
            if earlier is None or column is None:
                continue
            after = cell if at_home(cell) == at_home(earlier) else None
            after = after or shifted(self.machine, earlier, token, -1)
            if after is not None:
                cells.append(after)
                columns.append(rows[:, column])
        made = np.column_stack([*columns, rows[:, len(layout.cells) :]])
        first = _first(self.coder.code(made, tuple(cells)), tags)
        known = self._moved(Rows(tuple(cells), made[first], first), token)
        self._itself(known)
        return self.complete(to, known, role == self.start)

    def _itself(self, rows: Rows) -> None:
        """Enters that a token stands on squares with coordinates, in rows where it does."""
        own = rows.cells[0]
        for column, cell in enumerate(rows.cells[1:], 1):
            if cell[0] == own[0] and at_home(cell):
                rows.values[self._same(rows, cell, own), column] = self._thin(cell[0])

    def _thin(self, role: int) -> int:
        """The token that stands for any of that role on a square with coordinates."""
        return int(np.flatnonzero(self.machine.role == role)[0])

    def _same(self, rows: Rows, one: Cell, other: Cell) -> Mask:
        """In which rows two cells of one role are one square; coordinates are near the origin."""
        wide = self.machine.wide[one[0]]
        return np.asarray(np.all((rows.at(one) == rows.at(other)) | wide, axis=1))

    def _moved(self, rows: Rows, token: int) -> Rows:
        """The same rows with the zones after the move; more of them where it is not certain."""
        (cells, values, source), axes = rows, len(self.machine.axes)
        for axis in range(axes):
            home, offset = (m[token, axis].item() for m in self.machine.moves)
            column = values.shape[1] - axes + axis
            table = self.zones.step(home, offset)[values[:, column] - self.zones.low]
            row, zone = np.nonzero(table)
            values, source = values[row], source[row]
            values[:, column] = zone + self.zones.low
        return Rows(cells, values, source)

    def window(self, role: int, rows: Grid) -> Int[np.ndarray, "n cells"]:
        """The windows of views, as the table has them."""
        count = self.views[role].layout.window
        found = np.full((len(rows), self.table.rows.shape[1]), len(self.machine.tokens), np.int32)
        found[:, :count] = rows[:, :count]
        return found

    def complete(self, layout: Layout, rows: Rows, first: bool = False) -> Rows:
        """Fills in the squares of a layout that are not known yet, in every way that may be.

        Nothing but the token itself is written yet at the `first`.
        """
        rows, given = self._prompt(rows), self.order.given
        fresh = [cell for cell in layout.cells if cell not in rows.cells]
        for cell in sorted(fresh, key=lambda cell: cell[0] not in self.rules.places):
            if first and cell[0] not in self.order.prompt:
                none = np.array([len(self.machine.tokens)])
                rows = rows.with_square(cell, np.ones((len(rows.values), 1), bool), none)
                self._itself(rows)
            elif cell[0] in given or first:
                rows = self._given(rows, cell)
            elif cell[0] in self.rules.places and not at_home(cell):
                rows = self._either(layout.role, rows, cell)
            else:
                rows = self._written(layout.role, rows, cell)
        if self.rules.filled:
            at = [rows.at(cell) for cell in rows.cells]
            rows = rows.only(~self.rules.spare(rows.cells, at, rows.values))
        order = [rows.cells.index(cell) for cell in layout.cells]
        order += range(len(rows.cells), rows.values.shape[1])
        return Rows(layout.cells, rows.values[:, order], rows.source)

    def _prompt(self, rows: Rows) -> Rows:
        """Drops the rows in which a known square of the prompt does not fit the zone any more."""
        for column, cell in enumerate(rows.cells):
            role = cell[0]
            known = role in self.rules.places and role in self.order.given
            if known and not at_home(cell) and len(rows.values):
                options = self.rules.candidates(role)
                place = np.searchsorted(options, rows.values[:, column])
                alone = self.rules.alone(role, rows.at(cell), options)
                rows = rows.only(alone[np.arange(len(place)), place])
        return rows

    def _given(self, rows: Rows, cell: Cell) -> Rows:
        """Rows with each token that the prompt's rules allow on one more square."""
        options, at = self.rules.candidates(cell[0]), rows.at(cell)
        good = self.rules.alone(cell[0], at, options).copy()
        for column, other in enumerate(rows.cells):
            if other[0] in self.rules.places:
                there = rows.at(other)
                have = self._of_prompt(other[0], there, rows.values[:, column])
                good &= self.rules.together((other, there, have), (cell, at, options))
        if at_home(cell):
            good = np.stack([good[:, :-1].any(axis=1), good[:, -1]], axis=1)
            options = np.array([self._thin(cell[0]), options[-1]])
        return self._alike(rows.with_square(cell, good, options))

    def _of_prompt(self, role: int, at: At, tokens: Column) -> Column:
        """What of the prompt stands on these squares: not what was written on others."""
        if role in self.order.given:
            return tokens
        return np.where(self.rules.inside(role, at), tokens, len(self.machine.tokens))

    def _either(self, role: int, rows: Rows, cell: Cell) -> Rows:
        """One more square of a role that is given and written: the prompt's squares are its own."""
        inside = self.rules.inside(cell[0], rows.at(cell))
        one = self._given(rows.only(inside), cell)
        other = self._written(role, rows.only(~inside), cell)
        parts = zip(one[1:], other[1:], strict=True)
        return Rows(one.cells, *(np.concatenate(pair) for pair in parts))

    def _written(self, role: int, rows: Rows, cell: Cell) -> Rows:
        """Rows with whatever may have been written on one more square, or nothing."""
        none = len(self.machine.tokens)
        options = np.array([none])
        if self.order.before(role, cell):
            seen = self.views[cell[0]].rows[:, 0]
            mine = rows.values[:, 0] if cell[0] == role else seen
            options = np.append(np.unique(np.concatenate([seen, mine])), none)
        if len(options) > 1 and at_home(cell):
            options = np.array([self._thin(cell[0]), none])
        good = np.ones((len(rows.values), len(options)), bool)
        rows = rows.with_square(cell, good, options)
        if len(options) == 1:
            return rows
        rows = self._alike(rows)
        if not at_home(cell):
            rows = rows.only(self._stood(rows))
        for column, other in enumerate(rows.cells[1:], 1):
            if other[0] not in self.order.given or other[0] == self.start:
                rows = rows.only(self.agrees(role, rows, column))
        return rows

    def _stood(self, rows: Rows) -> Mask:
        """Whether a token of the last square was ever written so near the origin, on each axis.

        True where there is none.
        """
        cell, tokens = rows.cells[-1], rows.values[:, len(rows.cells) - 1]
        at, views, none = rows.at(cell), self.views[cell[0]], len(self.machine.tokens)
        good, axes, zones = np.ones(len(tokens), bool), len(self.machine.axes), self.zones
        for axis in np.flatnonzero(~self.machine.wide[cell[0]]).tolist():
            center = rows.values[:, axis - axes]
            certain = (center > zones.low) & (center < zones.high)
            stood = np.zeros((none + 1, zones.count), bool)
            stood[views.rows[:, 0], views.rows[:, axis - axes] - zones.low] = True
            stood[none] = True
            there = np.clip(at[:, axis], zones.low, zones.high) - zones.low
            good &= ~certain | stood[tokens, there]
        return good

    def _alike(self, rows: Rows) -> Rows:
        """Rows in which the last square holds something just where its coordinates say so."""
        new, last, none = rows.cells[-1], len(rows.cells) - 1, len(self.machine.tokens)
        for column, cell in enumerate(rows.cells[:-1]):
            if cell[0] == new[0] and any(map(fixed, (*cell[1], *new[1]))):
                alike = (rows.values[:, column] == none) == (rows.values[:, last] == none)
                rows = rows.only(~self._same(rows, cell, new) | alike)
        return rows

    def agrees(self, center: int, rows: Rows, column: int) -> Mask:
        """Whether what stands around a written token is what stood there when it was written.

        The token is that of a column of views of the role `center`. Only squares count that were
        settled then, or that are settled now and for which what followed the token says what
        became of them. Rows with none on that square always agree.
        """
        one, new = rows.cells[column], rows.cells[-1]
        everywhere = np.ones(len(rows.values), bool)
        if at_home(one) or at_home(new):
            return everywhere
        role, mine, theirs, later, after = one[0], [column], [0], list[int](), list[Cell]()
        for place, cell in enumerate(rows.cells):
            back = self._seen_from(one, cell)
            if back is None or place == column or at_home(cell):
                continue
            if back[0] in self.order.given or self.order.settled(role, back):
                where = self.views[role].layout.column(back)
                if where is not None:
                    mine.append(place)
                    theirs.append(where)
            elif self._settled_later(center, cell, role, back):
                later.append(place)
                after.append(back)
        shown = mine + later
        if one != new and len(rows.cells) - 1 not in shown:
            return everywhere
        here = rows.values[:, column] != len(self.machine.tokens)
        if role in self.rules.places and role != self.start:
            here &= ~self.rules.inside(role, rows.at(one))
        cells, good = tuple(rows.cells[m] for m in shown), ~here
        for keep, had in self._patterns(role, tuple(theirs), tuple(after), cells):
            values = rows.values[:, [shown[k] for k in keep]]
            have = self.coder.code(values, tuple(cells[k] for k in keep), zones=False)
            good |= among(have, had)
        return good

    def _patterns(
        self, role: int, columns: tuple[int, ...], after: tuple[Cell, ...], cells: tuple[Cell, ...]
    ) -> "Groups":
        if self.chains is not None:
            return self.chains.follow((role, columns, after))
        codes = self.coder.code(self.views[role].rows[:, columns], cells, zones=False)
        return [(tuple(range(len(columns))), np.unique(codes))]

    def _settled_later(self, center: int, cell: Cell, role: int, back: Cell) -> bool:
        """Whether a square was empty when that role was written, and is settled by now."""
        if self.chains is None or cell[0] in self.order.prompt or at_home(back):
            return False
        return self.order.settled(center, cell) and not self.order.before(role, back)

    def _seen_from(self, one: Cell, other: Cell) -> Cell | None:
        """A square as another sees it; None where that does not follow from where they stand."""
        if np.any(self.machine.wide[one[0]] & ~self.machine.wide[other[0]]):
            return None
        wide = self.machine.wide[other[0]].tolist()
        if any(fixed(y) and not w for y, w in zip(one[1], wide, strict=True)):
            return None
        steps = zip(other[1], one[1], strict=True)
        return square(self.machine, other[0], tuple(x if fixed(x) else x - y for x, y in steps))


def _first(codes: Column, tags: Column | None) -> Int[np.ndarray, " m"]:
    """The first row of each code, or of each code and tag.

    >>> codes = np.array([5, 5, 8])
    >>> _first(codes, None).tolist(), _first(codes, np.arange(3)).tolist()
    ([0, 2], [0, 1, 2])
    """
    if tags is not None:
        different, codes = np.unique(codes, return_inverse=True)
        codes = codes + tags * len(different)
    return np.asarray(np.unique(codes, return_index=True)[1])
