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
from curta.programs.machine.recording import Blocks, Queries, Rows

NextTokens = Callable[[Rows, Queries], Queries]
"""Return the token after each window, given the windows and the numbers of their texts."""

SPARE = 4
"""Fewest squares by which a table grows on each side."""

ENTRIES = 1 << 26
"""Most squares of a table in memory."""

NOTHING, WASTE = 0, 1
"""Addresses in a table: one that is always empty, one for tokens that no window shows."""


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
    next_tokens: Callable[[Rows], Queries],
    prompts: Sequence[Sequence[int]],
    limit: int = 0,
) -> list[list[int]]:
    """Complete each prompt by a function of windows alone; see `complete`."""
    follow: NextTokens = lambda rows, _: next_tokens(rows)
    return complete(machine, windows, follow, Prompts.of(prompts), limit).lists


def complete(
    machine: Machine,
    windows: Windows,
    next_tokens: NextTokens,
    prompts: Prompts,
    limit: int = 0,
) -> Completions:
    """Complete each prompt, up to and including the end token, or to `limit` tokens.

    Texts whose squares do not fit into one table are written in two halves.
    """
    flat, lengths = prompts
    count, last = len(lengths), np.cumsum(lengths) - 1
    limits = np.array([limit or limit_of(length) for length in lengths.tolist()])
    squares = machine.positions(flat)
    history = [WrittenTokens(np.repeat(np.arange(count), lengths), flat, squares)]
    active = WrittenTokens(np.arange(count), flat[last], squares[last])
    low, high = squares.min(axis=0), squares.max(axis=0)
    edge = SPARE * (high > low)  # none on axes that are not in use
    low, high = low - edge, 2 * high - low + edge
    table = SquareTable.of(machine, windows, history, active.texts, low, high)
    for step in range(int(limits.max())):
        below, above = active.position.min(axis=0) < low, active.position.max(axis=0) > high
        if below.any() or above.any():
            # Twice as wide on each side that a pen has left, so tables are laid out seldom.
            more = high - low + SPARE
            low = np.where(below, np.minimum(active.position.min(axis=0), low - more), low)
            high = np.where(above, np.maximum(active.position.max(axis=0), high + more), high)
            table = SquareTable.of(machine, windows, history, active.texts, low, high)
        elif step and table is not None:
            table.enter(active)
        if table is None:
            return _in_halves(machine, windows, next_tokens, prompts, limit)
        tokens = next_tokens(table.windows(active), active.texts)
        newest = WrittenTokens(active.texts, tokens, machine.advance(active.position, tokens))
        history.append(newest)
        goes_on = (tokens != machine.end) & (limits[active.texts] > step + 1)
        if not goes_on.any():
            break
        active = newest if goes_on.all() else WrittenTokens(*(column[goes_on] for column in newest))
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


class SparseSquares:
    """Squares of a single text that goes very far, of which few are in use."""

    def __init__(self, none: int) -> None:
        self.none, self.tokens = none, dict[int, int]()

    def __setitem__(self, address: Int[np.ndarray, " n"], tokens: Int[np.ndarray, " n"]) -> None:
        self.tokens.update(zip(address.tolist(), tokens.tolist(), strict=True))

    def take(self, address: Int[np.ndarray, "n cells"]) -> Int[np.ndarray, "n cells"]:
        rows = [[self.tokens.get(at, self.none) for at in row] for row in address.tolist()]
        return np.array(rows, np.int32).reshape(address.shape)


class SquareTable:
    """The newest token of each role on every square of some texts.

    Each text has a row of numbers, with a block for each role that windows show. A neighbour's
    address is that of the query's square in the neighbour's block, and a fixed number more. Blocks
    go farther than the pens, by as much as others look for their role.
    """

    def __init__(
        self, machine: Machine, windows: Windows, blocks: Blocks, visible: np.ndarray, count: int
    ) -> None:
        self.machine, self.size = machine, blocks.size
        begins, strides = np.where(visible, blocks.begins, WASTE), blocks.strides * visible[:, None]
        self.blocks = Blocks(begins, strides, blocks.size)
        self.tokens: Int[np.ndarray, " squares"] | SparseSquares
        if count * blocks.size <= ENTRIES:
            self.tokens = np.full(count * blocks.size, len(machine.tokens), np.int32)
        else:
            self.tokens = SparseSquares(len(machine.tokens))
        # Addresses of neighbours: begins + position · strides, by role and cell.
        shape = (len(machine.roles), cells_of(windows) - 1)
        self.near_begins = np.full(shape, NOTHING)
        self.near_strides = np.zeros((len(machine.axes), *shape), np.int64)
        for role, near in enumerate(machine.neighbours(windows)):
            for cell, (other, moved) in enumerate(near):
                self.near_begins[role, cell] = begins[other] + strides[other] @ moved
                self.near_strides[:, role, cell] = strides[other]

    @classmethod
    def of(
        cls,
        machine: Machine,
        windows: Windows,
        history: Sequence[WrittenTokens],
        active: Int[np.ndarray, " texts"],
        low: Int[np.ndarray, " axes"],
        high: Int[np.ndarray, " axes"],
    ) -> "SquareTable | None":
        """Return a table of squares from low to high with what was written in texts that go on.

        None if several texts have more than ENTRIES squares.
        """
        reach = np.zeros(machine.broadcast_mask.shape, np.int64)  # roles axes
        visible = np.zeros(len(machine.roles), bool)
        for role, moved in chain.from_iterable(machine.neighbours(windows)):
            reach[role], visible[role] = np.maximum(reach[role], np.abs(moved)), True
        sizes = np.where(machine.broadcast_mask, 1, high - low + 1 + 2 * reach)
        count = len(np.unique(history[0].texts))
        if count > 1 and count * (sizes.astype(float).prod(axis=1) * visible).sum() > ENTRIES:
            return None
        blocks = Blocks.of(low - reach, sizes, visible, first=WASTE + 1)
        table, goes_on = cls(machine, windows, blocks, visible, count), np.zeros(count, bool)
        goes_on[active] = True
        for entry in history:
            table.enter(WrittenTokens(*(column[goes_on[entry.texts]] for column in entry)))
        return table

    def enter(self, entry: WrittenTokens) -> None:
        """Write tokens on their squares."""
        role = self.machine.role[entry.tokens]
        self.tokens[self.blocks.address(role, entry.position, entry.texts)] = entry.tokens

    def windows(self, newest: WrittenTokens) -> Int[np.ndarray, "texts cells"]:
        """Return the window of the newest token of each text, itself first.

        `12+34=`, where `=` has the lowest digits of b and a for neighbours: = 4 2.
        """
        role = self.machine.role[newest.tokens]
        address = self.near_begins[role] + (newest.texts * self.size)[:, None]  # texts neighbours
        for axis, strides in enumerate(self.near_strides):
            address += newest.position[:, axis, None] * strides[role]
        rows = np.empty((len(role), 1 + address.shape[1]), np.int32)
        rows[:, 0] = newest.tokens
        rows[:, 1:] = self.tokens.take(address)
        return rows
