"""Recordings and paper: places and windows are what plain loops say."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.layouts.program import ProgramLayout
from curta.programs.machine import Answer, Given, Paper, Program, ProgramError, Sign, program
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.paper import Vocabulary
from curta.programs.machine.recording import (
    RecordedWindows,
    Recording,
    Squares,
    WindowTable,
    recorded_windows,
)
from curta.programs.machine.survey import machine_of
from tests import paper


@program(
    "wandering",
    axes=("place", "row"),
    prompt=(Given("number", "place", everywhere=("row",)), Sign("=")),
    answer=Answer("answer"),
    broadcast={"row sign": ("place",)},
)
def wandering(paper: Paper, number: list[int]) -> None:
    """Rows at random squares: a different text each time, for tests of what is seen."""
    rng = random.Random(str(number))
    for row in range(rng.randint(1, 4)):
        paper.home("place").move(place=rng.randint(-2, 2), row=+1).write("row sign", "|")
        for _ in range(rng.randint(0, 5)):
            paper.move(place=rng.randint(1, 2)).write("answer", rng.randint(0, 9), carry=row % 2)
    paper.end()


def recorded(made: Program, seed: int = 0) -> tuple[Machine, list[tuple[list[int], int]]]:
    """The machine of a program, and its texts for random numbers: tokens, and the prompt's."""
    rng, vocabulary = random.Random(seed), Vocabulary()
    texts = [made.record((rng.randrange(10 ** rng.randint(1, 6)),), vocabulary) for _ in range(8)]
    return machine_of([made], vocabulary.tokens), texts


WINDOWS: Windows = {
    "equals": (("number", (1, 1)), ("row sign", (0, -1))),
    "row sign": (("number", (0, 0)), ("answer", (1, -1)), ("row sign", (0, -1))),
    "answer": (("answer", (-1, 0)), ("row sign", (0, 0)), ("answer", (1, -1)), ("end", (0, 0))),
}


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_places_and_windows_are_those_of_plain_loops(seed: int) -> None:
    machine, texts = recorded(wandering, seed)
    layout = ProgramLayout(machine, WINDOWS)
    places = [square for tokens, _ in texts for square in paper.squares(layout, tokens)]
    recording = Recording.of(texts)
    assert machine.positions(recording.tokens).tolist() == [*map(list, places)]
    seen = recorded_windows(machine, recording, WINDOWS)
    ends = [(number, end) for number, (tokens, prompt) in enumerate(texts)
            for end in range(prompt, len(tokens))]  # fmt: skip
    windows = [paper.window(layout, texts[number][0][:end]) for number, end in ends]
    assert seen.rows.tolist() == [*map(list, windows)]
    assert seen.targets.tolist() == [texts[number][0][end] for number, end in ends]
    assert seen.text.tolist() == [number for number, _ in ends]


@program(
    "twice", axes=("place",), prompt=(Given("number", "place"), Sign("=")), answer=Answer("answer")
)
def twice(paper: Paper, number: list[int]) -> None:
    """Two digits on one square."""
    paper.move(place=+1).write("answer", 1).write("answer", 2).end()


def test_a_square_that_is_written_twice_by_one_role_is_an_error() -> None:
    machine, texts = recorded(twice)
    with pytest.raises(
        ProgramError, match=r"role 'answer' is written twice on one square \(place 0"
    ):
        Squares(machine, Recording.of(texts))


def windows(*rows: tuple[int, int, int], text: list[int] | None = None) -> RecordedWindows:
    """Windows of two cells, each with its target."""
    array = np.array(rows, np.int32).reshape(-1, 3)
    return RecordedWindows(array[:, :2], array[:, 2], np.array(text or [0] * len(rows), np.int64))


@given(rows=st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.just(0)), min_size=1, max_size=40))
def test_distinct_windows_are_those_of_a_set(rows: list[tuple[int, int, int]]) -> None:
    table = WindowTable(2)
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        table.add(windows(*part))
    assert {tuple(row) for row in table.rows.tolist()} == {row[:2] for row in rows}
    assert len(table) == len({row[:2] for row in rows})
    assert table.counts.sum() == len(rows)


def test_a_program_that_never_ends_is_stopped() -> None:
    sheet = Paper(("place", "row"), Vocabulary(), limit=10)
    for _ in range(10):
        sheet.write("sum", 0)
    with pytest.raises(ProgramError, match=r"more than 10 tokens were written \(does it"):
        sheet.write("sum", 0)
