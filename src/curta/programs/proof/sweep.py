"""One sweep of the pen: what it writes on every paper of a language, and the windows it meets.

The pen goes column by column in one direction until a token goes home, turns, stays for good,
moves along another axis or is found from everywhere: that token is an *event* and ends the sweep.
What is written on a column depends on the token with which the pen came, what stands on the column
behind, on this one and on the one ahead. Of the column ahead only what windows show is needed, its
*view*. When the pen comes to a column, what is ahead is not read yet. So a state of the sweep is

    (the language's state; the pen's token; what windows show of its column, and of the one behind)

and the next letter decides all that is written on the pen's column: window, token by the table,
window, ... until the pen moves on. What the pen leaves there, a mark where the sweep ends, is
guessed before and checked then. Where a token may write more on its column by what is ahead of it,
the view itself is guessed. The table is a function, so every text of each paper is followed.

**Addition.** In `21+43=` the pen stands on `=`, square -1, and the view is (a 2, b 4) or any other
pair. With (2, 4), the window is `= 2 4` and the table says `6`, one square on. Now the pen holds
`6`, this column is (2, 4), and the next letter is any of 121 pairs: with (1, 3) the window is
`6 2 4 1 3`, which says `4`. The end `$` is an event: 36,399 windows.

**Multiplication.** Of what is ahead windows show one digit of the row above, so there are eleven
views, and few states: a carry, a digit of that row, and what stands on the column behind.
"""

import math
import time
from collections.abc import Collection, Iterator

import numpy as np
from jaxtyping import Bool

from curta.programs.machine.machine import Windows, cells_of
from curta.programs.machine.recording import WindowIndex, WindowTable, distinct
from curta.programs.proof.prompts import Cell, ColumnPaper, cell_at
from curta.programs.proof.words import BLANK, PEN, Column, Mask, Rows, UnprovableError, Words

BEFORE, MISSING = -1, -2
"""In place of the pen's token: the pen is farther on; no window of the table says what it is."""

PIECE, MOST = 500_000, 20_000_000
"""Columns that are read at once, and in all."""

STAYS, GOES, ENDS = range(3)
"""What a token does: stay on its column, move on by one, or end the sweep."""


Origins = tuple[Column, Column, Column | None]
"""How each column was reached: the state, the edge, and the arrival behind it if that is known."""


class Sweeper:
    """Sweeps over papers of one machine, with the windows of a table."""

    def __init__(
        self, paper: ColumnPaper, windows: Windows, table: WindowTable, until: float = math.inf
    ) -> None:
        """`until` is the thread's time at which a sweep is given up."""
        self.until = until
        self.paper, self.machine, self.table = paper, paper.machine, table
        self.cells = cells_of(windows)
        self.near = [
            [(cell_at(self.machine, paper.axis, role, moved), moved[paper.axis])
             for role, moved in near]
            for near in self.machine.neighbours(windows)
        ]  # fmt: skip
        """For each role the cells of its neighbours, with their distance along the axis."""
        still = (0,) * len(self.machine.axes)
        self.cell = np.array([paper.cell.get((n, still), 0) for n in range(len(self.near))])
        """Where in a letter a token of each role is written, 0 for nowhere."""
        moves, axis = self.machine.moves, paper.axis
        wide = self.machine.broadcast_mask[:, axis]
        others = np.arange(len(self.machine.axes)) != axis
        stops = moves.home[:, axis] | wide[self.machine.role] | moves.offset[:, others].any(axis=1)
        stops[self.machine.end] = True
        self.kind = {
            delta: np.where(
                stops | ~np.isin(moves.offset[:, axis], [0, delta]),
                ENDS,
                np.where(moves.offset[:, axis] == 0, STAYS, GOES),
            )
            for delta in (1, -1)
        }
        """What each token does in a sweep of either direction."""

    def roles(self, steps: Collection[tuple[int, int]], token: int, delta: int) -> set[int]:
        """Return the roles that the pen may have in a sweep that begins with this token.

        `steps` say which tokens follow on which roles.
        """
        reached = {int(self.machine.role[token])}
        while True:
            further = reached | {
                int(self.machine.role[then])
                for role, then in steps
                if role in reached and self.kind[delta][then] != ENDS
            }
            if further == reached:
                return reached
            reached = further


class Sweep:
    """One sweep over words whose pens hold tokens that all move alike, and what came of it.

    States are rows (place, pen's token, its way on, column, column behind). The place is a state of
    the language, or an *arrival*: a state with the view of the letter that leaves it. The token is
    BEFORE until the pen is reached; past it, the event's plus the number of tokens. The way on is a
    guess at what windows will show of the column once the pen has left it, and at the mark left
    there; every guess is followed. Of a column only what windows still show is kept.
    """

    def __init__(
        self,
        sweeper: Sweeper,
        words: Words,
        delta: int,
        everywhere: dict[Cell, int],
        roles: set[int],
        keep: Mask,
    ) -> None:
        """`everywhere` are tokens that are found from every square, `roles` those that the pen may
        have; of a letter that is written only what is in `keep` is needed later.
        """
        if delta < 0:
            # a widened language may begin with any number of blank columns, all but the first of
            # which are read in its second state: read backwards, it must end with them
            words = words.with_blanks_before().reverse()
        self.of, self.words, self.delta, self.everywhere = sweeper, words, delta, everywhere
        self.met = np.zeros(len(sweeper.table), bool)
        """Which windows of the table were met."""
        self.missing: dict[tuple[int, ...], tuple[list[int], int]] = {}
        """Windows that are not in the table: the beginning of a paper on which each is met, in the
        order in which the pen went, and the state of the words behind it."""
        machine, table = sweeper.machine, sweeper.table
        self.tokens = len(machine.tokens)
        self.letters = sweeper.paper.letters
        self.kind, self.keep = sweeper.kind[delta], keep
        width = self.letters.rows.shape[1]
        sight = np.zeros((3, len(machine.roles), width), bool)  # by distance, -1 last
        for role in roles:
            for cell, by in sweeper.near[role]:
                if cell in sweeper.paper.cell:
                    sight[by * delta, role, sweeper.paper.cell[cell]] = True
        self.ahead = sight[1].any(axis=0)
        self.ahead[PEN] = True
        self.here, self.rear = sight[0], sight[-1].copy()
        """What windows of each role show of their own column, and of the one behind: also those of
        roles that follow on the same column."""
        steps = np.unique(np.stack([machine.role[table.rows[:, 0]], table.targets], axis=1), axis=0)
        stays = steps[self.kind[steps[:, 1]] == STAYS]
        for _ in machine.roles:
            for role, token in stays:
                self.rear[role] |= self.rear[machine.role[token]]
        self.unfinished = np.zeros(len(machine.roles), bool)
        """Roles on whose column more may be written, by what is ahead of it."""
        self.unfinished[stays[:, 0]] = True
        # A column is left in one of these ways, by what is then shown of it, and its mark.
        self.ways: list[list[tuple[Mask, int]]] = [[] for _ in machine.roles]
        self.way = np.zeros((len(machine.roles), self.tokens), np.int64)
        for role, token in steps.tolist():
            goes, home = self.kind[token] == GOES, machine.moves.home[token, sweeper.paper.axis]
            mask = self.rear[machine.role[token]] & goes
            pen = -1 if goes or home or token == machine.end else token
            same = [pen == mark and (mask == other).all() for other, mark in self.ways[role]]
            if not any(same):
                self.ways[role].append((mask, pen))
            self.way[role, token] = same.index(True) if any(same) else len(same)
        pens = np.unique(self.letters.rows[words.write, PEN])
        self.begin_rear = self.rear[machine.role[pens[pens >= 0]]].any(axis=0)
        views = WindowIndex(width)
        views.number(self.letters.rows[:1])
        view = views.number(np.where(self.ahead, self.letters.rows, -1))
        self.views = views.rows
        self.view_of = view[words.write]
        # edges by their state, and by their arrival: of state s edges[begin[s] : begin[s + 1]]
        states = len(words.first)
        pairs = np.stack([words.source, self.view_of], axis=1)
        arrivals, arrival = np.unique(pairs, axis=0, return_inverse=True)
        self.at, self.view = arrivals.T
        self.at = np.concatenate([np.arange(states), self.at])
        order = np.argsort(words.source, kind="stable")
        begin = np.searchsorted(words.source[order], np.arange(states + 1))
        more = np.argsort(arrival.ravel(), kind="stable")
        self.edge = np.concatenate([order, more])
        ends = np.searchsorted(arrival.ravel()[more], np.arange(1, len(arrivals) + 1))
        self.begin = np.concatenate([begin, len(order) + ends])
        # arrivals by their state, in the same way
        self.arrives = np.searchsorted(arrivals[:, 0], np.arange(states + 1))
        self.states = WindowIndex(5)
        self.columns = WindowIndex(width)
        self.columns.number(self.letters.rows[:1])
        self.parent, self.via = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.edges: list[tuple[Column, Column, Column, Column]] = []

    def run(self) -> None:
        """Follow all states, those that were reached last together."""
        begins, none = np.flatnonzero(self.words.first), np.zeros(int(self.words.first.sum()), int)
        rows = np.stack([begins, none + BEFORE, none, none, none], axis=1)
        front, _ = self._enter(rows, none - 1, none)
        while len(front):
            # each state of the front with each letter that may follow
            state, nth = _spread(self.begin, self.states.rows[front, 0])
            state, edge = front[state], self.edge[nth]
            total = sum(len(source) for source, *_ in self.edges)
            if total + len(state) > MOST:
                raise UnprovableError("there are too many different columns")
            pieces = np.arange(0, len(state), PIECE)[1:]
            fresh = [
                reached
                for piece in np.split(np.arange(len(state)), pieces)
                for reached in self._read(state[piece], edge[piece])
            ]
            front = np.unique(np.concatenate(fresh))

    def _enter(self, rows: Rows, parent: Column, via: Column) -> tuple[Column, Column]:
        """Enter states, and from where each was reached first; those that are new, and all."""
        before = len(self.states)
        number = self.states.number(rows)
        fresh, first = np.unique(number, return_index=True)
        first = first[fresh >= before]
        self.parent = np.append(self.parent, parent[first])
        self.via = np.append(self.via, via[first])
        return fresh[fresh >= before], number

    def _read(self, state: Column, edge: Column) -> Iterator[Column]:
        """Read one letter more in each state; yield the states that are new."""
        if time.thread_time() > self.of.until:
            raise UnprovableError("it takes too long")
        place, token, way, column, behind = self.states.rows[state].T
        letter, states, role = self.words.write[edge], len(self.words.first), self.of.machine.role
        # the pen goes on from a finished column to this one, or ends
        on_it = np.flatnonzero((place < states) & (token >= 0) & (token < self.tokens))
        cases = np.stack([part[on_it] for part in (token, behind, column, self.view_of[edge])], 1)
        first, inverse = distinct(cases)
        origins = state[on_it[first]], edge[on_it[first]], None
        held, rear, here, view = cases[first].T
        left, _ = self._column(
            held, rear, self.columns.rows[here].copy(), self.views[view], origins
        )
        left = left[inverse]
        left[(left < 0) | (self.way[role[token[on_it]], left] != way[on_it])] = MISSING
        left[left == self.of.machine.end] = MISSING  # the end needs no papers
        left[(left >= 0) & (self.kind[left] == ENDS)] += self.tokens
        token = token.copy()
        token[on_it] = left
        # or it is reached now
        pen = self.letters.rows[letter, PEN]
        token = np.where((token == BEFORE) & (pen >= 0), pen, token)
        listed = token != MISSING
        state, edge, letter, token = (part[listed] for part in (state, edge, letter, token))
        behind = np.where(place < states, column, behind)[listed]
        holds = np.flatnonzero((token >= 0) & (token < self.tokens))
        behind[holds] = self._seen(behind[holds], self.rear[role[token[holds]]])
        unfinished = np.zeros(len(token), bool)
        unfinished[holds] = self.unfinished[role[token[holds]]]
        done, open_ = np.flatnonzero(~unfinished), np.flatnonzero(unfinished)
        yield from self._finished(*(part[done] for part in (state, edge, letter, token, behind)))
        # each view behind the letter
        ahead = self.words.target[edge[open_]]
        counts = self.arrives[ahead + 1] - self.arrives[ahead]
        for piece in np.split(
            np.arange(len(open_)), np.flatnonzero(np.diff(np.cumsum(counts) // PIECE)) + 1
        ):
            which, arrival = _spread(self.arrives, ahead[piece])
            columns = (
                column[open_[piece[which]]] for column in (state, edge, letter, token, behind)
            )
            yield self._unfinished(arrival, *columns)

    def _seen(self, column: Column, cells: Bool[np.ndarray, "_ _"]) -> Column:
        """Return what of each column is shown."""
        first, inverse = distinct(np.column_stack([column, cells]))
        rows = np.where(cells[first], self.columns.rows[column[first]], -1)
        return self.columns.number(rows)[inverse]

    def _finished(
        self, state: Column, edge: Column, letter: Column, token: Column, behind: Column
    ) -> Iterator[Column]:
        """Write columns to which the pen has come, or on which it is not; yield the new states."""
        role, holds = self.of.machine.role, (token >= 0) & (token < self.tokens)
        kinds = np.where(holds, role[np.where(holds, token, 0)], -1)
        for kind in np.unique(kinds).tolist():
            mine = np.flatnonzero(kinds == kind)
            cases = np.stack([token[mine], letter[mine]], axis=1)
            first, inverse = distinct(cases)
            held, rows = cases[first, 0], self.letters.rows[cases[first, 1]].copy()
            if kind >= 0:
                self._put(rows, np.arange(len(held)), held, self.of.cell[role[held]])
            for number, (mask, pen) in enumerate(self.ways[kind] if kind >= 0 else [(None, -1)]):
                rows[:, PEN] = pen
                if kind >= 0:
                    seen = np.where(self.here[kind] | mask, rows, -1)
                else:
                    seen = np.where((held < 0)[:, None] & self.begin_rear, rows, -1)
                seen[:, PEN] = -1
                column = self.columns.number(seen)[inverse]
                left = self.letters.number(np.where(self.keep, rows, -1))[inverse]
                rear = behind[mine] if kind >= 0 else np.zeros(len(mine), np.int64)
                target = np.stack(
                    [self.words.target[edge[mine]], token[mine],
                     np.full(len(mine), number), column, rear], axis=1
                )  # fmt: skip
                fresh, reached = self._enter(target, state[mine], edge[mine])
                self.edges.append((state[mine], letter[mine], left, reached))
                yield fresh

    def _unfinished(
        self, arrival: Column, state: Column, edge: Column, letter: Column, token: Column,
        behind: Column,
    ) -> Column:  # fmt: skip
        """Write columns on which the pen is, by the view behind each; the new states."""
        cases = np.stack([token, behind, letter, self.view[arrival]], axis=1)
        first, inverse = distinct(cases)
        held, rear, here, view = cases[first].T
        origins = state[first], edge[first], arrival[first]
        rows = self.letters.rows[here].copy()
        target, rows = self._column(held, rear, rows, self.views[view], origins)
        target[target == self.of.machine.end] = MISSING  # the end needs no papers
        goes = (target >= 0) & (self.kind[target] == GOES)
        ends = np.flatnonzero((target >= 0) & ~goes)
        seen = goes[:, None] & self.rear[self.of.machine.role[np.where(goes, target, 0)]]
        rear = self.columns.number(np.where(seen, rows, -1))
        rows[ends, PEN] = target[ends]
        target[ends] += self.tokens
        left = self.letters.number(np.where(self.keep, rows, -1))[inverse]
        target, rear = target[inverse], rear[inverse]
        none = np.zeros_like(rear)
        rows = np.stack([len(self.words.first) + arrival, target, none, none, rear], axis=1)
        listed = target != MISSING
        fresh, number = self._enter(rows[listed], state[listed], edge[listed])
        self.edges.append((state[listed], letter[listed], left[listed], number))
        return fresh

    def _column(
        self, token: Column, behind: Column, here: Rows, ahead: Rows, origins: Origins
    ) -> tuple[Column, Rows]:
        """Write all that is written on a column: the token that leaves it, and the column then.

        The token is MISSING where a window is met that is not in the table.
        """
        machine, paper, table = self.of.machine, self.of.paper, self.of.table
        around = {0: here, self.delta: ahead, -self.delta: self.columns.rows[behind]}
        here[:, PEN], token, left = -1, token.copy(), np.full(len(token), MISSING)
        active = np.arange(len(token))
        for _ in range(len(machine.roles) + 1):
            self._put(here, active, token[active], self.of.cell[machine.role[token[active]]])
            rows = np.full((len(active), self.of.cells), self.tokens, np.int32)
            rows[:, 0] = token[active]
            for role in np.unique(machine.role[token[active]]).tolist():
                mine = np.flatnonzero(machine.role[token[active]] == role)
                for place, (cell, by) in enumerate(self.of.near[role], 1):
                    if machine.broadcast_mask[cell[0], paper.axis]:
                        values = np.array(self.everywhere.get(cell, -1))
                    else:
                        values = around[by][active[mine], paper.cell[cell]]
                    rows[mine, place] = np.where(values < 0, self.tokens, values)
            number = table.find(rows)
            unknown = np.flatnonzero(number < 0)
            self._miss(rows[unknown], origins, active[unknown])
            active, number = active[number >= 0], number[number >= 0]
            self.met[number] = True
            token[active] = table.targets[number]
            stays = self.kind[token[active]] == STAYS
            left[active[~stays]] = token[active[~stays]]
            active = active[stays]
            if not len(active):
                return left, here
        raise UnprovableError("the pen does not leave a square")

    def _put(self, rows: Rows, which: Column, token: Column, cell: Column) -> None:
        """Write tokens on their columns; those of roles that are seen by none have no cell."""
        has = cell > 0
        which, token, cell = which[has], token[has], cell[has]
        if ((rows[which, cell] >= 0) & (rows[which, cell] != token)).any():
            raise UnprovableError("a role is written twice on one square")
        rows[which, cell] = token

    def _miss(self, rows: Rows, origins: Origins, of: Column) -> None:
        """Keep each window that is not in the table, with a way to it, of so many origins."""
        if not len(rows):
            return
        state, edge, arrival = origins
        for nth in distinct(rows)[0].tolist():
            row, at, behind = tuple(rows[nth].tolist()), int(state[of[nth]]), int(edge[of[nth]])
            if row in self.missing:
                continue
            way = [behind]
            if arrival is not None:
                behind = int(self.edge[self.begin[len(self.words.first) + arrival[of[nth]]]])
                way.insert(0, behind)
            while self.parent[at] >= 0:
                way.append(int(self.via[at]))
                at = int(self.parent[at])
            self.missing[row] = self.words.write[way[::-1]].tolist(), int(self.words.target[behind])

    def events(self) -> Iterator[tuple[int, Words]]:
        """Yield each token that ends the sweep, and papers as they were and as it leaves them."""
        rows, states = self.states.rows, len(self.words.first)
        source, read, write, target = map(np.concatenate, zip(*self.edges, strict=True))
        blank = np.concatenate([np.ones(states, bool), self.view == 0])[rows[:, 0]]
        last = blank & self.words.last[self.at[rows[:, 0]]]
        still = (read == BLANK) & (write == BLANK)
        for event in np.unique(rows[:, 1] - self.tokens).tolist():
            if event >= 0:
                ended = last & (rows[:, 1] == event + self.tokens)
                # the token is known a column late, but papers may end before the blank one there
                while not ended[source[still & ended[target]]].all():
                    ended[source[still & ended[target]]] = True
                papers = Words(source, read, write, target, self.parent < 0, ended).trim()
                yield event, papers.reverse() if self.delta < 0 else papers


def _spread(begin: Column, which: Column) -> tuple[Column, Column]:
    """Return each member of some groups, of which group g has begin[g] : begin[g + 1].

    The place of each member's group in `which`, and the members.

    >>> [column.tolist() for column in _spread(np.array([0, 2, 5]), np.array([1, 0]))]
    [[0, 0, 0, 1, 1], [2, 3, 4, 0, 1]]
    """
    counts = begin[which + 1] - begin[which]
    place = np.repeat(np.arange(len(which)), counts)
    return place, np.arange(len(place)) - np.repeat(
        np.cumsum(counts) - counts - begin[which], counts
    )
