"""One sweep of the pen: what it writes on every paper of a language, and the windows it meets.

The pen goes column by column in one direction until a token goes home, turns, stays for good,
moves along another axis or is found from everywhere: that token is an *event* and ends the sweep.
What is written on a column depends on the token with which the pen came, what stands on the column
behind, on this one and on the one ahead. Of the column ahead only what windows show is needed, its
*view*. So a state of the sweep is

    (the language's state with the view of the column to come; the pen's token; the column behind)

and with a letter of that view, and the view of the column behind it, everything that is written on
the column is decided: window, token by the table, window, ... until the pen moves on. The table is
a function, so every text of each paper is followed.

**Addition.** In `21+43=` the pen stands on `=`, square -1, and the view is (a 2, b 4) or any other
pair. With (2, 4), the window is `= 2 4` and the table says `6`, one square on. Now the pen holds
`6`; this column is (2, 4), and the view behind it may be any of 121 pairs, with (1, 3) the window
`6 2 4 1 3`, which says `4`. The end `$` is an event: 36,399 windows.

**Multiplication.** Of what is ahead windows show one digit of the row above, so there are eleven
views, and few states: a carry, a digit of that row, and what stands on the column behind.
"""

import math
import time
from collections.abc import Collection, Iterator

import numpy as np

from curta.programs.machine.machine import Windows, cells_of
from curta.programs.machine.recording import WindowIndex, WindowTable, distinct
from curta.programs.proof.prompts import Cell, ColumnPaper, cell_at
from curta.programs.proof.words import PEN, Column, Mask, Rows, UnprovableError, Words

BEFORE, MISSING = -1, -2
"""In place of the pen's token: the pen is farther on; no window of the table says what it is."""

PIECE, MOST = 500_000, 20_000_000
"""Columns that are read at once, and in all."""

STAYS, GOES, ENDS = range(3)
"""What a token does: stay on its column, move on by one, or end the sweep."""


Ways = tuple[Column, ...]
"""How each column was reached: the state, the edge, and the arrival behind it."""


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

    States are rows (arrival, pen's token, letter behind). An arrival is a state of the language
    with the view of a letter that leaves it. The pen's token is BEFORE until the pen is reached;
    the number of tokens more than the event's behind it.
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
        self.tokens = len(sweeper.machine.tokens)
        self.letters = sweeper.paper.letters
        self.kind, self.keep = sweeper.kind[delta], keep
        width = self.letters.rows.shape[1]
        self.shown = {by: np.zeros(width, bool) for by in (-1, 0, 1)}
        for cell, by in (near for role in roles for near in sweeper.near[role]):
            if cell in sweeper.paper.cell:
                self.shown[by * delta][sweeper.paper.cell[cell]] = True
        self.shown[1][PEN] = True
        views = WindowIndex(width)
        views.number(self.letters.rows[:1])
        view = views.number(np.where(self.shown[1], self.letters.rows, -1))
        self.views = views.rows
        # edges by their arrival: those of arrival a are edges[begin[a] : begin[a + 1]]
        pairs = np.stack([words.source, view[words.write]], axis=1)
        arrivals, arrival = np.unique(pairs, axis=0, return_inverse=True)
        self.at, self.view = arrivals.T
        self.edge = np.argsort(arrival.ravel(), kind="stable")
        self.begin = np.searchsorted(arrival.ravel()[self.edge], np.arange(len(arrivals) + 1))
        # arrivals by their state, in the same way
        self.arrives = np.searchsorted(self.at, np.arange(len(words.first) + 1))
        self.states = WindowIndex(3)
        self.behind = WindowIndex(width)
        self.parent, self.via = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.edges: list[tuple[Column, Column, Column, Column]] = []

    def run(self) -> None:
        """Follow all states, those that were reached last together."""
        begins = np.flatnonzero((self.view == 0) & self.words.first[self.at])
        rows = np.stack(
            [begins, np.full_like(begins, BEFORE), np.zeros_like(begins)], axis=1
        )  # fmt: skip
        self.behind.number(self.letters.rows[:1])
        front, _ = self._enter(rows, np.full(len(begins), -1), begins)
        while len(front):
            # each state of the front with each letter of its view, and each view behind that
            state, nth = _spread(self.begin, self.states.rows[front, 0])
            state, edge = front[state], self.edge[nth]
            fresh, total = [], sum(len(source) for source, *_ in self.edges)
            ahead = self.words.target[edge]
            counts = self.arrives[ahead + 1] - self.arrives[ahead]
            cuts = np.flatnonzero(np.diff(np.cumsum(counts) // PIECE)) + 1
            for piece in np.split(np.arange(len(state)), cuts):
                if time.thread_time() > self.of.until:
                    raise UnprovableError("it takes too long")
                if total + counts.sum() > MOST:
                    raise UnprovableError("there are too many different columns")
                which, arrival = _spread(self.arrives, ahead[piece])
                fresh.append(self._read(state[piece][which], edge[piece][which], arrival))
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

    def _read(self, state: Column, edge: Column, arrival: Column) -> Column:
        """Read one letter more in each state, with the view behind it; the new states."""
        _, token, behind = self.states.rows[state].T
        cases = [token, behind, self.words.write[edge], self.view[arrival]]
        # what is written on a column depends on few numbers, which are alike for many states
        first, inverse = distinct(np.stack(cases, axis=1))
        ways = tuple(column[first] for column in (state, edge, arrival))
        token, behind, letter, view = (column[first] for column in cases)
        columns = self._columns(token, behind, letter, view, ways)
        target, letters, rear = (column[inverse] for column in columns)
        listed = target != MISSING
        rows = np.stack([arrival, target, rear], axis=1)[listed]
        fresh, number = self._enter(rows, state[listed], edge[listed])
        self.edges.append((state[listed], cases[2][listed], letters[listed], number))
        return fresh

    def _columns(
        self, token: Column, behind: Column, letter: Column, view: Column, ways: Ways
    ) -> tuple[Column, Column, Column]:
        """Read a letter in some states: what the pen holds then, the letter written, and the rear.

        The pen's token is MISSING where a window is not in the table, or where the text ends.
        """
        ahead, letters = self.views[view], self.letters.rows[letter].copy()
        target = token.copy()
        begins = (token == BEFORE) & (ahead[:, PEN] >= 0)
        target[begins] = ahead[begins, PEN]
        on_it = np.flatnonzero((token >= 0) & (token < self.tokens))
        if len(on_it):
            leaves, letters[on_it] = self._column(
                token[on_it], behind[on_it], letters[on_it], ahead[on_it],
                tuple(way[on_it] for way in ways),
            )  # fmt: skip
            ends = on_it[(leaves >= 0) & (self.kind[np.clip(leaves, 0, None)] == ENDS)]
            target[on_it] = leaves
            letters[ends, PEN] = target[ends]
            target[ends] += self.tokens
            # the end of a text needs no papers
            target[target == self.of.machine.end + self.tokens] = MISSING
        moves = (target >= 0) & (target < self.tokens)
        rear = np.zeros(len(target), np.int64)
        rear[moves] = self.behind.number(np.where(self.shown[-1], letters[moves], -1))
        return target, self.letters.number(np.where(self.keep, letters, -1)), rear

    def _column(
        self, token: Column, behind: Column, here: Rows, ahead: Rows, ways: Ways
    ) -> tuple[Column, Rows]:
        """Write all that is written on a column: the token that leaves it, and the column then.

        The token is MISSING where a window is met that is not in the table.
        """
        machine, paper, table = self.of.machine, self.of.paper, self.of.table
        around = {0: here, self.delta: ahead, -self.delta: self.behind.rows[behind]}
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
            self._miss(rows[unknown], *(way[active[unknown]] for way in ways))
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

    def _miss(self, rows: Rows, state: Column, edge: Column, arrival: Column) -> None:
        """Keep each window that is not in the table, with a way to it."""
        if not len(rows):
            return
        first, _ = distinct(rows)
        ways = (column[first].tolist() for column in (rows, state, edge, arrival))
        for row, at, last, then in zip(*ways, strict=True):
            if tuple(row) in self.missing:
                continue
            after = int(self.edge[self.begin[then]])
            way = [int(self.words.write[after]), int(self.words.write[last])]
            while self.parent[at] >= 0:
                way.append(int(self.words.write[self.via[at]]))
                at = int(self.parent[at])
            self.missing[tuple(row)] = way[::-1], int(self.words.target[after])

    def events(self) -> Iterator[tuple[int, Words]]:
        """Yield each token that ends the sweep, and papers as they were and as it leaves them."""
        rows = self.states.rows
        source, read, write, target = map(np.concatenate, zip(*self.edges, strict=True))
        for event in np.unique(rows[:, 1] - self.tokens).tolist():
            if event >= 0:
                ended = (rows[:, 1] == event + self.tokens) & (self.view[rows[:, 0]] == 0)
                last = ended & self.words.last[self.at[rows[:, 0]]]
                papers = Words(source, read, write, target, self.parent < 0, last).trim()
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
