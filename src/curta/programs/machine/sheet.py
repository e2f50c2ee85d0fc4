"""Squared paper for many texts at once: a table of the tokens on their squares."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.recording import Blocks, Spans

SPARE = 4
"""Squares that are kept free around those in use, at least."""

ENTRIES = 1 << 26
"""Squares that are kept at once, of all texts; those that go farther are written one by one."""

NOTHING, WASTE = 0, 1
"""Addresses in a row of the table: of what is never there, and of what is in no window."""


Corner = Int[np.ndarray, " axes"]


class Prompts(NamedTuple):
    """Prompts one after the other, and how long each is."""

    tokens: Int[np.ndarray, " time"]
    lengths: Int[np.ndarray, " texts"]

    @classmethod
    def of(cls, prompts: Sequence[Sequence[int]]) -> "Prompts":
        """From lists of tokens.

        >>> Prompts.of([[5, 6], [7]])
        Prompts(tokens=array([5, 6, 7], dtype=int32), lengths=array([2, 1]))
        """
        lengths = np.array([len(prompt) for prompt in prompts])
        flat = np.fromiter(chain.from_iterable(prompts), np.int32, int(lengths.sum()))
        return cls(flat, lengths)

    def part(self, texts: slice) -> "Prompts":
        """Some of them.

        >>> Prompts.of([[5, 6], [7], [8]]).part(slice(1, None)).tokens.tolist()
        [7, 8]
        """
        begins = np.concatenate([[0], np.cumsum(self.lengths)])
        first, last, _ = texts.indices(len(self.lengths))
        return Prompts(self.tokens[begins[first] : begins[last]], self.lengths[texts])

    def prompt(self, text: int) -> list[int]:
        """One of them."""
        end = int(self.lengths[: text + 1].sum())
        return self.tokens[end - int(self.lengths[text]) : end].tolist()


class Written(NamedTuple):
    """What was written after each prompt: a row of tokens, and how many of them count."""

    tokens: Int[np.ndarray, "texts steps"]
    counts: Int[np.ndarray, " texts"]

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> "Written":
        """From the tokens of each text; zeros fill the rows up.

        >>> Written.of([[4, 5], [6]]).tokens.tolist()
        [[4, 5], [6, 0]]
        """
        wide = max(map(len, texts))
        rows = [[*text, *[0] * (wide - len(text))] for text in texts]
        return cls(np.array(rows, np.int32), np.array([len(text) for text in texts]))

    @property
    def lists(self) -> list[list[int]]:
        """The tokens of each text: of rows 4 5, 6 0 with counts 2, 1 these are [4, 5], [6]."""
        pairs = zip(self.tokens.tolist(), self.counts.tolist(), strict=True)
        return [row[:count] for row, count in pairs]


class Entry(NamedTuple):
    """Tokens that were written at one time: in which texts, and where."""

    texts: Int[np.ndarray, " n"]
    tokens: Int[np.ndarray, " n"]
    position: Int[np.ndarray, "n axes"]


class Sheet:
    """Texts while they are written, and a table of the tokens on their squares.

    Each text has a row of the table, with a block for each role that was written so far. The
    address of a neighbour is that of the query's square in the neighbour's block, and a fixed
    number more. Pens keep to the squares from `low` to `high`, and a block is as much larger as
    others look `offsets` squares far for its role. Where a pen leaves these squares the table is
    laid out anew, twice as wide on that axis; and for every new role.
    Where the `right` texts are known, these squares are theirs and SPARE on each side: a text
    that leaves them is given up.
    Address NOTHING is always empty: neighbours that a role does not have, or of a role that was
    never written. WASTE takes what is in no window.
    """

    def __init__(
        self, machine: Machine, windows: Windows, prompts: Prompts, right: Prompts | None = None
    ) -> None:
        self.machine, self.near = machine, machine.neighbours(windows)
        self.cells = cells_of(windows) - 1
        self.offsets = np.zeros(machine.wide.shape, np.int64)
        self.seen = np.zeros(len(self.near), bool)
        for role, moved in chain.from_iterable(self.near):
            self.offsets[role] = np.maximum(self.offsets[role], np.abs(moved))
            self.seen[role] = True
        flat, lengths = prompts
        where, last = machine.positions(flat), np.cumsum(lengths) - 1
        self.count, self.strays = len(lengths), list[int]()
        self.texts, self.tokens, self.position = np.arange(self.count), flat[last], where[last]
        self.history = [Entry(np.repeat(self.texts, lengths), flat, where)]
        self.there = np.isin(np.arange(len(self.near)), machine.role[flat])
        low, high = where.min(axis=0), where.max(axis=0)
        edge = SPARE * (high > low)  # none on axes that are not in use
        self.low, self.high = low - edge, 2 * high - low + edge
        self.bounded = right is not None
        if right is not None:
            where = machine.positions(right.tokens)
            self.low, self.high = where.min(axis=0) - SPARE, where.max(axis=0) + SPARE
            self.there |= np.isin(np.arange(len(self.near)), machine.role[right.tokens])
        self.table = np.zeros(0, np.int32)

    @property
    def fits(self) -> bool:
        """Whether a table for the prompts is small enough."""
        return self._entries(self.low, self.high) <= ENTRIES

    def begin(self) -> None:
        """Lays the prompts out."""
        self._lay_out(self.low, self.high)

    def windows(self) -> Int[np.ndarray, "texts cells"]:
        """The window of the last token of each text, itself first.

        `12+34=`, where `=` has the lowest digits of b and a for neighbours: = 4 2.
        """
        role = self.machine.role[self.tokens]
        address = self.near_begins[role]
        for axis, strides in enumerate(self.near_strides):
            address += self.position[:, axis, None] * strides[role]
        address += (self.texts * self.blocks.size)[:, None]
        rows = np.empty((len(role), 1 + self.cells), np.int32)
        rows[:, 0] = self.tokens
        rows[:, 1:] = self.table.take(address)
        return rows

    def write(self, tokens: Int[np.ndarray, " texts"]) -> None:
        """Writes a token in each text."""
        self.position, self.tokens = self.machine.advance(self.position, tokens), tokens
        self.history.append(Entry(self.texts, tokens, self.position))
        low, high = self.position.min(axis=0), self.position.max(axis=0)
        below, above = low < self.low, high > self.high
        known = bool(self.there[self.machine.role[tokens]].all())
        if known and not (below.any() or above.any()):
            self._enter(self.history[-1])
            return
        self.there[self.machine.role[tokens]] = True
        more = self.high - self.low + SPARE
        wanted = np.where(below, low - more, self.low), np.where(above, high + more, self.high)
        if not self.bounded and self._entries(*wanted) <= ENTRIES:
            self._lay_out(*wanted)
        else:
            self._leave_out_strays(known)

    def _leave_out_strays(self, known: bool) -> None:
        """Texts of a wrong function that go too far, or so far that the table would not fit in
        memory; `known` says whether the table has all roles."""
        inside = ((self.position >= self.low) & (self.position <= self.high)).all(axis=1)
        self.strays += self.texts[~inside].tolist()
        self.keep(inside)
        self.history[-1] = Entry(self.texts, self.tokens, self.position)
        if known:
            self._enter(self.history[-1])
        else:
            self._lay_out(self.low, self.high)

    def _sizes(self, low: Corner, high: Corner) -> Spans:
        """Squares of each role on each axis."""
        return np.where(self.machine.wide, 1, high - low + 1 + 2 * self.offsets)

    def _entries(self, low: Corner, high: Corner) -> int:
        """How large a table from low to high is."""
        blocks = self._sizes(low, high).astype(float).prod(axis=1) * (self.seen & self.there)
        return self.count * int(blocks.sum())

    def keep(self, going: Bool[np.ndarray, " texts"]) -> None:
        """Leaves only these texts."""
        if not going.all():
            self.texts, self.tokens = self.texts[going], self.tokens[going]
            self.position = self.position[going]

    def written(self) -> Written:
        """What was written after each prompt; texts that ended early have zeros behind."""
        steps = self.history[1:]
        tokens, counts = np.zeros((self.count, len(steps)), np.int32), np.zeros(self.count, int)
        for step, entry in enumerate(steps):
            tokens[entry.texts, step] = entry.tokens
            counts[entry.texts] += 1
        return Written(tokens, counts)

    def _enter(self, entry: Entry) -> None:
        role = self.machine.role[entry.tokens]
        self.table[self.blocks.address(role, entry.position, entry.texts)] = entry.tokens

    def _lay_out(self, low: Corner, high: Corner) -> None:
        """A table for squares from low to high, with all that was written."""
        self.low, self.high = low, high
        kept = self.seen & self.there
        blocks = Blocks.of(low - self.offsets, self._sizes(low, high), kept, first=WASTE + 1)
        self._neighbours(blocks)
        begins, strides = np.where(kept, blocks.begins, WASTE), blocks.strides * kept[:, None]
        self.blocks = Blocks(begins, strides, blocks.size)
        self.table = np.full(self.count * blocks.size, len(self.machine.tokens), np.int32)
        for entry in self.history:
            self._enter(entry)

    def _neighbours(self, blocks: Blocks) -> None:
        """The addresses of each role's neighbours, all roles as one table; see `windows`."""
        shape = (len(self.near), self.cells)
        self.near_begins = np.full(shape, NOTHING)
        self.near_strides = np.zeros((len(self.machine.axes), *shape), np.int64)
        for role, near in enumerate(self.near):
            for cell, (other, moved) in enumerate(near):
                if self.there[other]:
                    strides = blocks.strides[other]
                    self.near_begins[role, cell] = blocks.begins[other] + strides @ moved
                    self.near_strides[:, role, cell] = strides
