"""Errors in a report: one for each size and slice, with the first wrong token marked."""

from pathlib import Path
from typing import Any

import pytest

from curta.config.typed import as_json
from curta.evaluation.results import FirstError
from curta.evaluation.writing import AROUND, first_error
from curta.report import errors

from . import sample
from .parsed import Page, told, visible


def error(problem: str, written: str, right: str, member: int = 0) -> dict[str, Any]:
    told = {"problem": problem, "truth": "112", "answer": None, "member": member}
    return told | {"first_error": as_json(of(written, right))}


def of(written: str, right: str) -> FirstError | None:
    """The first error of texts in which every character is a token."""
    symbols = sorted({*written, *right})
    first, second = ([symbols.index(character) for character in t] for t in (written, right))
    return first_error(first, second, symbols)


def page(folder: Path, *found: list[dict[str, Any]]) -> Page:
    """A report whose first rows have these errors, and all others none."""
    sample.write_run(folder)
    data = sample.evaluation(3, 5)
    for number, row in enumerate(data["lengths"]):
        row["errors"] = found[number] if number < len(found) else []
    sample.write_json(folder / "evaluation.json", data)
    return told(folder)


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
    place = errors.place_of(found)
    assert place.before == f"…{right[500 - errors.AROUND : 500]}"
    assert place.wrote == "x"
    assert place.after == f"{right[501 : 501 + errors.AROUND]}…"


def test_the_first_wrong_token_is_marked_and_named(tmp_path: Path) -> None:
    found = page(tmp_path, [error("95+17", "20 1$", "211$", 2)])
    row = next(row for row in found.rows if row[:2] == ["10", "random"] and "95+17" in row)
    assert row[2].endswith("1 member of 3")
    assert row[6] == "20␣1$token 2: 0 instead of 1"
    assert '<code>2<mark>0</mark><span class="after">␣1$</span></code>' in found.source
    assert row[7] == "2"
    button = found.all("button")[0]
    assert (button["data-problem"], button["data-member"]) == ("95+17", "2")
    assert "hidden" in button


def test_writing_that_stops_too_early_has_a_mark_as_well(tmp_path: Path) -> None:
    found = page(tmp_path, [error("95+17", "21", "211$")])
    assert "21<mark>∅</mark>" in found.source
    assert "token 3: nothing instead of 1" in visible(found)


def test_the_weakest_member_of_those_that_are_wrong_is_shown(tmp_path: Path) -> None:
    both = [error("1+1", "3$", "2$", 0), error("2+2", "5$", "4$", 2)]
    text = visible(page(tmp_path, both))
    assert "2+2" in text  # member 2 has the lowest exact match
    assert "1+1" not in text
    assert "2 members of 3" in text


def test_no_errors_are_told_too_but_not_without_an_evaluation(tmp_path: Path) -> None:
    assert "every member wrote every problem of the evaluation right" in visible(
        page(tmp_path / "all")
    )
    sample.write_young_run(tmp_path)
    assert 'id="part-errors"' not in told(tmp_path).source


def test_what_was_written_is_text(tmp_path: Path) -> None:
    evil = "<img src=x>"
    found = page(tmp_path, [error(evil, evil, "2$")])
    assert not found.all("img")
    assert "<mark>&lt;</mark>" in found.source


def test_a_symbol_is_marked_with_what_it_carries() -> None:
    found = first_error([0, 1, 2], [0, 2, 2], ["4", "7¹", "7"])
    assert found is not None
    place = errors.place_of(found)
    assert (place.before, place.wrote, place.token) == ("4", "7¹", 2)


def test_a_token_that_differs_in_its_move_alone_is_named_so(tmp_path: Path) -> None:
    found = first_error([0, 1], [0, 2], ["4", "7", "7"])
    assert found is not None
    one = error("1+1", "3$", "2$") | {"first_error": as_json(found)}
    assert "token 2: a 7 with another role or move" in visible(page(tmp_path, [one]))
