"""What programs write, by windows of what they wrote before: many texts at once.

What follows a window is always the same, so a text can be written from the windows of texts that
were recorded earlier. The program itself is run only for texts with a window that is new: some
hundreds of a million.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from curta.problems.problem import Problem
from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.program import Text
from curta.programs.machine.recording import Queries, Recording, Rows, Seen, seen
from curta.programs.machine.sheet import Prompts
from curta.programs.machine.table import WindowTable, distinct
from curta.programs.machine.writing import write_all

Record = Callable[[int], Text]
"""The text of the problem of that number, and how many of its tokens are the prompt's."""

FEWEST = 64
"""Texts for which it pays to write side by side: a step costs what recording 50 tokens does."""


class Recalled(NamedTuple):
    """The windows of some texts, by their numbers in the table, in any order."""

    window: Queries
    text: Queries


class Recall:
    """A table of windows that grows with the texts that are asked for."""

    def __init__(self, machine: Machine, windows: Windows) -> None:
        self.machine, self.windows = machine, windows
        self.table = WindowTable(cells_of(windows))
        self.met: dict[int, Problem] = {}
        """One problem for each window that was new, by the window's number in the table."""

    def know(self, rows: Rows, targets: Queries) -> None:
        """Enters windows that were recorded elsewhere, with what follows them."""
        self.table.add(Seen(rows, targets, np.zeros(len(rows), np.int64)))

    def of(
        self,
        prompts: Sequence[Sequence[int]],
        record: Record,
        right: Callable[[int, list[int]], bool],
    ) -> Recalled:
        """The windows of the text after each prompt.

        `right` says whether what was recalled has the right answer. If it has not, windows are
        no functions, and the text is recorded.
        """
        if len(prompts) < FEWEST:
            return self._recorded(range(len(prompts)), record)
        found: list[Recalled] = []
        lost = set[int]()

        def look(rows: Rows, texts: Queries) -> Queries:
            number = self.table.find(rows)
            new = np.flatnonzero(number < 0)
            if len(new):
                first, _ = distinct(rows[new])
                self._recorded(texts[new[first]].tolist(), record)
                number = self.table.find(rows)
                lost.update(texts[number < 0].tolist())
            found.append(Recalled(number, texts))
            return np.where(number < 0, self.machine.end, self.table.targets[number])

        written = write_all(self.machine, self.windows, look, Prompts.of(prompts)).lists
        wrong = [n for n, tokens in enumerate(written) if n in lost or not right(n, tokens)]
        whole = Recalled(*(np.concatenate(column) for column in zip(*found, strict=True)))
        return self._mended(whole, wrong, record) if wrong else whole

    def _mended(self, whole: Recalled, wrong: list[int], record: Record) -> Recalled:
        """The same with these texts as they are recorded."""
        kept, again = ~np.isin(whole.text, wrong), self._recorded(wrong, record)
        parts = zip((column[kept] for column in whole), again, strict=True)
        return Recalled(*(np.concatenate(pair) for pair in parts))

    def _recorded(self, texts: Sequence[int], record: Record) -> Recalled:
        """The program's own texts; their windows are in the table from now on."""
        recording = Recording.of([record(text) for text in texts])
        shown = seen(self.machine, recording, self.windows)
        return Recalled(self.table.add(shown), np.asarray(texts)[shown.text])
