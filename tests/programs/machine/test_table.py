"""The table of distinct windows: each once, counted, and held against what follows it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from curta.programs.machine.recording import RecordedWindows, WindowTable


def windows(*rows: tuple[int, int, int], text: list[int] | None = None) -> RecordedWindows:
    """Windows of two cells, each with its target."""
    array = np.array(rows, np.int32).reshape(-1, 3)
    return RecordedWindows(array[:, :2], array[:, 2], np.array(text or [0] * len(rows), np.int64))


def test_a_window_is_entered_once_and_counted() -> None:
    table = WindowTable(2)
    first = table.add(windows((1, 2, 7), (3, 4, 8), (1, 2, 7), text=[0, 0, 1]))
    later = table.add(windows((3, 4, 8), (5, 6, 9)))
    assert len(table) == 3
    assert first[0] == first[2] != first[1] == later[0]
    assert table.rows[later[1]].tolist() == [5, 6]
    assert table.counts[first[:2]].tolist() == [2, 2]
    assert table.texts[first[:2]].tolist() == [2, 2]
    assert table.example[later[1]] == 2
    assert not table.conflicts


def test_a_window_that_is_not_there_is_minus_one() -> None:
    table = WindowTable(2)
    rows = np.array([[1, 2]], np.int32)
    assert table.find(rows).tolist() == [-1]
    table.add(windows((1, 3, 0)))
    assert table.find(rows).tolist() == [-1]


def test_a_window_with_two_targets_is_a_conflict() -> None:
    table = WindowTable(2)
    table.add(windows((1, 2, 7), (3, 4, 8)))
    table.add(windows((3, 4, 8), (1, 2, 9)))
    (conflict,) = table.conflicts
    assert conflict.row == (1, 2)
    assert conflict.targets == (7, 9)
    assert conflict.texts == (0, 1)


def test_a_conflict_within_one_recording_is_found() -> None:
    table = WindowTable(2)
    table.add(windows((1, 2, 7), (1, 2, 8), text=[0, 1]))
    assert [conflict.targets for conflict in table.conflicts] == [(7, 8)]


@given(rows=st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.just(0)), min_size=1, max_size=40))
def test_distinct_windows_are_those_of_a_set(rows: list[tuple[int, int, int]]) -> None:
    table = WindowTable(2)
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        table.add(windows(*part))
    assert {tuple(row) for row in table.rows.tolist()} == {row[:2] for row in rows}
    assert len(table) == len({row[:2] for row in rows})
    assert table.counts.sum() == len(rows)
