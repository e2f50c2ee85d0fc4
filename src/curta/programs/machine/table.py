"""Distinct windows: each once, with what follows it and how often it was seen.

Windows are told apart by a hash of 64 bits, and every hash that is found is held against the
window itself, so a collision is an error and never a wrong answer.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt

from curta.programs.machine.recording import Queries, RecordedWindows, Rows

ODD = np.random.default_rng(0x43757274).integers(0, 1 << 63, 64, np.uint64) * np.uint64(2) + (
    np.uint64(1)
)


class Conflict(NamedTuple):
    """A window after which two different tokens were recorded, and in which texts."""

    row: tuple[int, ...]
    targets: tuple[int, int]
    texts: tuple[int, int]


class WindowIndex:
    """Windows, each with a number in the order in which they were entered."""

    def __init__(self, cells: int) -> None:
        self.rows = np.zeros((0, cells), np.int32)
        self._codes = np.zeros(0, np.uint64)
        self._order = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, rows: Rows) -> Queries:
        """The number of each window; -1 for one that is not here.

        >>> index = WindowIndex(cells=2)
        >>> index.enter(np.array([[4, 5], [6, 7]]))
        >>> index.find(np.array([[6, 7], [6, 8]])).tolist()
        [1, -1]
        """
        if not len(self):
            return np.full(len(rows), -1)
        codes = fingerprint(rows)
        place = np.minimum(np.searchsorted(self._codes, codes), len(self) - 1)
        number, known = self._order[place], self._codes[place] == codes
        assert np.array_equal(self.rows[number[known]], rows[known]), "two windows with one hash"
        return np.where(known, number, -1)

    def enter(self, rows: Int[np.ndarray, "windows cells"]) -> None:
        """Enters windows that are not here yet, each once."""
        self.rows = np.concatenate([self.rows, rows])
        codes = fingerprint(self.rows)
        self._order = np.argsort(codes, kind="stable")
        self._codes = codes[self._order]


class WindowTable(WindowIndex):
    """Windows with what follows them, and how often and in how many texts they were seen."""

    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.targets = np.zeros(0, np.int32)
        self.counts = np.zeros(0, np.int64)
        self.example = np.zeros(0, np.int64)
        """The first text in which each window was seen."""
        self.texts = np.zeros(0, np.int64)
        """In how many texts."""
        self.conflicts: list[Conflict] = []
        self._all_texts = 0

    def add(self, seen: RecordedWindows) -> Queries:
        """Counts all windows, enters the new ones, in the order of their hashes; their numbers.

        >>> rows, table = np.array([[4, 5], [6, 7], [4, 5]], np.int32), WindowTable(cells=2)
        >>> shown = RecordedWindows(rows, targets=np.array([1, 2, 1]), text=np.array([0, 0, 1]))
        >>> table.add(shown).tolist()
        [1, 0, 1]
        >>> table.counts.tolist(), table.texts.tolist()
        ([1, 2], [1, 2])
        """
        first, inverse = distinct(seen.rows)
        rows, targets = seen.rows[first], seen.targets[first]
        number = self.find(rows)
        new = number < 0
        number[new] = len(self) + np.arange(new.sum())
        self.enter(rows[new])
        self.targets = np.append(self.targets, targets[new])
        self.example = np.append(self.example, seen.text[first][new] + self._all_texts)
        everyone = number[inverse]
        self._conflict(everyone, seen)
        pairs = np.sort(everyone.astype(np.int64) << 32 | seen.text)
        once = pairs[np.diff(pairs, prepend=-1) > 0]
        self.counts = self._counted(self.counts, everyone)
        self.texts = self._counted(self.texts, once >> 32)
        self._all_texts += int(seen.text.max(initial=-1)) + 1
        return everyone

    def _counted(self, before: np.ndarray, number: Queries) -> Int[np.ndarray, " windows"]:
        """How often each window was counted before, and among these numbers."""
        counts = np.bincount(number, minlength=len(self))
        counts[: len(before)] += before
        return counts

    def _conflict(self, number: Queries, seen: RecordedWindows) -> None:
        differs = np.flatnonzero(self.targets[number] != seen.targets)
        if not len(differs):
            return
        _, first = np.unique(number[differs], return_index=True)
        for place in differs[first].tolist():
            window = int(number[place])
            self.conflicts.append(
                Conflict(
                    tuple(self.rows[window].tolist()),
                    (int(self.targets[window]), int(seen.targets[place])),
                    (int(self.example[window]), int(seen.text[place]) + self._all_texts),
                )
            )


def distinct(rows: Rows) -> tuple[Int[np.ndarray, " windows"], Queries]:
    """Where each distinct window is first, and which of them each query has.

    >>> first, inverse = distinct(np.array([[4, 5], [4, 5], [6, 7]]))
    >>> bool(np.isin(first, [0, 2]).all()), bool(inverse[0] == inverse[1])
    (True, True)
    """
    _, first, inverse = np.unique(fingerprint(rows), return_index=True, return_inverse=True)
    assert np.array_equal(rows[first][inverse], rows), "two windows with one hash"
    return first, inverse


def fingerprint(rows: Rows) -> UInt[np.ndarray, " queries"]:
    """A hash of each window, cell after cell: xor, times an odd number, xor of its own top bits."""
    code = np.zeros(len(rows), np.uint64)
    for cell in range(rows.shape[1]):
        code = (code ^ (rows[:, cell].astype(np.uint64) + np.uint64(1))) * ODD[cell]
        code ^= code >> np.uint64(29)
    return code
