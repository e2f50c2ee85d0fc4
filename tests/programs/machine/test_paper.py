"""Paper: what is written becomes tokens, and mistakes are told in one line."""

import pytest

from curta.programs.machine import Paper, ProgramError
from curta.programs.machine.paper import END, HOME, Vocabulary


def paper(limit: int = 100) -> tuple[Paper, Vocabulary]:
    vocabulary = Vocabulary()
    return Paper(("place", "row"), vocabulary, limit), vocabulary


def test_a_token_is_a_symbol_a_role_and_the_move_that_led_there() -> None:
    sheet, vocabulary = paper()
    sheet.move(place=+1).write("sum", 7, carry=1)
    sheet.home("place").move(place=-1, row=+1).write("next", "|")
    sheet.end()
    assert [token.text for token in vocabulary.tokens] == [
        "7¹ sum +1 0",
        "| next home-1 +1",
        "$ end 0 0",
    ]
    first, _, last = vocabulary.tokens
    assert (first.value, first.carry, first.move) == (7, 1, (1, 0))
    assert (last.value, last.symbol) == (None, END)


def test_moves_add_up_until_something_is_written() -> None:
    sheet, vocabulary = paper()
    sheet.move(place=+1).move(place=+1, row=-1).write("sum", 0).write("sum", 0)
    assert [token.move for token in vocabulary.tokens] == [(2, -1), (0, 0)]


def test_home_without_an_axis_is_home_on_all() -> None:
    sheet, vocabulary = paper()
    sheet.move(row=+3).home().write("sum", 0)
    assert vocabulary.tokens[0].move == (HOME, HOME)


def test_the_same_writing_is_the_same_token() -> None:
    sheet, _ = paper()
    for _ in range(3):
        sheet.move(place=+1).write("sum", 5)
    assert sheet.tokens == [0, 0, 0]


def test_an_axis_that_is_not_there_is_refused() -> None:
    sheet, _ = paper()
    with pytest.raises(ProgramError, match="unknown axis 'column': choose from place, row"):
        sheet.move(column=+1)
    with pytest.raises(ProgramError, match="unknown axis 'column': choose from place, row"):
        sheet.home("column")


def test_a_program_that_never_ends_is_stopped() -> None:
    sheet, _ = paper(limit=10)
    for _ in range(10):
        sheet.write("sum", 0)
    with pytest.raises(ProgramError, match="more than 10 tokens were written: does it ever end"):
        sheet.write("sum", 0)
