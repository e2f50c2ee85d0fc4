"""Recorded texts as flat arrays, and the windows of their tokens.

A query is a token after which the program writes another one. Its window is its own token, then
each neighbour's token or none. Axes: `time`, all tokens of all texts, end to end; `queries`; and
`cells`, the query and its neighbours.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, UInt

from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.paper import ProgramError

QueryNumbers = Int[np.ndarray, " queries"]
Rows = Int[np.ndarray, "queries cells"]
Spans = Int[np.ndarray, "roles axes"]

MOST = 1 << 30
"""Most squares, over all texts of a recording, that a table may have."""

SQUARES = 1 << 24
"""Squares that are laid out at once; more texts are processed in parts."""


class Recording(NamedTuple):
    """Texts end to end: their tokens, the text of each token, and which tokens are queries."""

    tokens: Int[np.ndarray, " time"]
    text: Int[np.ndarray, " time"]
    is_query: Bool[np.ndarray, " time"]

    @classmethod
    def of(cls, texts: Sequence[tuple[Sequence[int], int]]) -> "Recording":
        """Return the recording of texts, each its tokens and the length of its prompt.

        The prompt's last token and everything after it but the end are queries:

        >>> Recording.of([([1, 2, 3, 4, 5], 3), ([6, 7], 1)]).is_query.astype(int).tolist()
        [0, 0, 1, 1, 0, 1, 0]
        """
        lengths = np.array([len(tokens) for tokens, _ in texts], np.int64)
        tokens = np.concatenate([np.asarray(tokens, np.int32) for tokens, _ in texts])
        text = np.repeat(np.arange(len(texts)), lengths)
        ends = np.cumsum(lengths)
        place = np.arange(len(tokens)) - (ends - lengths)[text]
        prompts = np.array([prompt for _, prompt in texts])
        is_query = (place >= prompts[text] - 1) & (place < lengths[text] - 1)
        return cls(tokens, text, is_query)

    @property
    def texts(self) -> int:
        return int(self.text[-1]) + 1 if len(self.text) else 0

    def pieces(self, size: int) -> Iterator["Recording"]:
        """Yield pieces of whole texts, of about `size` tokens each.

        >>> texts = Recording.of([([1, 2], 1), ([3, 4], 1), ([5, 6], 1)])
        >>> [piece.tokens.tolist() for piece in texts.pieces(size=4)]
        [[1, 2, 3, 4], [5, 6]]
        """
        begins = np.flatnonzero(np.diff(self.text, prepend=-1))
        first = 0
        while first < len(begins):
            start = begins[first]
            last = max(first + 1, int(np.searchsorted(begins, start + size, "right")) - 1)
            stop = begins[last] if last < len(begins) else len(self.tokens)
            piece = Recording(*(part[start:stop] for part in self))
            yield piece._replace(text=piece.text - piece.text[0])
            first = last


class RecordedWindows(NamedTuple):
    """The window of every query of a recording, and the token that follows it."""

    rows: Rows
    """Tokens; an empty cell has the size of the vocabulary."""
    targets: QueryNumbers
    text: QueryNumbers


class SquareTable:
    """A number on each square of squared paper, as one row of numbers for each text.

    In it every role has a block of squares: `span` of them on each axis from `low` on, with an edge
    around them. Axes on which a role is broadcast do not count. One role on places -1..3, whose
    block is 7 squares long:

    >>> table = SquareTable(np.array([[False]]), np.array([[-1]]), np.array([[5]]), texts=2)
    >>> table.address(0, np.array([[-1], [3], [4]]), np.array([0, 1, 1])).tolist()
    [1, 12, 13]
    """

    def __init__(
        self, broadcast: Bool[np.ndarray, "roles axes"], low: Spans, span: Spans, texts: int
    ) -> None:
        sizes = np.where(broadcast, 1, span + 2)  # roles axes
        self.low, self.high = low - 1, low + span  # the edge on either side
        # A block of 7 x 5 squares has strides 5 and 1: neighbours on the last axis are adjacent.
        self.strides = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1] // sizes * (sizes > 1)
        # `begins` is the address of square 0, which may lie before the block.
        ends = np.cumsum(np.prod(sizes, axis=1))
        self.begins = ends - np.prod(sizes, axis=1) - np.sum(self.strides * self.low, axis=1)
        self.size = int(ends[-1])  # squares of one text
        self.squares = self.size * texts

    def address(self, role: Any, position: np.ndarray, text: np.ndarray) -> np.ndarray:
        """Return the address of each square, within the edge; positions have axes last."""
        address = self.begins[role] + text * self.size
        for axis, strides in enumerate(self.strides.T):
            address = address + position[..., axis] * strides[role]
        return address


class Squares:
    """Which token stands on which square of a recording.

    Raises ProgramError where two tokens of one role stand on one square.
    """

    def __init__(self, machine: Machine, recording: Recording) -> None:
        self.machine, self.recording = machine, recording
        self.position = np.asfortranarray(machine.positions(recording.tokens))  # time axes
        role, time = machine.role[recording.tokens], np.arange(len(recording.tokens))

        # For each role that occurs, its lowest square on every axis and the span up to its highest:
        # squares -1, 3 and 0 have lowest square -1 and span 5.
        order = np.argsort(role, kind="stable")
        present, first = np.unique(role[order], return_index=True)
        low, span = np.zeros((2, *machine.broadcast_mask.shape), np.int64)
        low[present] = np.minimum.reduceat(self.position[order], first, axis=0)
        high = np.maximum.reduceat(self.position[order], first, axis=0)
        span[present] = high - low[present] + 1
        self.table = SquareTable(machine.broadcast_mask, low, span, recording.texts)
        if self.table.squares > MOST:
            raise ProgramError("tokens of one text stand too far apart: move by fewer squares")

        address = self.table.address(role, self.position, recording.text)  # time
        # The index of the token on each square; beyond the last one if it is empty.
        self.time = np.full(self.table.squares, len(time), np.int32)
        self.time[address] = time
        twice = np.flatnonzero(self.time[address] != time)
        if len(twice):
            token = machine.tokens[recording.tokens[twice[0]]]
            everywhere = dict(machine.roles).get(token.role, ())
            squares = zip(machine.axes, self.position[twice[0]].tolist(), strict=True)
            where = ", ".join(f"{axis} {at}" for axis, at in squares if axis not in everywhere)
            raise ProgramError(
                f"role {token.role!r} is written twice on one square ({where or 'everywhere'}):"
                " move before writing again, or use another role"
            )

    def find(self, query: QueryNumbers, role: int, displacement: Sequence[int]) -> QueryNumbers:
        """Return the token of a role at a displacement from each query, or the empty cell.

        Tokens written after the query do not count. In `12+34=` the query `=` stands on square -1,
        and one square on stands `2` of the first operand.
        """
        table = self.table
        address = self.recording.text[query] * table.size + table.begins[role]
        for axis in np.flatnonzero(table.strides[role]).tolist():
            square = self.position[query, axis] + displacement[axis]
            square = np.clip(square, table.low[role, axis], table.high[role, axis])
            address += square * table.strides[role, axis]
        time = self.time[address]  # the edge is empty
        is_seen, empty = time <= query, len(self.machine.tokens)
        return np.where(is_seen, self.recording.tokens[np.where(is_seen, time, 0)], empty)


def recorded_windows(machine: Machine, recording: Recording, windows: Windows) -> RecordedWindows:
    """Return the windows of all queries.

    Raises ProgramError where two tokens of one role stand on one square.
    """
    blocks, texts = list[RecordedWindows](), 0
    for part in recording.pieces(SQUARES // (16 * len(machine.roles))):
        squares, query = Squares(machine, part), np.flatnonzero(part.is_query)
        # A row per query: its own token, then each neighbour's; at first, all neighbours are empty.
        rows = np.full((len(query), cells_of(windows)), len(machine.tokens), np.int32)
        rows[:, 0] = part.tokens[query]
        query_role = machine.role[rows[:, 0]]
        for role, near in enumerate(machine.neighbours(windows)):
            of_role = np.flatnonzero(query_role == role)
            for cell, (other, displacement) in enumerate(near, 1):
                rows[of_role, cell] = squares.find(query[of_role], other, displacement)
        blocks.append(RecordedWindows(rows, part.tokens[query + 1], part.text[query] + texts))
        texts += part.texts
    return RecordedWindows(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def find_query(
    machine: Machine,
    windows: Windows,
    text: tuple[Sequence[int], int],
    row: Sequence[int],
    target: int | None = None,
) -> int:
    """Return where in a text the query of a window stands, in tokens; -1 if nowhere.

    With a `target`, the query that is followed by it.
    """
    recording = Recording.of([text])
    recorded = recorded_windows(machine, recording, windows)
    same = (recorded.rows == np.array(row)).all(axis=1)
    if target is not None:
        same &= recorded.targets == target
    places = np.flatnonzero(recording.is_query)[same]
    return int(places[0]) if len(places) else -1


# Distinct windows. They are matched by a 64-bit hash, and every match is compared cell by cell,
# so a collision is an error and never a wrong answer.

ODD = np.random.default_rng(0x43757274).integers(0, 1 << 63, 64, np.uint64) * np.uint64(2) + (
    np.uint64(1)
)
"""A random odd number for each cell of a window, see `fingerprint`."""


class Conflict(NamedTuple):
    """A window that two recorded texts continue differently."""

    row: tuple[int, ...]
    targets: tuple[int, int]
    texts: tuple[int, int]


class WindowIndex:
    """Distinct windows, numbered in order of entry."""

    def __init__(self, cells: int) -> None:
        self.rows = np.zeros((0, cells), np.int32)
        self._codes = np.zeros(0, np.uint64)  # the hashes of all windows, sorted
        self._order = np.zeros(0, np.int64)  # the number of the window with each hash

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, rows: Rows) -> QueryNumbers:
        """Return the number of each window, -1 for an unknown one.

        >>> index = WindowIndex(cells=2)
        >>> index.enter(np.array([[4, 5], [6, 7]]))
        >>> index.find(np.array([[6, 7], [6, 8]])).tolist()
        [1, -1]
        """
        if not len(self):
            return np.full(len(rows), -1)
        codes = fingerprint(rows)
        place = np.minimum(np.searchsorted(self._codes, codes), len(self) - 1)
        number, same = self._order[place], self._codes[place] == codes
        assert np.array_equal(self.rows[number[same]], rows[same]), "two windows with one hash"
        return np.where(same, number, -1)

    def enter(self, rows: Int[np.ndarray, "windows cells"]) -> None:
        """Enter unknown windows, each given once."""
        self.rows = np.concatenate([self.rows, rows])
        codes = fingerprint(self.rows)
        self._order = np.argsort(codes, kind="stable")
        self._codes = codes[self._order]

    def number(self, rows: Rows) -> QueryNumbers:
        """Return the number of each window; new ones are entered in the order of their hashes.

        >>> WindowIndex(cells=2).number(np.array([[4, 5], [6, 7], [4, 5]], np.int32)).tolist()
        [1, 0, 1]
        """
        rows = rows.astype(np.int32, copy=False)
        first, inverse = distinct(rows)
        number = self.find(rows[first])
        fresh = number < 0
        if fresh.any():
            number[fresh] = len(self) + np.arange(fresh.sum())
            self.enter(rows[first[fresh]])
        return number[inverse]


class WindowTable(WindowIndex):
    """Distinct windows with the token that follows each, and how often each was seen."""

    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.targets = np.zeros(0, np.int32)
        self.counts = np.zeros(0, np.int64)
        self.example = np.zeros(0, np.int64)
        """The first text in which each window was seen."""
        self.texts = np.zeros(0, np.int64)
        """The number of texts in which each window was seen."""
        self.conflicts: list[Conflict] = []
        self._all_texts = 0

    def add(self, seen: RecordedWindows) -> QueryNumbers:
        """Count all windows, enter the new ones in hash order, and return their numbers.

        >>> rows, table = np.array([[4, 5], [6, 7], [4, 5]], np.int32), WindowTable(cells=2)
        >>> seen = RecordedWindows(rows, targets=np.array([1, 2, 1]), text=np.array([0, 0, 1]))
        >>> table.add(seen).tolist()
        [1, 0, 1]
        >>> table.counts.tolist(), table.texts.tolist()
        ([1, 2], [1, 2])
        """
        before, number_of_query = len(self), self.number(seen.rows)
        number, first = np.unique(number_of_query, return_index=True)
        first = first[number >= before]  # where each new window is first seen
        self.targets = np.append(self.targets, seen.targets[first])
        self.example = np.append(self.example, seen.text[first] + self._all_texts)
        # A conflict for each window that is followed by another token than its target.
        differs = np.flatnonzero(self.targets[number_of_query] != seen.targets)
        _, once = np.unique(number_of_query[differs], return_index=True)
        for place in differs[once].tolist():
            window = int(number_of_query[place])
            self.conflicts.append(
                Conflict(
                    tuple(self.rows[window].tolist()),
                    (int(self.targets[window]), int(seen.targets[place])),
                    (int(self.example[window]), int(seen.text[place]) + self._all_texts),
                )
            )
        # Windows 3, 3, 5 in texts 0, 0, 1: distinct pairs (3, 0) and (5, 1).
        pairs = np.unique(number_of_query.astype(np.int64) << 32 | seen.text)
        counts = np.bincount(number_of_query, minlength=len(self))
        texts = np.bincount(pairs >> 32, minlength=len(self))
        counts[: len(self.counts)] += self.counts
        texts[: len(self.texts)] += self.texts
        self.counts, self.texts = counts, texts
        self._all_texts += int(seen.text.max(initial=-1)) + 1
        return number_of_query


def distinct(rows: Rows) -> tuple[Int[np.ndarray, " windows"], QueryNumbers]:
    """Return where each distinct window first occurs, and which of them each query has.

    >>> first, inverse = distinct(np.array([[4, 5], [4, 5], [6, 7]]))
    >>> bool(np.isin(first, [0, 2]).all()), bool(inverse[0] == inverse[1])
    (True, True)
    """
    codes = fingerprint(rows)
    # As np.unique does it, but without its stable sort, which takes twice as long. Sorted codes
    # 3 3 8 begin new windows at 0 and 2, so the three queries have windows 0, 0 and 1.
    order = np.argsort(codes)
    ordered = codes[order]
    begins = np.flatnonzero(np.append(ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]))
    first = np.minimum.reduceat(order, begins) if len(rows) else order
    inverse = np.empty_like(order)
    inverse[order] = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(rows)))
    assert np.array_equal(rows[first][inverse], rows), "two windows with one hash"
    return first, inverse


def fingerprint(rows: Rows) -> UInt[np.ndarray, " queries"]:
    """Hash each window, cell by cell: xor, multiply by an odd number, xor in the top bits."""
    code = np.zeros(len(rows), np.uint64)
    for cell in range(rows.shape[1]):
        code = (code ^ (rows[:, cell].astype(np.uint64) + np.uint64(1))) * ODD[cell]
        code ^= code >> np.uint64(29)
    return code
