"""Recalled texts: the windows of recorded ones, from far fewer recordings."""

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from curta.problems.sizes import Sizes
from curta.programs.addition import addition
from curta.programs.machine import Answer, Given, Paper, Program, Sign, program
from curta.programs.machine.paper import Vocabulary
from curta.programs.machine.recall import FEWEST, Recall
from curta.programs.machine.recording import Recording, seen
from tests.programs.machine import machines

COUNT = 3 * FEWEST

Windows = list[Counter[tuple[int, ...]]]
"""How often each text has each window, with what follows it."""


@program("bumpy", axes=("place",), prompt=(Given("a", "place"), Sign("=")), answer=Answer("out"))
def bumpy(paper: Paper, a: list[int]) -> None:
    """The digits again, but another last one for even sums: no function of any window."""
    for digit in a:
        paper.move(place=+1).write("out", digit)
    paper.move(place=+1).write("out", 1 + sum(a) % 2).end()


@cache
def made(of: Program) -> machines.Made:
    count = _operands(of)
    return machines.made(of, Sizes((1, 4), (1, 4), (count, count)))


def _operands(of: Program) -> int:
    return sum(isinstance(part, Given) for part in of.prompt)


class Asked:
    """Problems, and how many of them were recorded."""

    def __init__(self, of: Program, digits: int) -> None:
        self.made, rng = made(of), random.Random(3)
        self.problems = [
            tuple(rng.randrange(1, 10**digits) for _ in range(_operands(of))) for _ in range(COUNT)
        ]
        vocabulary = Vocabulary(self.made.machine.numbers)
        self.texts = [of.record(one, vocabulary) for one in self.problems]
        self.recorded = 0

    def record(self, number: int) -> tuple[list[int], int]:
        self.recorded += 1
        return self.texts[number]

    def right(self, number: int, written: list[int]) -> bool:
        tokens, prompt = self.texts[number]
        return written == tokens[prompt:]

    @property
    def prompts(self) -> list[list[int]]:
        return [tokens[:prompt] for tokens, prompt in self.texts]

    def recalled(self, recall: Recall) -> Windows:
        found = recall.of(self.prompts, self.record, self.right)
        rows, targets = recall.table.rows, recall.table.targets
        shown = zip(found.text.tolist(), rows[found.window], targets[found.window], strict=True)
        return _counted(shown)

    def shown(self) -> Windows:
        every = seen(self.made.machine, Recording.of(self.texts), self.made.windows)
        return _counted(zip(every.text.tolist(), every.rows, every.targets, strict=True))


def _counted(shown: "zip[tuple[int, np.ndarray, int]]") -> Windows:
    found: Windows = [Counter() for _ in range(COUNT)]
    for text, row, target in shown:
        found[text][*row.tolist(), int(target)] += 1
    return found


@pytest.mark.parametrize("of", [addition, machines.turn, machines.compare])
@pytest.mark.parametrize("digits", [3, 9])
def test_windows_are_those_of_recorded_texts(of: Program, digits: int) -> None:
    asked = Asked(of, digits)
    recall = Recall(asked.made.machine, asked.made.windows)
    assert asked.recalled(recall) == asked.shown()
    first = asked.recorded
    assert first > 0
    assert asked.recalled(recall) == asked.shown()
    assert asked.recorded == first, "the second time nothing is new"


def test_most_texts_are_not_recorded() -> None:
    asked = Asked(machines.turn, 4)
    asked.recalled(Recall(asked.made.machine, asked.made.windows))
    assert asked.recorded < COUNT / 3


def test_a_text_that_is_not_what_the_program_writes_is_recorded() -> None:
    asked = Asked(bumpy, 3)
    recall = Recall(asked.made.machine, asked.made.windows)
    asked.recalled(recall)
    assert recall.table.conflicts, "so whoever asks can know that windows are no functions here"


def test_few_texts_are_recorded_at_once() -> None:
    asked = Asked(addition, 3)
    recall = Recall(asked.made.machine, asked.made.windows)
    few = asked.prompts[: FEWEST - 1]
    found = recall.of(few, asked.record, asked.right)
    assert asked.recorded == len(few)
    assert set(found.text.tolist()) == set(range(len(few)))
