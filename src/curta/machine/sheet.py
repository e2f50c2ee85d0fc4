"""Squared paper for many texts at once: a table of the tokens on their squares."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from .machine import Machine, Windows

SPARE = 4
"""Squares that are kept free around those in use, at least."""

ENTRIES = 1 << 26
"""Squares that are kept at once, of all texts; those that go farther are written one by one."""

NOTHING, WASTE = 0, 1
"""Addresses in a row of the table: of what is never there, and of what no role sees."""


class Prompts(NamedTuple):
    """Prompts one after the other, and how long each is."""

    tokens: Int[np.ndarray, " time"]
    lengths: Int[np.ndarray, " texts"]

    @classmethod
    def of(cls, prompts: Sequence[Sequence[int]]) -> "Prompts":
        lengths = np.array([len(prompt) for prompt in prompts])
        flat = np.fromiter(chain.from_iterable(prompts), np.int32, int(lengths.sum()))
        return cls(flat, lengths)

    def prompt(self, text: int) -> list[int]:
        """One of them."""
        end = int(self.lengths[: text + 1].sum())
        return self.tokens[end - int(self.lengths[text]) : end].tolist()


class Written(NamedTuple):
    """What was written after each prompt: a row of tokens, and how many of them count."""

    tokens: Int[np.ndarray, "texts steps"]
    counts: Int[np.ndarray, " texts"]

    @property
    def lists(self) -> list[list[int]]:
        """The tokens of each text."""
        pairs = zip(self.tokens.tolist(), self.counts.tolist(), strict=True)
        return [row[:count] for row, count in pairs]

    def put(self, text: int, tokens: Sequence[int]) -> "Written":
        """The same with other tokens in one text."""
        wider = max(0, len(tokens) - self.tokens.shape[1])
        rows, counts = np.pad(self.tokens, ((0, 0), (0, wider))), self.counts.copy()
        rows[text, : len(tokens)], counts[text] = tokens, len(tokens)
        return Written(rows, counts)


def neighbours(machine: Machine, windows: Windows) -> list[list[tuple[int, tuple[int, ...]]]]:
    """For each role, its neighbours with roles as numbers."""
    names = {role.name: number for number, role in enumerate(machine.roles)}
    return [
        [(names[other], moved) for other, moved in windows.get(role.name, ())]
        for role in machine.roles
    ]


class Entry(NamedTuple):
    """Tokens that were written at one time: in which texts, and where."""

    texts: Int[np.ndarray, " n"]
    tokens: Int[np.ndarray, " n"]
    position: Int[np.ndarray, "n axes"]


class Sheet:
    """Texts while they are written, and a table of the tokens on their squares.

    Each text has a row of the table. In it a role's squares, from `low` to `high`, are one block:
    a square's address is `begin + position · step`, and so is that of a neighbour, whose begin
    differs by its displacement. So long as every text keeps to the squares at least `reach` from
    the edge, all neighbours are in the table; where one leaves them, it is laid out anew, twice as
    wide on that axis.
    Address NOTHING is always empty: neighbours that a role does not have. WASTE takes what no
    role sees.
    """

    def __init__(self, machine: Machine, windows: Windows, prompts: Prompts) -> None:
        self.machine, self.near = machine, neighbours(machine, windows)
        self.cells = max(map(len, windows.values()), default=0)
        moves = [moved for near in self.near for _, moved in near]
        self.reach = np.abs(np.array(moves or [(0,) * len(machine.axes)])).max(axis=0)
        flat, lengths = prompts
        where, last = machine.positions(flat), np.cumsum(lengths) - 1
        self.count, self.strays = len(lengths), list[int]()
        self.texts, self.tokens, self.position = np.arange(self.count), flat[last], where[last]
        self.history = [Entry(np.repeat(self.texts, lengths), flat, where)]
        low, high, edge = where.min(axis=0), where.max(axis=0), self.reach + SPARE
        self._lay_out(low - edge, 2 * high - low + edge)

    def windows(self) -> Int[np.ndarray, "texts cells"]:
        """What the last token of each text sees, itself first."""
        role = self.machine.role[self.tokens]
        address = self.near_begins[role]
        for axis, steps in enumerate(self.near_steps):
            address += self.position[:, axis, None] * steps[role]
        address += (self.texts * self.width)[:, None]
        rows = np.empty((len(role), 1 + self.cells), np.int32)
        rows[:, 0] = self.tokens
        rows[:, 1:] = self.table.take(address)
        return rows

    def write(self, tokens: Int[np.ndarray, " texts"]) -> None:
        """Writes a token in each text."""
        self.position, self.tokens = self.machine.advance(self.position, tokens), tokens
        self.history.append(Entry(self.texts, tokens, self.position))
        low, high = self.position.min(axis=0), self.position.max(axis=0)
        below, above = low < self.low + self.reach, high > self.high - self.reach
        if not (below.any() or above.any()):
            self._enter(self.history[-1])
            return
        more = self.high - self.low + self.reach + SPARE
        wanted = np.where(below, low - more, self.low), np.where(above, high + more, self.high)
        if self.count * int(self._sizes(*wanted).sum()) <= ENTRIES:
            self._lay_out(*wanted)
        else:
            self._leave_out_strays()

    def _leave_out_strays(self) -> None:
        """Texts of a wrong function that go so far that the table would not fit in memory."""
        low, high = self.low + self.reach, self.high - self.reach
        inside = ((self.position >= low) & (self.position <= high)).all(axis=1)
        self.strays += self.texts[~inside].tolist()
        self.keep(inside)
        self.history[-1] = Entry(self.texts, self.tokens, self.position)
        self._enter(self.history[-1])

    def _sizes(self, low: np.ndarray, high: np.ndarray) -> Int[np.ndarray, " roles"]:
        """Squares of each role between low and high."""
        return np.where(self.machine.wide, 1, high - low + 1).prod(axis=1)

    def keep(self, going: Bool[np.ndarray, " texts"]) -> None:
        """Leaves only these texts."""
        if not going.all():
            self.texts, self.tokens = self.texts[going], self.tokens[going]
            self.position = self.position[going]

    def written(self) -> Written:
        """What was written after each prompt."""
        steps = self.history[1:]
        tokens, counts = np.zeros((self.count, len(steps)), np.int32), np.zeros(self.count, int)
        for step, entry in enumerate(steps):
            tokens[entry.texts, step] = entry.tokens
            counts[entry.texts] += 1
        return Written(tokens, counts)

    def _enter(self, entry: Entry) -> None:
        role = self.machine.role[entry.tokens]
        address = self.begins[role] + entry.texts * self.width
        for axis, steps in enumerate(self.steps):
            address += entry.position[:, axis] * steps[role]
        self.table[address] = entry.tokens

    def _lay_out(self, low: np.ndarray, high: np.ndarray) -> None:
        """A table for squares from low to high, with all that was written."""
        self.low, self.high = low, high
        sizes = np.where(self.machine.wide, 1, self.high - self.low + 1)
        strides = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1] // sizes * ~self.machine.wide
        seen = np.isin(np.arange(len(sizes)), [role for near in self.near for role, _ in near])
        ends = np.cumsum(np.prod(sizes, axis=1) * seen) + WASTE + 1
        self.width = int(ends[-1])
        begins = np.concatenate([[WASTE + 1], ends[:-1]]) - strides @ self.low
        self._neighbours(begins, strides)
        self.begins = np.where(seen, begins, WASTE)
        self.steps = [np.where(seen, column, 0) for column in strides.T]
        self.table = np.full(self.count * self.width, len(self.machine.tokens), np.int32)
        for entry in self.history:
            self._enter(entry)

    def _neighbours(self, begins: np.ndarray, strides: np.ndarray) -> None:
        """The begin and the steps of each role's neighbours, all roles as one table."""
        shape = (len(self.near), self.cells)
        self.near_begins = np.full(shape, NOTHING)
        self.near_steps = [np.zeros(shape, np.int64) for _ in self.machine.axes]
        for role, near in enumerate(self.near):
            for cell, (other, moved) in enumerate(near):
                self.near_begins[role, cell] = begins[other] + strides[other] @ moved
                for steps, stride in zip(self.near_steps, strides[other], strict=True):
                    steps[role, cell] = stride
