"""Recordings: windows are what a dictionary of squares would say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.programs.machine import Answer, Given, Paper, ProgramError, Sign, program
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.recording import Recording, Squares, recorded_windows
from tests.programs.machine.made_up import random_operands, recorded, wandering

WINDOWS: Windows = {
    "equals": (("number", (1, 1)), ("row sign", (0, -1))),
    "row sign": (("number", (0, 0)), ("answer", (1, -1)), ("row sign", (0, -1))),
    "answer": (("answer", (-1, 0)), ("row sign", (0, 0)), ("answer", (1, -1)), ("end", (0, 0))),
}


def by_dictionary(machine: Machine, recording: Recording, windows: Windows) -> list[list[int]]:
    """The windows of all queries, one token after the other."""
    none, rows = len(machine.tokens), []
    cells = 1 + max(map(len, windows.values()))
    broadcast = dict(machine.roles)
    position = machine.positions(recording.tokens).tolist()
    squares: dict[object, int] = {}

    def square(text: int, role: str, place: list[int]) -> object:
        fixed = [
            p for axis, p in zip(machine.axes, place, strict=True) if axis not in broadcast[role]
        ]
        return (text, role, *fixed)

    for token, text, asked, place in zip(*recording, position, strict=True):
        role = machine.tokens[token].role
        squares[square(text, role, place)] = int(token)
        if asked:
            row = [int(token)]
            for other, displacement in windows[role]:
                wanted = [p + d for p, d in zip(place, displacement, strict=True)]
                row.append(squares.get(square(text, other, wanted), none))
            rows.append(row + [none] * (cells - len(row)))
    return rows


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_what_is_seen_is_what_a_dictionary_of_squares_says(seed: int) -> None:
    machine, recording = recorded(wandering, random_operands(8, seed))
    found = recorded_windows(machine, recording, WINDOWS)
    assert found.rows.tolist() == by_dictionary(machine, recording, WINDOWS)
    queries = np.flatnonzero(recording.asked)
    np.testing.assert_array_equal(found.targets, recording.tokens[queries + 1])
    np.testing.assert_array_equal(found.text, recording.text[queries])


def test_a_recording_asks_from_the_end_of_the_prompt_on() -> None:
    recording = Recording.of([([5, 6, 7, 8], 2), ([1, 2], 1)])
    assert recording.asked.tolist() == [False, True, True, False, True, False]
    assert recording.text.tolist() == [0, 0, 0, 0, 1, 1]
    assert recording.texts == 2


@given(lengths=st.lists(st.integers(2, 9), min_size=1, max_size=12), size=st.integers(1, 30))
def test_parts_are_whole_texts_and_together_all_of_them(lengths: list[int], size: int) -> None:
    recording = Recording.of([(list(range(length)), 1) for length in lengths])
    parts = list(recording.parts(size))
    np.testing.assert_array_equal(np.concatenate([part.tokens for part in parts]), recording.tokens)
    assert sum(part.texts for part in parts) == len(lengths)
    assert all(part.text[0] == 0 for part in parts)


@program(
    "twice", axes=("place",), prompt=(Given("number", "place"), Sign("=")), answer=Answer("answer")
)
def twice(paper: Paper, number: list[int]) -> None:
    """Two digits on one square."""
    paper.move(place=+1).write("answer", 1).write("answer", 2).end()


def test_a_square_that_is_written_twice_by_one_role_is_an_error() -> None:
    machine, recording = recorded(twice, [(5,)])
    with pytest.raises(
        ProgramError, match=r"role 'answer' is written twice on one square \(place 0"
    ):
        Squares(machine, recording)
