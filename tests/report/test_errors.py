"""Errors in a report: one for each size and slice, with the first wrong token marked."""

from dataclasses import replace

import pytest

from curta.evaluation.results import FirstError, WrongAnswer
from curta.evaluation.writing import AROUND, first_error
from curta.report import sections

from . import sample


def of(written: str, right: str) -> FirstError | None:
    """The first error of texts in which every character is a token."""
    symbols = sorted({*written, *right})
    first, second = ([symbols.index(character) for character in t] for t in (written, right))
    return first_error(first, second, symbols)


@pytest.mark.parametrize(
    ("written", "right", "at"),
    [
        ("211$", "201$", 1),
        ("21$", "211$", 2),
        ("2111", "211$", 3),
        ("", "2$", 0),
        ("211", "2115", 3),
    ],
)
def test_an_error_is_the_first_token_that_differs(written: str, right: str, at: int) -> None:
    found = of(written, right)
    assert found is not None
    assert (found.at, found.start) == (at, 0)
    assert of(right, right) is None


def test_of_a_long_text_what_stands_around_is_kept() -> None:
    right = "".join(str(i % 10) for i in range(1000))
    written = right[:500] + "x" + right[501:]
    found = of(written, right)
    assert found is not None
    assert found.at == 500
    assert found.written == written[500 - AROUND : 500 + AROUND]
    assert found.written[500 - found.start] == "x"
    place = sections.place_of(found)
    assert place["before"] == f"…{right[500 - sections.AROUND : 500]}"
    assert place["wrote"] == "x"
    assert place["after"] == f"{right[501 : 501 + sections.AROUND]}…"


def test_the_error_of_a_row_is_that_of_its_weakest_member() -> None:
    (row, *_) = sample.rows_of(sample.evaluation(3, 2))
    error = of("211$", "201$")
    assert error is not None
    errors = [WrongAnswer("95+17", "112", None, member, error) for member in range(3)]
    row = replace(row, exact_match=[0.9, 0.2, 0.5], errors=errors)
    assert sections.weakest_error(row).member == 1
