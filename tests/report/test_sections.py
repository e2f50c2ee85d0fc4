"""The sections of a report: headline, errors, gaps, the map of exact match, and probes."""

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from curta.evaluation.results import FirstError, WrongAnswer
from curta.report import figures, sections
from curta.report.run_folder import Trained, read_run

from . import sample
from .parsed import page_without_figures


def row(size: str, digits: int, name: str = "random", share: float = 1.0) -> dict[str, Any]:
    sample_row = sample.length("+", "10", "random", 2)
    return sample_row | {"exact_match": [share, 1.0], "size": size, "digits": digits, "slice": name}


def evaluated(folder: Path, members: int = 3, **changes: Any) -> Path:
    """A run whose evaluation is the sample's with changes."""
    sample.write_run(folder, members)
    data = sample.evaluation(members, 5) | changes
    sample.write_json(folder / "evaluation.json", data)
    return folder


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        (
            (("5", 5, 1.0), ("20", 20, 0.0)),
            "+ is learned in part: the median member is right up to",
        ),
        (
            (("5", 5, 0.0), ("20", 20, 0.0)),
            "+ is not learned: the median member is wrong already at",
        ),
        ((("20", 20, 0.0), ("30", 30, 0.0)), "+ fails beyond training: the median member is wrong"),
    ],
)
def test_the_verdict_tells_what_was_not_learned_from_what_was_not_evaluated(
    tmp_path: Path, sizes: tuple[tuple[str, int, float], ...], verdict: str
) -> None:
    """Of a run that was trained on 1 to 10 digits."""
    rows = [row(size, digits, share=share) for size, digits, share in sizes]
    for each in rows:
        each["exact_match"] = [each["exact_match"][0]] * 2
    run = read_run(evaluated(tmp_path, 2, lengths=rows, grids=[]))
    (sentence,) = sections.conclusion(run)
    assert sentence.startswith(verdict)


def test_each_side_is_its_largest_size_in_the_hardest_slice(tmp_path: Path) -> None:
    """Of a run that was trained on 1 to 10 digits."""
    sizes = [("5", 5, 0.1), ("10", 10, 0.9), ("20", 20, 0.3), ("100", 100, 0.2)]
    rows = [row(size, digits, share=share) for size, digits, share in sizes]
    run = read_run(evaluated(tmp_path, 2, lengths=[*rows, row("10", 10, "carry", 0.8)], grids=[]))
    (line,) = sections.headlines(run)
    assert line.inside == ([0.8, 1.0], "10 digits, the hardest of 2 slices")
    assert line.outside == ([0.2, 1.0], "100 digits")


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


def test_the_error_of_a_row_is_that_of_its_weakest_member() -> None:
    (row, *_) = sample.rows_of(sample.evaluation(3, 2))
    error = FirstError(0, 0, "2", "x", 0)
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
    folder = evaluated(tmp_path, 2, gaps=[GAP | more])
    (line, *_) = sections.headlines(read_run(folder))
    assert line.held_out == ([0.5, 0.25], "0..99")
    rows = page_without_figures(folder).rows
    assert any(row[2].startswith("37.5%, worst 25.0%") for row in rows if len(row) == 4)
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
