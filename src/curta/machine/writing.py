"""Writing texts on squared paper, with any function from windows to tokens.

`write` goes token by token over many texts at once, `write_one` over a single one; both write
the same. Squares are written where the machine says, and the newest token counts if a
wrong function writes on a square twice.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from .machine import Machine, Windows

Look = Callable[..., Int[np.ndarray, " queries"]]
"""The token that follows each window (queries cells), and, where several write, as whom."""

SPARE = 4
"""Squares that are kept free around those in use, at least."""

ENTRIES = 1 << 26
"""Squares that are kept at once, of all texts; those that go farther are written one by one."""

NOTHING, WASTE = 0, 1
"""Addresses in a row of the table: of what is never there, and of what no role sees."""


def limit_of(prompt: int) -> int:
    """Tokens after which a text is given up: more than any program here writes."""
    return 1_000 + 40 * prompt * prompt


def write_one(
    machine: Machine, windows: Windows, look: Look, prompt: Sequence[int], limit: int = 0
) -> list[int]:
    """What follows one prompt, the end included unless the limit comes first."""
    pen = _Pen(machine, windows)
    for token in prompt:
        pen.write(token)
    known: dict[tuple[int, ...], int] = {}
    for _ in range(limit or limit_of(len(prompt))):
        window = pen.window()
        if window not in known:
            known[window] = int(look(np.array([window], np.int32))[0])
        pen.write(known[window])
        if known[window] == machine.end:
            break
    return pen.written[len(prompt) :]


class _Pen:
    """One text while it is written, in plain Python: ten times as fast as arrays of one row."""

    def __init__(self, machine: Machine, windows: Windows) -> None:
        home, offset = machine.moves
        pairs = np.stack([home, offset], axis=2)  # tokens, axes, whether home and how far
        self.moves: list[list[list[int]]] = pairs.tolist()
        self.role, self.wide = machine.role.tolist(), machine.wide.tolist()
        self.near, self.none = _near(machine, windows), len(machine.tokens)
        self.cells = 1 + max(map(len, windows.values()), default=0)
        self.position = [0] * len(machine.axes)
        self.held: dict[tuple[int, ...], int] = {}
        self.written: list[int] = []

    def write(self, token: int) -> None:
        """Moves as the token says, and puts it there."""
        moved = zip(self.position, self.moves[token], strict=True)
        self.position = [step if home else at + step for at, (home, step) in moved]
        role = self.role[token]
        self.held[self._square(role, self.position)] = token
        self.written.append(token)

    def window(self) -> tuple[int, ...]:
        """What the last token sees, itself first."""
        token, found = self.written[-1], list[int]()
        for role, moved in self.near[self.role[token]]:
            at = [x + step for x, step in zip(self.position, moved, strict=True)]
            found.append(self.held.get(self._square(role, at), self.none))
        return (token, *found, *[self.none] * (self.cells - 1 - len(found)))

    def _square(self, role: int, at: list[int]) -> tuple[int, ...]:
        """The address of a role and a position: axes on which it is everywhere do not count."""
        wide = self.wide[role]
        return (role, *[0 if w else x for w, x in zip(wide, at, strict=True)])


def _near(machine: Machine, windows: Windows) -> list[list[tuple[int, tuple[int, ...]]]]:
    """For each role, its neighbours with roles as numbers."""
    names = {role.name: number for number, role in enumerate(machine.roles)}
    return [
        [(names[other], moved) for other, moved in windows.get(role.name, ())]
        for role in machine.roles
    ]


def write(
    machine: Machine,
    windows: Windows,
    look: Look,
    prompts: Sequence[Sequence[int]],
    limit: int = 0,
    writers: Int[np.ndarray, " texts"] | None = None,
) -> list[list[int]]:
    """As `write_one`, for many prompts at once; `writers` says who writes each text."""
    sheet = _Sheet(machine, windows, prompts)
    limits = np.array([limit or limit_of(len(prompt)) for prompt in prompts])
    for step in range(int(limits.max())):
        asked = (sheet.windows(),) if writers is None else (sheet.windows(), writers[sheet.texts])
        sheet.write(look(*asked))
        sheet.keep((sheet.tokens != machine.end) & (limits[sheet.texts] > step + 1))
        if not len(sheet.texts):
            break
    found = sheet.written()
    for text in sheet.strays:
        own = look if writers is None else _as(look, int(writers[text]))
        found[text] = write_one(machine, windows, own, prompts[text], int(limits[text]))
    return found


def _as(look: Look, writer: int) -> Look:
    return lambda rows: look(rows, writer)


class Entry(NamedTuple):
    """Tokens that were written at one time: in which texts, and where."""

    texts: Int[np.ndarray, " n"]
    tokens: Int[np.ndarray, " n"]
    position: Int[np.ndarray, "n axes"]


class _Sheet:
    """Texts while they are written, and a table of the tokens on their squares.

    Each text has a row of the table. In it a role's squares, from `low` to `high`, are one block:
    a square's address is `begin + position · step`, and so is that of a neighbour, whose begin
    differs by its displacement. So long as every text keeps to the squares at least `reach` from
    the edge, all neighbours are in the table; where one leaves them, it is laid out anew, twice as
    wide on that axis.
    Address NOTHING is always empty: neighbours that a role does not have. WASTE takes what no
    role sees.
    """

    def __init__(
        self, machine: Machine, windows: Windows, prompts: Sequence[Sequence[int]]
    ) -> None:
        self.machine, self.near = machine, _near(machine, windows)
        self.cells = max(map(len, windows.values()), default=0)
        moves = [moved for near in self.near for _, moved in near]
        self.reach = np.abs(np.array(moves or [(0,) * len(machine.axes)])).max(axis=0)
        lengths = np.array([len(prompt) for prompt in prompts])
        flat = np.fromiter(chain.from_iterable(prompts), np.int32, int(lengths.sum()))
        where, last = machine.positions(flat), np.cumsum(lengths) - 1
        self.count, self.strays = len(prompts), list[int]()
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

    def written(self) -> list[list[int]]:
        """What was written after each prompt."""
        steps = self.history[1:]
        tokens, counts = np.zeros((self.count, len(steps)), np.int32), np.zeros(self.count, int)
        for step, entry in enumerate(steps):
            tokens[entry.texts, step] = entry.tokens
            counts[entry.texts] += 1
        return [row[:n] for row, n in zip(tokens.tolist(), counts.tolist(), strict=True)]

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
