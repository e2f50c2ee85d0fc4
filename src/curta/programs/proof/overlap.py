"""From a view to the next: what stays known, what is new, and what it must agree with."""

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from curta.programs.machine.machine import Machine
from curta.programs.machine.table import WindowTable
from curta.programs.machine.tokens import HOME
from curta.programs.proof.beside import Cell, at_home, fixed
from curta.programs.proof.order import Order, TooManyError
from curta.programs.proof.rules import Rules
from curta.programs.proof.views import Coder, Layout, Views, Zones, among, shifted, square

if TYPE_CHECKING:
    from curta.programs.proof.chains import Chains, Groups

MOST = 1_000_000
"""Most rows of one step; a proof that needs more is given up."""


@dataclass
class Overlap:
    """What all steps of one proof share."""

    machine: Machine
    table: WindowTable
    rules: Rules
    order: Order
    zones: Zones
    layouts: dict[int, Layout]
    coder: Coder
    views: dict[int, Views]
    start: int
    """The role of the prompt's last sign."""
    chains: "Chains | None" = None
    """Without them it does not count what became of squares after a token was written."""
    until: float = math.inf
    """When the proof is given up, by the computer's clock."""

    def after(
        self,
        role: int,
        rows: Int[np.ndarray, "n columns"],
        token: int,
        tags: Int[np.ndarray, " n"] | None = None,
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """The views in which a token can be written after these; from which row each came.

        Rows that lead to the same are taken once, or once for each of their tags.
        """
        if time.thread_time() > self.until:
            raise TooManyError("it takes too long")
        layout, to = self.layouts[role], self.layouts[int(self.machine.role[token])]
        axes = len(self.machine.axes)
        known: list[Cell] = [to.cells[0]]
        columns = [np.full(len(rows), token, rows.dtype)]
        for cell in to.cells[1:]:
            earlier = shifted(self.machine, cell, token)
            column = None if earlier is None else layout.column(earlier)
            if earlier is None or column is None:
                continue
            after = cell if at_home(cell) == at_home(earlier) else None
            after = after or shifted(self.machine, earlier, token, -1)
            if after is not None:
                known.append(after)
                columns.append(rows[:, column])
        columns += [rows[:, len(layout.cells) + axis] for axis in range(axes)]
        made = np.stack(columns, axis=1)
        first = _first(self.coder.code(made, tuple(known)), tags)
        made, source = self._zones(made[first], first, token)
        self._itself(known, made)
        return self.complete(to, known, made, source, role == self.start)

    def _itself(self, known: list[Cell], rows: Int[np.ndarray, "n columns"]) -> None:
        """Enters that a token stands on squares with coordinates, in rows where it does."""
        for column, cell in enumerate(known[1:], 1):
            if cell[0] == known[0][0] and at_home(cell):
                rows[self._same(rows, cell, known[0]), column] = self._thin(cell[0])

    def _thin(self, role: int) -> int:
        """The token that stands for any of that role on a square with coordinates."""
        return int(np.flatnonzero(self.machine.role == role)[0])

    def _same(
        self, rows: Int[np.ndarray, "n columns"], one: Cell, other: Cell
    ) -> Bool[np.ndarray, " n"]:
        """In which rows two cells of one role are one square; coordinates are near the origin."""
        wide = self.machine.wide[one[0]]
        return np.asarray(
            np.all((self._at(rows, one[1]) == self._at(rows, other[1])) | wide, axis=1)
        )

    def _zones(
        self, rows: Int[np.ndarray, "n columns"], source: Int[np.ndarray, " n"], token: int
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """The same rows with the zones after the move; more of them where it is not certain."""
        axes = len(self.machine.axes)
        for axis in range(axes):
            home, offset = (m[token, axis].item() for m in self.machine.moves)
            column = rows.shape[1] - axes + axis
            table = self.zones.step(home, offset)[rows[:, column] - self.zones.low]
            row, zone = np.nonzero(table)
            rows, source = rows[row], source[row]
            rows[:, column] = zone + self.zones.low
        return rows, source

    def window(self, role: int, rows: Int[np.ndarray, "n columns"]) -> Int[np.ndarray, "n cells"]:
        """The windows of views, as the table has them."""
        count = self.views[role].layout.window
        found = np.full((len(rows), self.table.rows.shape[1]), len(self.machine.tokens), np.int32)
        found[:, :count] = rows[:, :count]
        return found

    def complete(
        self,
        layout: Layout,
        known: list[Cell],
        rows: Int[np.ndarray, "n columns"],
        source: Int[np.ndarray, " n"],
        first: bool = False,
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """Fills in the squares of a layout that are not known yet, in every way that may be.

        Nothing but the token itself is written yet at the `first`.
        """
        rows, source = self._prompt(known, rows, source)
        fresh = [cell for cell in layout.cells if cell not in known]
        fresh.sort(key=lambda cell: cell[0] not in self.rules.places)
        for cell in fresh:
            if first and cell[0] not in self.order.prompt:
                rows = np.insert(rows, len(known), len(self.machine.tokens), axis=1)
                self._itself([*known, cell], rows)
            elif cell[0] in self.order.given or first:
                rows, source = self._given(known, rows, source, cell)
            elif cell[0] in self.rules.places and not at_home(cell):
                rows, source = self._either(layout.role, known, rows, source, cell)
            else:
                rows, source = self._written(layout.role, known, rows, source, cell)
            known = [*known, cell]
        if self.rules.filled:
            at = [self._at(rows, displacement) for _, displacement in known]
            keep = ~self.rules.spare(known, at, rows)
            rows, source = rows[keep], source[keep]
        order = [known.index(cell) for cell in layout.cells]
        order += list(range(len(known), rows.shape[1]))
        return rows[:, order], source

    def _prompt(
        self,
        known: list[Cell],
        rows: Int[np.ndarray, "n columns"],
        source: Int[np.ndarray, " n"],
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """Drops the rows in which a known square of the prompt does not fit the zone any more."""
        for column, cell in enumerate(known):
            role, displacement = cell
            if at_home(cell) or role not in self.rules.places:
                continue
            if role in self.order.given and len(rows):
                options = self.rules.candidates(role)
                place = np.searchsorted(options, rows[:, column])
                alone = self.rules.alone(role, self._at(rows, displacement), options)
                keep = alone[np.arange(len(rows)), place]
                rows, source = rows[keep], source[keep]
        return rows, source

    def _at(
        self, rows: Int[np.ndarray, "n columns"], displacement: tuple[int, ...]
    ) -> Int[np.ndarray, "n axes"]:
        axes = len(self.machine.axes)
        at = rows[:, rows.shape[1] - axes :] + np.array(displacement, rows.dtype)
        for axis, step in enumerate(displacement):
            if fixed(step):
                at[:, axis] = step - HOME
        return np.asarray(at)

    def _given(
        self,
        known: list[Cell],
        rows: Int[np.ndarray, "n columns"],
        source: Int[np.ndarray, " n"],
        cell: Cell,
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """Rows with each token that the prompt's rules allow on one more square."""
        role, displacement = cell
        options = self.rules.candidates(role)
        at = self._at(rows, displacement)
        good = self.rules.alone(role, at, options).copy()
        for column, other in enumerate(known):
            if other[0] in self.rules.places:
                there = self._at(rows, other[1])
                have = self._of_prompt(other[0], there, rows[:, column])
                good &= self.rules.together((other, there, have), (cell, at, options))
        if at_home(cell):
            good = np.stack([good[:, :-1].any(axis=1), good[:, -1]], axis=1)
            options = np.array([self._thin(role), options[-1]])
        rows, source = _spread(rows, source, len(known), good, options)
        return self._alike([*known, cell], rows, source)

    def _of_prompt(
        self, role: int, at: Int[np.ndarray, "n axes"], tokens: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """What of the prompt stands on these squares: not what was written on others."""
        if role in self.order.given:
            return tokens
        return np.where(self.rules.inside(role, at), tokens, len(self.machine.tokens))

    def _either(
        self,
        role: int,
        known: list[Cell],
        rows: Int[np.ndarray, "n columns"],
        source: Int[np.ndarray, " n"],
        cell: Cell,
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """One more square of a role that is given and written: the prompt's squares are its own."""
        inside = self.rules.inside(cell[0], self._at(rows, cell[1]))
        one = self._given(known, rows[inside], source[inside], cell)
        other = self._written(role, known, rows[~inside], source[~inside], cell)
        return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])

    def _written(
        self,
        role: int,
        known: list[Cell],
        rows: Int[np.ndarray, "n columns"],
        source: Int[np.ndarray, " n"],
        cell: Cell,
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """Rows with whatever may have been written on one more square, or nothing."""
        none = len(self.machine.tokens)
        options = np.array([none])
        if self.order.before(role, cell):
            seen = self.views[cell[0]].rows[:, 0]
            mine = rows[:, 0] if cell[0] == role else seen
            options = np.append(np.unique(np.concatenate([seen, mine])), none)
        if len(options) > 1 and at_home(cell):
            options = np.array([self._thin(cell[0]), none])
        good = np.ones((len(rows), len(options)), bool)
        rows, source = _spread(rows, source, len(known), good, options)
        if len(options) == 1:
            return rows, source
        known = [*known, cell]
        rows, source = self._alike(known, rows, source)
        if not at_home(cell):
            keep = self._stood(cell, rows, len(known) - 1)
            rows, source = rows[keep], source[keep]
        for column, other in enumerate(known[1:], 1):
            if other[0] not in self.order.given or other[0] == self.start:
                keep = self.agrees(role, known, rows, column, cell)
                rows, source = rows[keep], source[keep]
        return rows, source

    def _stood(
        self, cell: Cell, rows: Int[np.ndarray, "n columns"], column: int
    ) -> Bool[np.ndarray, " n"]:
        """Whether a token was ever written so near the origin, on each axis, or there is none."""
        at, views = self._at(rows, cell[1]), self.views[cell[0]]
        good, axes = np.ones(len(rows), bool), len(self.machine.axes)
        span, none = self.zones.count, len(self.machine.tokens)
        for axis in range(axes):
            center = rows[:, rows.shape[1] - axes + axis]
            certain = (center > self.zones.low) & (center < self.zones.high)
            if self.machine.wide[cell[0], axis]:
                continue
            stood = np.zeros((none + 1, span), bool)
            mine = views.rows[:, views.rows.shape[1] - axes + axis]
            stood[views.rows[:, 0], mine - self.zones.low] = True
            stood[none] = True
            there = np.clip(at[:, axis], self.zones.low, self.zones.high) - self.zones.low
            good &= ~certain | stood[rows[:, column], there]
        return good

    def _alike(
        self,
        known: list[Cell],
        rows: Int[np.ndarray, "n columns"],
        source: Int[np.ndarray, " n"],
    ) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
        """Rows in which the last square holds something if it does as told by coordinates."""
        new, last, none = known[-1], len(known) - 1, len(self.machine.tokens)
        for column, cell in enumerate(known[:-1]):
            if cell[0] == new[0] and any(map(fixed, (*cell[1], *new[1]))):
                alike = (rows[:, column] == none) == (rows[:, last] == none)
                keep = ~self._same(rows, cell, new) | alike
                rows, source = rows[keep], source[keep]
        return rows, source

    def agrees(
        self,
        center: int,
        known: list[Cell],
        rows: Int[np.ndarray, "n columns"],
        column: int,
        new: Cell,
    ) -> Bool[np.ndarray, " n"]:
        """Whether what stands around a written token is what stood there when it was written.

        Only squares count that were settled then, or that are settled now and for which what
        followed the token says what became of them. Rows with none on that square always agree.
        """
        role = known[column][0]
        if at_home(known[column]) or at_home(new):
            return np.ones(len(rows), bool)
        mine, theirs, later, after = [column], [0], [], []
        for place, cell in enumerate(known):
            back = self._seen_from(known[column], cell)
            if back is None or place == column or at_home(cell):
                continue
            if self._settled(role, back):
                where = self.views[role].layout.column(back)
                if where is not None:
                    mine.append(place)
                    theirs.append(where)
            elif self._settled_later(center, cell, role, back):
                later.append(place)
                after.append(back)
        if known[column] != new and known.index(new) not in mine + later:
            return np.ones(len(rows), bool)
        here = rows[:, column] != len(self.machine.tokens)
        if role in self.rules.places and role != self.start:
            here &= ~self.rules.inside(role, self._at(rows, known[column][1]))
        cells = tuple(known[m] for m in mine + later)
        good = ~here
        for keep, had in self._patterns(role, tuple(theirs), tuple(after), cells):
            shown = rows[:, [(mine + later)[k] for k in keep]]
            have = self.coder.code(shown, tuple(cells[k] for k in keep), zones=False)
            good |= among(have, had)
        return good

    def _patterns(
        self, role: int, columns: tuple[int, ...], after: tuple[Cell, ...], cells: tuple[Cell, ...]
    ) -> "Groups":
        if self.chains is not None:
            return self.chains.follow(role, columns, after)
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

    def _settled(self, role: int, cell: Cell) -> bool:
        return cell[0] in self.order.given or self.order.settled(role, cell)


def _first(
    codes: Int[np.ndarray, " n"], tags: Int[np.ndarray, " n"] | None
) -> Int[np.ndarray, " m"]:
    """The first row of each code, or of each code and tag."""
    if tags is not None:
        different, codes = np.unique(codes, return_inverse=True)
        codes = codes + tags * len(different)
    return np.asarray(np.unique(codes, return_index=True)[1])


def _spread(
    rows: Int[np.ndarray, "n columns"],
    source: Int[np.ndarray, " n"],
    column: int,
    good: Bool[np.ndarray, "n c"],
    options: Int[np.ndarray, " c"],
) -> tuple[Int[np.ndarray, "m more"], Int[np.ndarray, " m"]]:
    """A row for each good candidate of each row, the candidate in a column put in there."""
    row, option = np.nonzero(good)
    if len(row) > MOST:
        raise TooManyError(f"a step of {len(row):,} rows")
    chosen = options[option].astype(rows.dtype)[:, None]
    return np.concatenate([rows[row, :column], chosen, rows[row, column:]], axis=1), source[row]
