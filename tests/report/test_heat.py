"""The map of exact match as it is without a script: its colours, its names and its counts."""

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from curta.report import figures

from . import sample
from .parsed import Page, told

RECTS = re.compile(
    r'<rect class="band-(\d)" fill="#\w+" x="(\d+)" y="(\d+)" width="(\d+)" height="1">'
)


def page(folder: Path, grid: Any) -> Page:
    sample.write_run(folder)
    sample.write_json(folder / "evaluation.json", sample.evaluation(3, 5) | {"grids": [grid]})
    return told(folder)


@pytest.fixture
def grid() -> Any:
    exact = [
        [[round(((a * b + member) % 21) / 20, 2) for b in range(12)] for a in range(12)]
        for member in range(3)
    ]
    return {"operator": "+", "max_digits": 12, "digits": list(range(1, 13)), "count": 20,
            "exact_match": exact}  # fmt: skip


def test_every_cell_has_the_colour_of_its_median(tmp_path: Path, grid: Any) -> None:
    found = {}
    for level, x, y, width in RECTS.findall(page(tmp_path, grid).source):
        for second in range(int(x), int(x) + int(width)):
            found[11 - int(y), second] = int(level)
    expected = {
        (first, second): figures.band(median(m[first][second] for m in grid["exact_match"]))
        for first in range(12)
        for second in range(12)
    }
    assert found == expected


def test_counts_of_every_member_are_there_unrounded(tmp_path: Path, grid: Any) -> None:
    (text,) = re.findall(
        r'<script type="application/json">(.*?)</script>', page(tmp_path, grid).source
    )
    held = json.loads(text)
    shares = [[[right / held["count"] for right in row] for row in m] for m in held["correct"]]
    assert shares == grid["exact_match"]
    assert held["digits"] == grid["digits"]
    assert held["edges"] == [edge for edge, _, _ in figures.BANDS]
