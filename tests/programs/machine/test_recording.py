"""Recordings and paper: windows are what a dictionary of squares would say."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.programs.machine import Answer, Given, Paper, Program, ProgramError, Sign, program
from curta.programs.machine.finding import find
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


def recorded(made: Program, operands: Sequence[tuple[int, ...]]) -> tuple[Machine, Recording]:
    """The machine of a program, and its texts for these operands."""
    vocabulary = Vocabulary()
    texts = [made.record(values, vocabulary) for values in operands]
    return machine_of([made], vocabulary.tokens), Recording.of(texts)


def random_operands(count: int, seed: int = 0) -> list[tuple[int, ...]]:
    rng = random.Random(seed)
    return [(rng.randrange(10 ** rng.randint(1, 6)),) for _ in range(count)]


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
    queries = np.flatnonzero(recording.is_query)
    np.testing.assert_array_equal(found.targets, recording.tokens[queries + 1])
    np.testing.assert_array_equal(found.text, recording.text[queries])


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


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_all_positions_are_those_of_single_steps(seed: int) -> None:
    machine, recording = recorded(wandering, random_operands(5, seed))
    place = np.zeros((1, 2), np.int64)
    expected = []
    for token in recording.tokens:
        place = machine.advance(place, np.array([token]))
        expected.append(place[0])
    np.testing.assert_array_equal(machine.positions(recording.tokens), expected)


def windows(*rows: tuple[int, int, int], text: list[int] | None = None) -> RecordedWindows:
    """Windows of two cells, each with its target."""
    array = np.array(rows, np.int32).reshape(-1, 3)
    return RecordedWindows(array[:, :2], array[:, 2], np.array(text or [0] * len(rows), np.int64))


def test_a_window_with_two_targets_is_a_conflict() -> None:
    table = WindowTable(2)
    table.add(windows((1, 2, 7), (3, 4, 8)))
    table.add(windows((3, 4, 8), (1, 2, 9)))
    (conflict,) = table.conflicts
    assert conflict.row == (1, 2)
    assert conflict.targets == (7, 9)
    assert conflict.texts == (0, 1)


@given(rows=st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.just(0)), min_size=1, max_size=40))
def test_distinct_windows_are_those_of_a_set(rows: list[tuple[int, int, int]]) -> None:
    table = WindowTable(2)
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        table.add(windows(*part))
    assert {tuple(row) for row in table.rows.tolist()} == {row[:2] for row in rows}
    assert len(table) == len({row[:2] for row in rows})
    assert table.counts.sum() == len(rows)


@program(
    "echo",
    axes=("place", "row"),
    prompt=(Given("a", "place"), Sign(","), Given("b", "place", everywhere=("row",)), Sign("=")),
    answer=Answer("answer"),
)
def echo(paper: Paper, a: list[int], b: list[int]) -> None:
    """The second number again, on another row, and a sign that depends on nothing."""
    paper.home("place").move(place=-1, row=+1).write("begin", ":")
    for digit in b:
        paper.move(place=+1).write("answer", digit)
    paper.end()


def test_what_does_not_tell_anything_is_left_out() -> None:
    operands = [
        (one[0], other[0])
        for one, other in zip(random_operands(300), random_operands(300, seed=1), strict=True)
    ]
    machine, recording = recorded(echo, operands)
    windows = find(machine, recording)
    assert windows == {
        "equals": (),
        "begin": (("b", (1, 0)),),
        "answer": (("b", (1, 0)),),
    }
    table = WindowTable(2)
    table.add(recorded_windows(machine, recording, windows))
    assert not table.conflicts


def test_a_program_that_never_ends_is_stopped() -> None:
    sheet = Paper(("place", "row"), Vocabulary(), limit=10)
    for _ in range(10):
        sheet.write("sum", 0)
    with pytest.raises(ProgramError, match=r"more than 10 tokens were written \(does it"):
        sheet.write("sum", 0)
