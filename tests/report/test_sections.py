"""The sections of a report: headline, errors, gaps, the map of exact match, and probes."""

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from curta.evaluation.generation import AROUND, first_error
from curta.evaluation.results import FirstError, WrongAnswer
from curta.probes.pictures import Heat, Lines
from curta.report import figures, sections
from curta.report.run_folder import Trained, read_run

from . import sample
from .parsed import page_without_figures, saved_page, visible


def row(size: str, digits: int, name: str = "random", share: float = 1.0) -> dict[str, Any]:
    sample_row = sample.length("+", "10", "random", 2)
    return sample_row | {"exact_match": [share, 1.0], "size": size, "digits": digits, "slice": name}


def evaluated(folder: Path, members: int = 3, **changes: Any) -> Path:
    """A run whose evaluation is the sample's with changes."""
    sample.write_run(folder, members)
    data = sample.evaluation(members, 5) | changes
    sample.write_json(folder / "evaluation.json", data)
    return folder


def test_each_side_is_its_largest_size_in_the_hardest_slice(tmp_path: Path) -> None:
    """Of a run that was trained on 1 to 10 digits."""
    sizes = [("5", 5, 0.1), ("10", 10, 0.9), ("20", 20, 0.3), ("100", 100, 0.2)]
    rows = [row(size, digits, share=share) for size, digits, share in sizes]
    run = read_run(evaluated(tmp_path, 2, lengths=[*rows, row("10", 10, "carry", 0.8)], grids=[]))
    (line,) = sections.headlines(run)
    assert line.inside == ([0.8, 1.0], "10 digits, the hardest of 2 slices", False)
    assert line.outside == ([0.2, 1.0], "100 digits", False)


@pytest.mark.parametrize(
    ("size", "slice_name", "operands", "operator", "inside"),
    [("5", "random", (2, 4), "+", True), ("6", "random", (2, 4), "+", False),
     ("1", "random", (2, 4), "+", False), ("5/3", "random", (2, 4), "+", True),
     ("5/6", "random", (2, 4), "+", False), ("3x5", "random", (2, 4), "+", True),
     ("9x5", "random", (2, 4), "+", False), ("0..99", "held out", (2, 4), "+", True),
     ("0..99", "held out, plain", (2, 4), "+", False), ("5", "random", (3, 4), "+", False),
     ("5", "random", (3, 4), "of a user", True)],
)  # fmt: skip
def test_sizes_of_training_are_in_distribution(
    size: str, slice_name: str, operands: tuple[int, int], operator: str, inside: bool
) -> None:
    """A size without a count is of two numbers in a sum; of a user's operation, as in training."""
    (line,) = sample.rows_of(sample.evaluation(1, 5) | {"lengths": [row(size, 5, slice_name)]})
    assert Trained((2, 5), (2, 5), operands).covers(replace(line, operator=operator)) == inside
    assert Trained((2, 9), (3, 8), None).lengths == (2, 9)


def error_of(line: str, right: str) -> FirstError:
    """The first error of texts in which every character is a token."""
    symbols = sorted({*line, *right})
    wrote, expected = ([symbols.index(character) for character in t] for t in (line, right))
    assert first_error(expected, expected, symbols) is None
    error = first_error(wrote, expected, symbols)
    assert error is not None
    return error


def test_an_error_is_the_first_token_that_differs_with_what_stands_around_it() -> None:
    for line, text, at in (("211$", "201$", 1), ("21$", "211$", 2), ("2111", "211$", 3),
                           ("", "2$", 0), ("211", "2115", 3)):  # fmt: skip
        assert (error_of(line, text).at, error_of(line, text).start) == (at, 0)
    right = "0123456789" * 100
    error, near = error_of(right[:500] + "x" + right[501:], right), sections.AROUND
    assert error.written == right[500 - AROUND : 500] + "x" + right[501 : 500 + AROUND]
    assert sections.place_of(error) == {
        "token": 501, "before": f"…{right[500 - near : 500]}", "wrote": "x", "right": "0",
        "after": f"{right[501 : 501 + near]}…",
    }  # fmt: skip


def test_the_error_of_a_row_is_that_of_its_weakest_member() -> None:
    (row, *_) = sample.rows_of(sample.evaluation(3, 2))
    error = error_of("211$", "201$")
    errors = [WrongAnswer("95+17", "112", None, member, error) for member in range(3)]
    row = replace(row, exact_match=[0.9, 0.2, 0.5], errors=errors)
    assert sections.weakest_error(row).member == 1


GAP: dict[str, Any] = {
    "operator": "+", "problems": "0..99", "gap": [0.5, 0.5],
    "trained": {"count": 1000, "exact_match": [1.0, 0.75]},
    "held_out": {"count": 900, "exact_match": [0.5, 0.25]},
}  # fmt: skip
TWINS = {"twins": {"count": 800, "exact_match": [0.625, 0.375]}}


@pytest.mark.parametrize("more", [{}, TWINS], ids=["together", "apart"])
def test_trained_problems_stand_beside_held_out_ones(tmp_path: Path, more: dict[str, Any]) -> None:
    rows = page_without_figures(evaluated(tmp_path, 2, gaps=[GAP | more])).rows
    start = rows.index(["+, 0..99"])
    assert rows[start + 1 : start + 4] == [
        ["trained", "1,000", "87.5", "75.0", "100.0", "100.0", "75.0"],
        ["held out", "900", "37.5", "25.0", "50.0", "50.0", "25.0"],
        ["gap", "—", "50.0", "50.0", "50.0", "50.0", "50.0"],
    ]
    twins = ["held out, mirrored in training", "800", "50.0", "37.5", "62.5", "62.5", "37.5"]
    assert (twins in rows) == bool(more)


RECTS = re.compile(
    r'<rect class="band-(\d)" fill="#\w+" x="(\d+)" y="(\d+)" width="(\d+)" height="1">'
)
EXACT = [
    [[round(((a * b + member) % 21) / 20, 2) for b in range(12)] for a in range(12)]
    for member in range(3)
]
GRID = {"operator": "+", "max_digits": 12, "digits": list(range(1, 13)), "count": 20,
        "exact_match": EXACT}  # fmt: skip


def test_cells_have_the_colour_of_their_median_and_the_counts_of_every_member(
    tmp_path: Path,
) -> None:
    source = page_without_figures(evaluated(tmp_path, grids=[GRID])).source
    drawn = {
        (11 - int(y), second): int(level)
        for level, x, y, width in RECTS.findall(source)
        for second in range(int(x), int(x) + int(width))
    }
    assert drawn == {
        (first, second): figures.band(median(member[first][second] for member in EXACT))
        for first in range(12)
        for second in range(12)
    }
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', source)
    data = json.loads(text)
    assert data["edges"] == [edge for edge, _, _ in figures.BANDS]
    assert data["correct"] == [[[round(20 * cell) for cell in row] for row in m] for m in EXACT]


HEAT: Heat = {
    "form": "heat", "title": "+", "across": "second", "down": "first",
    "columns": ["0", "1", "2"], "rows": ["0", "1"],
    "values": [[1.0, 0.5, None], [0.95, 0.0, 1.0]],
    "texts": [["a", "b", ""], ["$x", "<c>", "d"]], "exact_match": True,
}  # fmt: skip
LINES: Lines = {
    "form": "lines", "title": "+", "across": "digits", "points": ["3", "4", "9"],
    "curves": [[1.0, 0.5, None], [0.5, 0.25, None], [0.9, 0.0, None]], "inside": 1,
}  # fmt: skip
TABLE: dict[str, Any] = {
    "format": 2, "probe": "longer", "summary": "exact match beyond training", "step": 1200,
    "members": [0, 1, 2], "options": {"count": 30, "seed": 1}, "notes": ["A <note>."],
    "columns": ["operator", "digits", "median", "members"],
    "rows": [
        {"operator": "+", "digits": 3, "median": 0.9, "members": [1.0, 0.5, 0.9], "more": 1},
        {"operator": "+", "digits": 9, "median": None, "members": None, "more": 2},
    ],
}  # fmt: skip


def test_a_report_shows_the_tables_and_pictures_of_probes(tmp_path: Path) -> None:
    sample.write_run(tmp_path)
    (tmp_path / "probes").mkdir()
    for name, panels in {"longer": [LINES], "tables": [HEAT, HEAT, HEAT]}.items():
        picture = {"shows": f"{name} <shown>", "panels": panels}
        table = TABLE | {"probe": name, "picture": picture}
        sample.write_json(tmp_path / "probes" / f"{name}.json", table)
    page = saved_page(tmp_path)
    text, labels = visible(page), {svg.get("aria-label") for svg in page.all("svg")}
    assert "longer: exact match beyond training" in text
    assert "Members 0 to 2 as of step 1,200; count 30, seed 1. A <note>." in text
    for cells in (TABLE["columns"], ["+", "3", "0.900", "1.000 0.500 0.900"], ["+", "9", "—", "—"]):
        assert cells in page.rows
    for name in ("longer", "tables"):
        assert (tmp_path / "probes" / f"{name}.svg").is_file()
        assert f"{name} <shown>" in labels
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
