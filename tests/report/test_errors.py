"""Errors in a report: one for each size and slice, with the first wrong token marked."""

from dataclasses import replace

import pytest

from curta.evaluation.generation import AROUND, first_error
from curta.evaluation.results import FirstError, WrongAnswer
from curta.report import sections

from . import sample


def error_of(line: str, right: str) -> FirstError | None:
    """The first error of texts in which every character is a token."""
    symbols = sorted({*line, *right})
    first, second = ([symbols.index(character) for character in t] for t in (line, right))
    return first_error(first, second, symbols)


@pytest.mark.parametrize(
    ("line", "right", "at"),
    [("211$", "201$", 1), ("21$", "211$", 2), ("2111", "211$", 3), ("", "2$", 0),
     ("211", "2115", 3)],
)  # fmt: skip
def test_an_error_is_the_first_token_that_differs(line: str, right: str, at: int) -> None:
    error = error_of(line, right)
    assert error is not None
    assert (error.at, error.start) == (at, 0)
    assert error_of(right, right) is None


def test_of_a_long_text_what_stands_around_is_kept() -> None:
    right = "0123456789" * 100
    error = error_of(right[:500] + "x" + right[501:], right)
    assert error is not None
    assert error.at == 500
    assert error.written == right[500 - AROUND : 500] + "x" + right[501 : 500 + AROUND]
    place, near = sections.place_of(error), sections.AROUND
    assert place["before"] == f"…{right[500 - near : 500]}"
    assert (place["wrote"], place["right"]) == ("x", "0")
    assert place["after"] == f"{right[501 : 501 + near]}…"


def test_the_error_of_a_row_is_that_of_its_weakest_member() -> None:
    (row, *_) = sample.rows_of(sample.evaluation(3, 2))
    error = error_of("211$", "201$")
    assert error is not None
    errors = [WrongAnswer("95+17", "112", None, member, error) for member in range(3)]
    row = replace(row, exact_match=[0.9, 0.2, 0.5], errors=errors)
    assert sections.weakest_error(row).member == 1
