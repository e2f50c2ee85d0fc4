"""Writing texts on squared paper, with any function from windows to tokens.

`write` goes token by token over many texts at once, `write_one` over a single one; both write
the same. Squares are written where the machine says, and the newest token counts if a
wrong function writes on a square twice.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Int

from .machine import Machine, Windows

Look = Callable[[Int[np.ndarray, "queries cells"]], Int[np.ndarray, " queries"]]
"""The token that follows each window."""

SPARE = 4
"""Squares that are kept free around those in use, at least."""


def limit_of(prompt: int) -> int:
    """Tokens after which a text is given up: more than any program here writes."""
    return 1_000 + 40 * prompt * prompt


def write_one(
    machine: Machine, windows: Windows, look: Look, prompt: Sequence[int], limit: int = 0
) -> list[int]:
    """What follows one prompt, the end included unless the limit comes first."""
    near, square = _near(machine, windows), _squares(machine)
    cells, none = 1 + max(map(len, windows.values()), default=0), len(machine.tokens)
    known: dict[tuple[int, ...], int] = {}
    held: dict[tuple[int, ...], int] = {}
    position = (0,) * len(machine.axes)
    for token in prompt:
        position = _advanced(machine, position, token)
        held[square(int(machine.role[token]), position)] = token
    written, token = [], prompt[-1]
    for _ in range(limit or limit_of(len(prompt))):
        found = [
            held.get(square(role, tuple(map(sum, zip(position, moved, strict=True)))), none)
            for role, moved in near[int(machine.role[token])]
        ]
        window = (token, *found, *[none] * (cells - 1 - len(found)))
        if window not in known:
            known[window] = int(look(np.array([window], np.int32))[0])
        token = known[window]
        written.append(token)
        if token == machine.end:
            break
        position = _advanced(machine, position, token)
        held[square(int(machine.role[token]), position)] = token
    return written


def _near(machine: Machine, windows: Windows) -> list[list[tuple[int, tuple[int, ...]]]]:
    """For each role, its neighbours with roles as numbers."""
    names = {role.name: number for number, role in enumerate(machine.roles)}
    return [
        [(names[other], moved) for other, moved in windows.get(role.name, ())]
        for role in machine.roles
    ]


def _squares(machine: Machine) -> Callable[[int, tuple[int, ...]], tuple[int, ...]]:
    """The address of a role and a position: axes on which it is everywhere do not count."""
    wide = machine.wide.tolist()
    return lambda role, at: (role, *(0 if w else x for w, x in zip(wide[role], at, strict=True)))


def _advanced(machine: Machine, position: tuple[int, ...], token: int) -> tuple[int, ...]:
    return tuple(machine.advance(np.array(position), np.array(token)).tolist())


def write(
    machine: Machine,
    windows: Windows,
    look: Look,
    prompts: Sequence[Sequence[int]],
    limit: int = 0,
) -> list[list[int]]:
    """As `write_one`, for many prompts at once."""
    sheet, going = _Sheet(machine, windows, prompts), np.arange(len(prompts))
    limits = np.array([limit or limit_of(len(prompt)) for prompt in prompts])
    for step in range(int(limits.max())):
        tokens = look(sheet.windows(going))
        sheet.write(going, tokens)
        going = going[(tokens != machine.end) & (limits[going] > step + 1)]
        if not len(going):
            break
    return sheet.written()


class _Sheet:
    """Texts while they are written: all tokens so far, and a table of the squares they stand on.

    The table's axes are text and address; an address is a role, and its square within the span
    of squares in use. It is laid out anew, twice as wide, where a text leaves it.
    """

    def __init__(
        self, machine: Machine, windows: Windows, prompts: Sequence[Sequence[int]]
    ) -> None:
        self.machine, self.near = machine, _near(machine, windows)
        self.cells = 1 + max(map(len, windows.values()), default=0)
        self.seen = np.zeros(len(machine.roles), bool)
        self.seen[[role for near in self.near for role, _ in near]] = True
        self.prompts = np.array([len(prompt) for prompt in prompts])
        self.length = self.prompts.copy()
        most = int(self.prompts.max())
        self.tokens = np.full((len(prompts), 2 * most + 16), -1, np.int32)
        flat = np.concatenate([np.asarray(prompt, np.int32) for prompt in prompts])
        where = machine.positions(flat)
        there = np.arange(self.tokens.shape[1]) < self.prompts[:, None]
        self.tokens[there] = flat
        self.places = np.zeros((*self.tokens.shape, len(machine.axes)), np.int32)
        self.places[there] = where
        self.position = where[np.cumsum(self.prompts) - 1].astype(np.int64)
        self._lay_out(where.min(axis=0), where.max(axis=0))

    def windows(self, going: Int[np.ndarray, " texts"]) -> Int[np.ndarray, "texts cells"]:
        """What the last token of each of these texts sees."""
        none = len(self.machine.tokens)
        rows = np.full((len(going), self.cells), none, np.int32)
        rows[:, 0] = self.tokens[going, self.length[going] - 1]
        roles = self.machine.role[rows[:, 0]]
        for role in np.unique(roles).tolist():
            mine = np.flatnonzero(roles == role)
            for cell, (other, moved) in enumerate(self.near[role], 1):
                wanted = self.position[going[mine]] + np.asarray(moved)
                address, inside = self._address(np.full(len(mine), other), wanted)
                rows[mine, cell] = np.where(
                    inside, self.table[going[mine], np.where(inside, address, 0)], none
                )
        return rows

    def write(self, going: Int[np.ndarray, " texts"], tokens: Int[np.ndarray, " texts"]) -> None:
        """Writes a token in each of these texts."""
        if int(self.length.max()) == self.tokens.shape[1]:
            self.tokens = np.concatenate([self.tokens, np.full_like(self.tokens, -1)], axis=1)
            self.places = np.concatenate([self.places, np.zeros_like(self.places)], axis=1)
        self.position[going] = self.machine.advance(self.position[going], tokens)
        self.tokens[going, self.length[going]] = tokens
        self.places[going, self.length[going]] = self.position[going]
        self.length[going] += 1
        self._enter(going, tokens, self.position[going])

    def written(self) -> list[list[int]]:
        """What was written after each prompt."""
        ends = zip(self.tokens, self.prompts.tolist(), self.length.tolist(), strict=True)
        return [row[start:stop].tolist() for row, start, stop in ends]

    def _enter(self, texts: np.ndarray, tokens: np.ndarray, position: np.ndarray) -> None:
        role = self.machine.role[tokens]
        address, inside = self._address(role, position)
        keep = self.seen[role]
        if not np.all(inside | ~keep):
            low, high = position[keep].min(0), position[keep].max(0)
            self._lay_out(np.minimum(low, self.low), np.maximum(high, self.high))
            return
        self.table[texts[keep], address[keep]] = tokens[keep]

    def _lay_out(self, low: np.ndarray, high: np.ndarray) -> None:
        """A table for squares from low to high and as many again, with all that was written."""
        span = high - low + 1
        self.low, self.high = low - SPARE, high + span + SPARE
        sizes = np.where(self.machine.wide, 1, self.high - self.low + 1)
        self.strides = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1] // sizes * ~self.machine.wide
        ends = np.cumsum(np.prod(sizes, axis=1) * self.seen)
        self.begins = np.concatenate([[0], ends[:-1]])
        none = len(self.machine.tokens)
        self.table = np.full((len(self.tokens), max(1, int(ends[-1]))), none, np.int32)
        texts, times = np.nonzero(np.arange(self.tokens.shape[1]) < self.length[:, None])
        self._enter(texts, self.tokens[texts, times], self.places[texts, times])

    def _address(
        self, role: Int[np.ndarray, " n"], position: Int[np.ndarray, "n axes"]
    ) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        inside = (position >= self.low) & (position <= self.high)
        address = self.begins[role] + np.sum((position - self.low) * self.strides[role], axis=1)
        return address, np.all(inside | self.machine.wide[role], axis=1)
