"""One sweep of the pen: what it writes on every paper of a language, and the windows it meets.

The pen goes column by column in one direction until a token goes home, turns, stays for good or is
found from everywhere: that token is an *event* and ends the sweep. What is written on a column
depends on the token with which the pen came, what stands on the column behind, on this one and on
the one ahead. So a state of the sweep is

    (the column about to be read, with the state behind it; the pen's token; the column behind)

and reading on, over every edge that the language has there, decides everything that is written on
the column: window, token by the table, window, ... until the pen moves on. As prompts are exact
and the table is a function, every state is part of a real text: each window met occurs.

**Addition.** In `21+43=` the pen stands on `=`, square -1, and what is ahead is (a 2, b 4) or any
other pair. With (2, 4), the window is `= 2 4` and the table says `6`, one square on. Now the pen
holds `6` on the column (2, 4), and ahead may be any of 121 columns, with (1, 3) the window
`6 2 4 1 3`, which says `4`. The end `$` is an event. Windows are states with the column ahead:
36,399 of them.
"""

import math
import time
from dataclasses import dataclass, field

import numpy as np

from curta.programs.machine.machine import Windows, cells_of
from curta.programs.machine.recording import WindowTable, distinct
from curta.programs.proof.prompts import Paper, UnprovableError
from curta.programs.proof.words import BLANK, PEN, Column, Mask, RowNumbers, Rows, Words

BEFORE = -1
"""In place of the pen's token: the pen is farther on."""

PIECE, MOST = 500_000, 5_000_000
"""Columns that are read at once, and in all."""

STAYS, GOES, ENDS = range(3)
"""What a token does: stay on its column, move on by one, or end the sweep."""


@dataclass
class Swept:
    """What came of a sweep over these words, which are in the order in which the pen went."""

    words: Words
    met: Mask
    """Which windows of the table were met."""
    missing: dict[tuple[int, ...], list[int]] = field(default_factory=dict)
    """Windows that are not in the table, with the beginning of a paper on which each is met."""
    behind: dict[tuple[int, ...], int] = field(default_factory=dict)
    """The state of the language behind that beginning."""
    events: dict[int, Words] = field(default_factory=dict)
    """By the token that ends the sweep: papers as they were, and as they are now."""
    states: int = 0


class Sweeper:
    """Sweeps over papers of one machine, with the windows of a table."""

    def __init__(
        self, paper: Paper, windows: Windows, table: WindowTable, until: float = math.inf
    ) -> None:
        """`until` is the thread's time at which a sweep is given up."""
        self.until = until
        self.paper, self.machine, self.table = paper, paper.machine, table
        self.near, self.cells = self.machine.neighbours(windows), cells_of(windows)
        self.wide = self.machine.broadcast_mask[:, paper.axis]

    def sweep(self, words: Words, down: bool, everywhere: dict[int, int]) -> Swept:
        """Sweep over all words, whose pens hold tokens that all move alike.

        `everywhere` are tokens that are found from every square, by role.
        """
        words = words.reverse() if down else words
        run = Run(self, words, -1 if down else 1, everywhere)
        run.run()
        swept = run.swept
        swept.states = len(run.states)
        for token in np.unique(run.states.rows[:, 1] - len(self.machine.tokens)).tolist():
            if token >= 0:
                papers = run.papers(token)
                swept.events[token] = papers.reverse() if down else papers
        return swept


class Run:
    """One sweep in progress; states are rows (arrival, pen's token, letter behind).

    An arrival is a letter about to be read, with the state behind it. The pen's token is BEFORE
    until the pen is reached; the number of tokens more than the event's behind it.
    """

    def __init__(
        self, sweeper: Sweeper, words: Words, delta: int, everywhere: dict[int, int]
    ) -> None:
        self.of, self.words, self.delta, self.everywhere = sweeper, words, delta, everywhere
        self.tokens = len(sweeper.machine.tokens)
        self.letters = sweeper.paper.letters
        self.swept = Swept(words, np.zeros(len(sweeper.table), bool))
        self.kind = self._kinds()
        pairs = np.stack([words.write, words.target], axis=1)
        first, self.arrival = distinct(pairs)
        self.letter, self.behind_it = pairs[first].T
        # edges by their source: those of state s are order[begin[s] : begin[s + 1]]
        self.order = np.argsort(words.source, kind="stable")
        self.begin = np.searchsorted(words.source[self.order], np.arange(len(words.first) + 1))
        self.states = RowNumbers(3)
        self.behind = RowNumbers(self.letters.rows.shape[1])
        self.parent, self.via = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.edges: list[tuple[Column, Rows, Column]] = []

    def _kinds(self) -> Column:
        """What each token does."""
        machine, axis = self.of.machine, self.of.paper.axis
        home, offset = (part[:, axis] for part in machine.moves)
        event = home | self.of.wide[machine.role] | ~np.isin(offset, [0, self.delta])
        event[machine.end] = True
        return np.where(event, ENDS, np.where(offset == 0, STAYS, GOES))

    def run(self) -> None:
        """Follow all states, those that were reached last together."""
        loops = (self.words.write == BLANK) & (self.words.source == self.words.target)
        begins = np.flatnonzero(loops & self.words.first[self.words.source])
        nobody = self.behind.number(self.letters.rows[:1])[0]
        rows = np.stack(
            [self.arrival[begins], np.full_like(begins, BEFORE), np.full_like(begins, nobody)],
            axis=1,
        )
        front = self._enter(rows, np.full(len(begins), -1), begins)
        while len(front):
            # each state of the front with each edge behind the letter that it is about to read
            at = self.behind_it[self.states.rows[front, 0]]
            counts = self.begin[at + 1] - self.begin[at]
            fresh = []
            for piece in np.split(front, np.flatnonzero(np.diff(np.cumsum(counts) // PIECE)) + 1):
                if time.thread_time() > self.of.until:
                    raise UnprovableError("it takes too long")
                if sum(len(source) for source, _, _ in self.edges) > MOST:
                    raise UnprovableError("there are too many different columns")
                at = self.behind_it[self.states.rows[piece, 0]]
                counts = self.begin[at + 1] - self.begin[at]
                state = np.repeat(piece, counts)
                skip = np.repeat(np.cumsum(counts) - counts - self.begin[at], counts)
                fresh.append(self._read(state, self.order[np.arange(len(state)) - skip]))
            front = np.concatenate(fresh)

    def _enter(self, rows: Rows, parent: Column, via: Column) -> Column:
        """Enter states, and from where each was reached first; those that are new."""
        before = len(self.states)
        number = self.states.number(rows)
        fresh, first = np.unique(number, return_index=True)
        first = first[fresh >= before]
        self.parent = np.append(self.parent, parent[first])
        self.via = np.append(self.via, via[first])
        self._number = number
        return fresh[fresh >= before]

    def _read(self, state: Column, edge: Column) -> Column:
        """Read one letter more in each state, with the edge's letter ahead; the new states."""
        arrival, token, behind = self.states.rows[state].T
        written = self.letters.rows[self.letter[arrival]].copy()
        ahead = self.letters.rows[self.words.write[edge]]
        on_it = (token >= 0) & (token < self.tokens)
        target, known = token.copy(), np.ones(len(state), bool)
        if on_it.any():
            pieces = (state[on_it], edge[on_it], token[on_it], behind[on_it])
            target[on_it], written[on_it] = self._column(*pieces, written[on_it], ahead[on_it])
            known = target != BEFORE - 1
        moves = on_it & known & (self.kind[np.clip(target, 0, self.tokens - 1)] == GOES)
        ends = on_it & known & ~moves
        # the end of a text needs no papers
        known &= ~(ends & (target == self.of.machine.end))
        written[ends, PEN] = target[ends]
        after = np.where(ends, target + self.tokens, target)
        begins = (token == BEFORE) & (ahead[:, PEN] >= 0)
        after[begins] = ahead[begins, PEN]
        rear = np.zeros(len(state), np.int64)
        sees = moves | begins
        rear[sees] = self.behind.number(self._seen(written[sees], -self.delta))
        rows = np.stack([self.arrival[edge], after, rear], axis=1)[known]
        fresh = self._enter(rows, state[known], edge[known])
        self.edges.append((state[known], written[known], self._number))
        return fresh

    def _seen(self, rows: Rows, distance: int) -> Rows:
        """The letters, without what no window shows so far from its square."""
        shown = np.zeros(rows.shape[1], bool)
        for near in self.of.near:
            for role, moved in near:
                if moved[self.of.paper.axis] == distance and role in self.of.paper.cell:
                    shown[self.of.paper.cell[role]] = True
        return np.where(shown, rows, -1)

    def _column(
        self, state: Column, edge: Column, token: Column, behind: Column, here: Rows, ahead: Rows
    ) -> tuple[Column, Rows]:
        """Write all that is written on a column: the token that leaves it, and the column then.

        The token is BEFORE - 1 where a window is met that is not in the table.
        """
        machine, paper, table = self.of.machine, self.of.paper, self.of.table
        around = {0: here, self.delta: ahead, -self.delta: self.behind.rows[behind]}
        cell = np.array([paper.cell.get(role, 0) for role in range(len(machine.roles))])
        here[:, PEN], token, left = -1, token.copy(), np.full(len(token), BEFORE - 1)
        active = np.arange(len(token))
        for _ in range(len(machine.roles) + 1):
            self._put(here, active, token[active], cell[machine.role[token[active]]])
            rows = np.full((len(active), self.of.cells), self.tokens, np.int32)
            rows[:, 0] = token[active]
            for role in np.unique(machine.role[token[active]]).tolist():
                mine = np.flatnonzero(machine.role[token[active]] == role)
                for place, (other, moved) in enumerate(self.of.near[role], 1):
                    if self.of.wide[other]:
                        values = np.array(self.everywhere.get(other, -1))
                    else:
                        step = moved[paper.axis]
                        values = around[step][active[mine], cell[other]]
                    rows[mine, place] = np.where(values < 0, self.tokens, values)
            number = table.find(rows)
            unknown = np.flatnonzero(number < 0)
            self._miss(rows[unknown], state[active[unknown]], edge[active[unknown]])
            active, number = active[number >= 0], number[number >= 0]
            self.swept.met[number] = True
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

    def _miss(self, rows: Rows, state: Column, edge: Column) -> None:
        """Keep each window that is not in the table, with a way to it."""
        if not len(rows):
            return
        first, _ = distinct(rows)
        ways = zip(rows[first].tolist(), state[first].tolist(), edge[first].tolist(), strict=True)
        for row, at, last in ways:
            if tuple(row) in self.swept.missing:
                continue
            way = [int(self.words.write[last])]
            self.swept.behind[tuple(row)] = int(self.words.target[last])
            while at >= 0:
                way.append(int(self.words.write[self.via[at]]))
                at = int(self.parent[at])
            self.swept.missing[tuple(row)] = way[::-1]

    def papers(self, event: int) -> Words:
        """The papers on which a token ends the sweep, as they were and as it leaves them."""
        rows = self.states.rows
        source, target = (np.concatenate([edges[n] for edges in self.edges]) for n in (0, 2))
        first = self.parent < 0
        loop = (self.letter == BLANK) & self.words.last[self.behind_it]
        last = (rows[:, 1] == event + self.tokens) & loop[rows[:, 0]]
        live = Words(source, np.arange(len(source)), source, target, first, last).trim()
        keep = live.read
        written = np.concatenate([edges[1] for edges in self.edges])[keep]
        letter = self.letter[rows[source[keep], 0]]
        return Words(
            live.source, letter, self.letters.number(written), live.target, live.first, live.last
        )
