"""Write many texts in lock-step on squared paper, by any function from windows to tokens.

Each step looks up the window of every text's newest token and writes the next token on the square
to which its move leads. If a wrong function writes on a square twice, the newest token counts.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.recording import QueryNumbers, Rows, SquareTable

NextTokens = Callable[[Rows, QueryNumbers], QueryNumbers]
"""Return the token after each window, given the windows and the numbers of their texts."""

SPARE = 4
"""Fewest squares by which a table grows on each side."""

ENTRIES = 1 << 26
"""Most squares of a table in memory."""


class Prompts(NamedTuple):
    """Prompts end to end, and the length of each."""

    tokens: Int[np.ndarray, " time"]
    lengths: Int[np.ndarray, " texts"]

    @classmethod
    def of(cls, prompts: Sequence[Sequence[int]]) -> "Prompts":
        """Return lists of tokens as arrays.

        >>> Prompts.of([[5, 6], [7]])
        Prompts(tokens=array([5, 6, 7], dtype=int32), lengths=array([2, 1]))
        """
        lengths = np.array([len(prompt) for prompt in prompts])
        flat = np.fromiter(chain.from_iterable(prompts), np.int32, int(lengths.sum()))
        return cls(flat, lengths)


class Completions(NamedTuple):
    """The tokens written after each prompt: padded rows, and their lengths."""

    tokens: Int[np.ndarray, "texts steps"]
    counts: Int[np.ndarray, " texts"]

    @property
    def lists(self) -> list[list[int]]:
        """The tokens of each text: of rows 4 5, 6 0 with counts 2, 1 these are [4, 5], [6]."""
        pairs = zip(self.tokens.tolist(), self.counts.tolist(), strict=True)
        return [row[:count] for row, count in pairs]


class WrittenTokens(NamedTuple):
    """Tokens written in one step: the texts and squares on which they stand."""

    texts: Int[np.ndarray, " n"]
    tokens: Int[np.ndarray, " n"]
    position: Int[np.ndarray, "n axes"]


def limit_of(prompt: int) -> int:
    """Return the length at which a text is given up: more than any built-in program writes."""
    return 1_000 + 40 * prompt * prompt


def write(
    machine: Machine,
    windows: Windows,
    next_tokens: Callable[[Rows], QueryNumbers],
    prompts: Sequence[Sequence[int]],
    limit: int = 0,
) -> list[list[int]]:
    """Complete each prompt by a function of windows alone; see `complete`."""
    follow: NextTokens = lambda rows, _: next_tokens(rows)
    return complete(machine, windows, follow, Prompts.of(prompts), limit).lists


class SparseSquares:
    """The tokens on the few squares in use of a single text that goes very far."""

    def __init__(self, empty: int) -> None:
        self.empty, self.tokens = empty, dict[int, int]()

    def __setitem__(self, address: Int[np.ndarray, " n"], tokens: Int[np.ndarray, " n"]) -> None:
        self.tokens.update(zip(address.tolist(), tokens.tolist(), strict=True))

    def __getitem__(self, address: Int[np.ndarray, "n cells"]) -> Int[np.ndarray, "n cells"]:
        rows = [[self.tokens.get(at, self.empty) for at in row] for row in address.tolist()]
        return np.array(rows, np.int32).reshape(address.shape)


def complete(
    machine: Machine, windows: Windows, next_tokens: NextTokens, prompts: Prompts, limit: int = 0
) -> Completions:
    """Complete each prompt, up to and including the end token, or to `limit` tokens.

    Texts whose squares do not fit into one table are written in two halves.
    """
    flat, lengths = prompts
    count, last = len(lengths), np.cumsum(lengths) - 1
    limits = np.array([limit or limit_of(length) for length in lengths.tolist()])
    empty, near = len(machine.tokens), machine.neighbours(windows)

    # The neighbours of each role, and which of these cells it has: roles cells (axes).
    shape = (len(machine.roles), cells_of(windows) - 1)
    near_role, exists = np.zeros(shape, np.int64), np.zeros(shape, bool)
    moved = np.zeros((*shape, len(machine.axes)), np.int64)
    for role, cells in enumerate(near):
        for cell, (other, displacement) in enumerate(cells):
            near_role[role, cell], moved[role, cell] = other, displacement
        exists[role, : len(cells)] = True
    visible = np.isin(np.arange(len(near)), near_role[exists])  # roles that some query sees
    reach = np.abs(moved).max(initial=0)

    # Squares are reserved for roles that stand in some text: of a calculator's, those of one
    # operator. All others share one square each, which stays empty.
    position = machine.positions(flat)
    present = np.isin(np.arange(len(near)), machine.role[flat])
    # `history` has all tokens, step by step; `active` the newest one of each unfinished text.
    history = [WrittenTokens(np.repeat(np.arange(count), lengths), flat, position)]
    active = WrittenTokens(np.arange(count), flat[last], position[last])
    low, high = position.min(axis=0), position.max(axis=0)
    edge = SPARE * (high > low)  # none on axes that are not in use
    low, high = low - edge, 2 * high - low + edge
    table, entering = None, history
    for step in range(int(limits.max())):
        below, above = active.position.min(axis=0) < low, active.position.max(axis=0) > high
        new = machine.role[active.tokens]
        new = new[~present[new]]
        if table is None or below.any() or above.any() or len(new):
            present[new] = True
            # Twice as wide on each side that a pen has left, so tables are laid out seldom.
            more = high - low + SPARE
            low = np.where(below, np.minimum(active.position.min(axis=0), low - more), low)
            high = np.where(above, np.maximum(active.position.max(axis=0), high + more), high)
            # Lay out a larger table, and enter everything written so far.
            unused = ~(visible & present)[:, None]
            span = np.broadcast_to(high - low + 2 * reach + 1, machine.broadcast_mask.shape)
            lowest = np.broadcast_to(low - reach, span.shape)
            table = SquareTable(machine.broadcast_mask | unused, lowest, span, count)
            near_address = table.address(near_role, moved, np.zeros((), np.int64))
            strides = np.moveaxis(table.strides[near_role], -1, 0)  # axes roles cells
            if table.squares > ENTRIES and count > 1:
                return _in_halves(machine, windows, next_tokens, prompts, limit)
            fits = table.squares <= ENTRIES
            squares = np.full(table.squares, empty, np.int32) if fits else SparseSquares(empty)
            entering = history
        for entry in entering:
            role = machine.role[entry.tokens]
            seen = np.flatnonzero(visible[role])
            address = table.address(role[seen], entry.position[seen], entry.texts[seen])
            squares[address] = entry.tokens[seen]

        # `12+34=`, where `=` has the lowest digits of b and a for neighbours: = 4 2.
        role = machine.role[active.tokens]
        address = near_address[role] + (active.texts * table.size)[:, None]
        for axis, of_axis in enumerate(strides):
            address += active.position[:, axis, None] * of_axis[role]
        tokens = squares[address]
        rows = np.column_stack([active.tokens, np.where(exists[role], tokens, empty)])
        tokens = next_tokens(rows, active.texts)
        newest = WrittenTokens(active.texts, tokens, machine.advance(active.position, tokens))
        history.append(newest)
        goes_on = (tokens != machine.end) & (limits[active.texts] > step + 1)
        if not goes_on.any():
            break
        active = newest if goes_on.all() else WrittenTokens(*(column[goes_on] for column in newest))
        entering = [active]
    steps = history[1:]
    rows, counts = np.zeros((count, len(steps)), np.int32), np.zeros(count, int)
    for step, entry in enumerate(steps):
        rows[entry.texts, step] = entry.tokens
        counts[entry.texts] += 1
    return Completions(rows, counts)


def _in_halves(
    machine: Machine, windows: Windows, next_tokens: NextTokens, prompts: Prompts, limit: int
) -> Completions:
    """Return the same as `complete`, half of the texts at a time."""
    half = len(prompts.lengths) // 2
    split = int(prompts.lengths[:half].sum())
    first = Prompts(prompts.tokens[:split], prompts.lengths[:half])
    second = Prompts(prompts.tokens[split:], prompts.lengths[half:])
    later: NextTokens = lambda rows, texts: next_tokens(rows, texts + half)
    halves = [
        complete(machine, windows, next_tokens, first, limit),
        complete(machine, windows, later, second, limit),
    ]
    wide = max(part.tokens.shape[1] for part in halves)
    rows = [np.pad(part.tokens, ((0, 0), (0, wide - part.tokens.shape[1]))) for part in halves]
    return Completions(np.concatenate(rows), np.concatenate([part.counts for part in halves]))
