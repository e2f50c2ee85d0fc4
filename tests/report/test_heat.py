"""The map of exact match as it is without a script: its colours, its names and its counts."""

import json
import re
from pathlib import Path
from statistics import median

from curta.report import figures

from . import sample
from .parsed import page_without_figures

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
    sample.write_run(tmp_path)
    sample.write_json(tmp_path / "evaluation.json", sample.evaluation(3, 5) | {"grids": [GRID]})
    source = page_without_figures(tmp_path).source
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
